import PushModel
import Testing

@testable import PushEngine

/// Tests events that were forwarded twice before everything was moved to another cluster. The forwarding worker died
/// before it had committed the first copy. In the new cluster original positions do not identify events, because they
/// may be positions of the former cluster.
@Suite struct ForwardedCopiesTests {
    private static let update = #"{"event":"update","content-state":{"n":1}}"#
    private static let newerUpdate = #"{"event":"update","content-state":{"n":2}}"#
    private static let end = #"{"event":"end","content-state":{"n":9}}"#
    private static let join = #"{"event":"register","audience":"match"}"#
    private static let leave = #"{"event":"unregister"}"#

    /// A worker in the former cluster. Kafka acknowledges none of its later records.
    private static func harness() -> EngineHarness {
        let h = EngineHarness {
            $0.clusterID = "old"
            $0.partitionCount = 1
        }
        h.consume(key: "order-1", value: #"{"event":"register","token":"aa"}"#)
        h.advance(1_000)
        h.acknowledgesAtOnce = false
        return h
    }
    private static func forward(
        _ h: EngineHarness, _ value: String, _ offset: Int64, key: String = "order-1", millisLater: Int64 = 0
    ) {
        h.consume(
            key: key, value: value, topic: 1, recordMillis: 1_700_000_000_000 + millisLater,
            origin: SourcePosition(topic: 0, partition: 5, offset: offset))
    }
    /// Starts another worker in the new cluster, which reads the forwarded records. Returns the number of outcomes
    /// before the move.
    private static func move(_ h: EngineHarness) -> Int {
        let before = h.outcomes.count
        var configuration = h.configuration
        configuration.clusterID = "new"
        h.crash(by: configuration)
        return before
    }
    private static func names(_ h: EngineHarness, since count: Int, of offset: Int64) -> [String] {
        h.outcomes.dropFirst(count).filter { $0.offset == offset }.map(\.outcome)
    }

    @Test func aSecondCopyIsADuplicate() {
        let h = Self.harness()
        Self.forward(h, Self.update, 3)
        Self.forward(h, Self.update, 3)
        let before = Self.move(h)
        h.advance(5_000)
        #expect(h.deliver()?.n == 1)
        #expect(Self.names(h, since: before, of: 3) == ["duplicate", "delivered"])
        #expect(h.isCommitted(topic: 1))
    }

    @Test func aSecondCopyIsNotLateForAnEndBehindTheFirst() {
        let h = Self.harness()
        for _ in 0..<2 {
            Self.forward(h, Self.update, 3)
            Self.forward(h, Self.end, 4)
        }
        let before = Self.move(h)
        h.advance(5_000)
        #expect(h.deliver()?.n == 9)
        #expect(Self.names(h, since: before, of: 3) == ["superseded", "duplicate"])
        #expect(Self.names(h, since: before, of: 4) == ["duplicate", "delivered"])
    }

    /// The forwarding worker dies after this worker has taken over. The forwarding worker's successor forwards the
    /// event again.
    @Test func aCopyThatComesAfterTheTakeoverIsADuplicate() {
        let h = Self.harness()
        Self.forward(h, Self.update, 3)
        let before = Self.move(h)
        h.advance(5_000)
        #expect(h.deliver()?.n == 1)
        h.advance(1_000)
        Self.forward(h, Self.update, 3)
        h.advance(5_000)
        #expect(h.take() == nil)
        #expect(Self.names(h, since: before, of: 3) == ["delivered", "duplicate"])
    }

    /// Two different events have the same original position, because one was forwarded in the former cluster. Both are
    /// taken.
    @Test(arguments: [false, true]) func anotherEventOfTheSamePositionIsTaken(isEqualButLater: Bool) {
        let h = Self.harness()
        Self.forward(h, Self.update, 3)
        Self.forward(
            h, isEqualButLater ? Self.update : Self.newerUpdate, 3, millisLater: isEqualButLater ? 1 : 0)
        let before = Self.move(h)
        h.advance(5_000)
        #expect(h.deliver() != nil)
        #expect(Self.names(h, since: before, of: 3) == ["superseded", "delivered"])
    }

    @Test(arguments: [false, true]) func aSecondJoinBringsNobodyBack(comesAfterTheTakeover: Bool) {
        let h = Self.harness()
        let token = EngineHarness.memberToken(1)
        Self.forward(h, Self.join, 3, key: token)
        Self.forward(h, Self.leave, 4, key: token)
        if !comesAfterTheTakeover { Self.forward(h, Self.join, 3, key: token) }
        let before = Self.move(h)
        h.carryBus()
        if comesAfterTheTakeover { Self.forward(h, Self.join, 3, key: token) }
        #expect(h.counters.membersHeld == 0)
        #expect(Self.names(h, since: before, of: 3) == ["applied", "duplicate"])
    }

    @Test func noMoreAreRememberedThanTheirBound() {
        var positions = VoidPositions()
        let copies = (0...VoidPositions.takenCopiesMax).map {
            let origin = SourcePosition(topic: 0, partition: 5, offset: Int64($0))
            return ForwardedCopy(origin: origin, timestampMillis: 0, key: Span(), value: Span())
        }
        for copy in copies { positions.took(copy) }
        #expect(positions.hasTaken(copies[0]) && positions.hasTaken(copies[copies.count - 2]))
        #expect(copies.last.map { positions.hasTaken($0) } == false)
    }
}

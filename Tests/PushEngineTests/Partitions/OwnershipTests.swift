@testable import PushEngine
import PushModel
import Testing

/// Tests that a partition has one owner (contract: One owner): what an owner does about records of others, and which
/// records a restore accepts.
@Suite struct OwnershipTests {
    private static let update = #"{"event":"update","content-state":{"n":1},"priority":10}"#
    private static let register = #"{"event":"register","token":"aa"}"#

    /// A harness with one registered activity, "order-1", and everything acknowledged.
    private static func harness(_ configure: (inout EngineConfiguration) -> Void = { _ in }) -> EngineHarness {
        let h = EngineHarness(configure)
        h.consume(key: "order-1", value: Self.register)
        h.advance(1_000)
        return h
    }

    /// Repairs every gap as the owner's runner would. Returns what was done with each record.
    private static func repairAll(_ h: EngineHarness) -> [StateRepair] {
        var done: [StateRepair] = []
        while let gap = h.takeStateGap() {
            for offset in gap.offsets {
                let record = h.stateLog[Int(offset)]
                let (key, value) = (record.key, record.value)
                done.append(
                    h.engine.repair(
                        partition: gap.partition, key: key.span, value: value.span, offset: offset, now: h.now))
            }
            h.engine.stateGapRepaired(partition: gap.partition, now: h.now)
        }
        return done
    }

    private static func foreign(
        _ key: String, value: [UInt8] = [1, 1], isNull: Bool = false, headers: [String: String] = [:]
    ) -> WrittenRecord {
        WrittenRecord(
            topic: .state, partition: 0, key: Array(key.utf8), hasKey: true, value: isNull ? [] : value, isNull: isNull,
            headers: headers, timestampMillis: 0, acknowledgement: 0)
    }

    @Test func anOwnersOwnRecordsLeaveNoGap() {
        let h = Self.harness()
        for n in 0..<20 { h.consume(key: "order-\(n)", value: Self.register) }
        h.advance(400_000)
        #expect(h.takeStateGap() == nil)
        #expect(h.counters.stateGaps == 0)
    }

    @Test func aForeignRecordIsFoundAndOverwritten() throws {
        let h = Self.harness()
        let live = try #require(h.stateLog.last { $0.keyText == "a/com.example.pizza/order-1" })
        h.writeState(Self.foreign("a/com.example.pizza/order-1", isNull: true))
        h.writeState(Self.foreign("a/com.example.pizza/nobody"))
        h.writeState(Self.foreign("a/com.example.gone/x"))
        #expect(h.takeStateGap() == nil, "nothing tells yet")
        h.consume(key: "order-2", value: Self.register)
        h.advance(1_000)
        #expect(h.counters.stateGaps == 1)
        #expect(Self.repairAll(h) == [.overwritten, .removed, .ignored])
        h.advance(1_000)
        #expect(h.stateLog.last { $0.keyText == "a/com.example.pizza/order-1" }?.value == live.value)
        #expect(h.stateLog.last { $0.keyText == "a/com.example.pizza/nobody" }?.isNull == true)
        #expect(h.takeStateGap() == nil, "what was repaired is no gap")
        #expect(h.counters.stateRecordsForeign == 2)
    }

    /// A harness whose owner has just begun to run. An update waits, and the owner's second marker is not acknowledged.
    private static func begun() -> EngineHarness {
        let h = Self.harness()
        h.consume(key: "order-1", value: Self.update)
        h.advance(2_000)
        h.engine.forget(partition: 0)
        h.acknowledgesAtOnce = false
        h.assignAgain()
        h.advance(2_000)
        return h
    }

    /// No push leaves before the owner's second marker is acknowledged. If a push left earlier and the owner crashed,
    /// the next owner would accept a former owner's delayed record and not know of the push.
    @Test func nothingLeavesBeforeTheOwnersMarkerLiesInState() {
        let h = Self.begun()
        #expect(h.take() == nil)
        h.acknowledgeAll()
        #expect(h.take() != nil)
    }

    /// The log has been read again, but the owner's second marker is not acknowledged. No push leaves.
    @Test func whatHasBeenReadAgainWaitsForTheMarkerToo() {
        let h = Self.harness()
        h.acknowledgesAtOnce = false
        h.consume(key: "order-1", value: Self.update)
        h.engine.forget(partition: 0)
        h.assignAgain()
        h.advance(2_000)
        #expect(h.take() == nil)
        h.replay()
        h.advance(2_000)
        #expect(h.take() == nil)
        h.acknowledgeAll()
        #expect(h.take() != nil)
    }

    @Test func nothingLeavesBeforeWhatLiesBeforeTheMarkerIsRepaired() throws {
        let h = Self.begun()
        h.writeState(Self.foreign("a/com.example.pizza/order-1"))
        h.acknowledgeAll()
        #expect(h.take() == nil)
        let gap = try #require(h.takeStateGap())
        h.consume(key: "order-2", value: Self.register)
        h.writeState(Self.foreign("a/com.example.gone/x"))
        h.acknowledgeAll()
        h.advance(200)
        h.acknowledgeAll()
        #expect(h.counters.stateGaps == 2)
        #expect(h.takeStateGap() == nil, "one of a partition at a time")
        let record = h.stateLog[Int(gap.offsets.lowerBound)]
        let (key, value) = (record.key, record.value)
        let done = h.engine.repair(
            partition: 0, key: key.span, value: value.span, offset: gap.offsets.lowerBound, now: h.now)
        #expect(done == .overwritten)
        h.engine.stateGapRepaired(partition: 0, now: h.now)
        #expect(h.take() == nil)
        #expect(Self.repairAll(h) == [.ignored])
        #expect(h.take() == nil, "what is overwritten is not acknowledged")
        h.advance(200)
        h.acknowledgeAll()
        #expect(h.take() != nil)
    }

    /// A marker is written again even if nothing happens in the partition. Its offset reveals that another worker has
    /// written to `state`.
    @Test func aGapIsFoundInAQuietPartition() {
        let h = Self.harness()
        h.writeState(Self.foreign("a/com.example.pizza/order-1", isNull: true))
        h.advance(290_000)
        #expect(h.takeStateGap() == nil)
        h.advance(11_000)
        #expect(Self.repairAll(h) == [.overwritten])
        h.advance(1_000)
        h.crash()
        #expect(h.counters.slots == 1)
    }

    /// `state` was copied to another cluster, where the log of events is new. Events of the new log are pushed,
    /// although the former cluster had applied the same offsets. A further owner in the new cluster keeps the positions
    /// of events that were applied there.
    @Test func positionsOfAnotherClusterAreVoid() {
        let h = Self.harness { $0.clusterID = "old" }
        h.consume(key: "order-1", value: Self.update)
        h.advance(1_000)
        h.deliver()
        h.advance(1_000)
        var configuration = h.configuration
        configuration.clusterID = "new"
        h.loseCommits()
        h.crash(by: configuration)
        #expect(h.actionsSoFar().contains(.warnOfVoid(partition: 0, cause: .cluster("old"))))
        h.advance(5_000)
        h.deliver()
        h.advance(1_000)
        h.loseCommits()
        h.crash()
        #expect(!h.actionsSoFar().contains(.warnOfVoid(partition: 0, cause: .cluster("old"))))
        h.advance(5_000)
        #expect(h.take() == nil, "it has been applied in this cluster")
    }

    /// A worker takes over in the new cluster, writes only its markers, and crashes. Its successor must also treat the
    /// former cluster's positions as void. That holds even if compaction has left only the last marker.
    @Test(arguments: [false, true])
    func whoDiesInAnotherClusterLeavesPositionsVoid(isCompacted: Bool) {
        let h = Self.harness { $0.clusterID = "old" }
        h.consume(key: "order-1", value: Self.update)
        h.advance(1_000)
        h.deliver()
        h.advance(1_000)
        var configuration = h.configuration
        configuration.clusterID = "new"
        h.loseCommits()
        h.crash(by: configuration)
        h.loseCommits()
        if isCompacted { h.compactMarkers(keeping: 1) }
        h.crash()
        h.advance(5_000)
        #expect(h.take() != nil, "a place in the log of the other cluster hides an event of this one")
    }

    /// The copied `state` has an event that was forwarded in the former cluster, with its original position. That
    /// position must not hide events that are forwarded in this cluster.
    @Test func whatWasForwardedInAnotherClusterHidesNothing() throws {
        let h = Self.harness { $0.clusterID = "old" }
        h.consume(
            key: "order-1", value: Self.update, topic: 1, origin: SourcePosition(topic: 0, partition: 7, offset: 900))
        h.advance(1_000)
        h.deliver()
        h.advance(1_000)
        var configuration = h.configuration
        configuration.clusterID = "new"
        h.loseCommits()
        h.crash(by: configuration)
        h.advance(5_000)
        try #require(h.deliver() != nil)
        h.advance(5_000)
        h.consume(
            key: "order-1", value: #"{"event":"update","content-state":{"n":2},"priority":10}"#, topic: 1,
            origin: SourcePosition(topic: 0, partition: 7, offset: 3))
        h.advance(5_000)
        #expect(h.take() != nil)
    }

    /// The epoch stays the offset of the owner's first marker, however often markers follow.
    @Test func theEpochIsTheFirstMarkers() {
        let h = Self.harness()
        let epoch = h.markerOffset
        h.advance(1_000_000)
        #expect(h.stateLog.filter { $0.keyText == "m" }.count >= 3)
        #expect(h.markerOffset == epoch)
    }

    @Test func anotherOwnersMarkerEndsIt() {
        let h = Self.harness()
        var bytes: [UInt8] = []
        var scratch: [UInt8] = []
        let marker = MarkerRecord(epoch: 900, takenOverWallMillis: 1, partitionCount: 8, clusterID: [])
        bytes.append(using: &scratch) { marker.write(to: &$0) }
        h.writeState(Self.foreign("m", value: bytes))
        h.consume(key: "order-2", value: Self.register)
        h.advance(1_000)
        #expect(Self.repairAll(h) == [.succeeded])
    }

    /// A worker crashes with its first marker on the way, and Kafka stores the marker behind those of the worker's
    /// successor. The delayed marker must not hide anything that the successor writes.
    @Test func aFirstMarkerThatComesLateHidesNothing() {
        let h = Self.harness()
        var bytes: [UInt8] = []
        var scratch: [UInt8] = []
        let marker = MarkerRecord(epoch: -1, takenOverWallMillis: 1, partitionCount: 8, clusterID: [])
        bytes.append(using: &scratch) { marker.write(to: &$0) }
        h.writeState(Self.foreign("m", value: bytes))
        h.consume(key: "order-2", value: Self.register)
        h.advance(1_000)
        #expect(Self.repairAll(h) == [.overwritten])
        h.crash()
        #expect(h.counters.slots == 2)
    }

    /// Owners crash one after the other, each with an unrecorded push. Each owner has newer stamps than the owner
    /// before, so a delayed push is older than what the phone shows. The event's timestamp here is ahead of the clock.
    @Test func eachOwnerStampsFurtherThanTheOneBefore() throws {
        let h = Self.harness()
        let ahead = h.now.wallSeconds + 100
        var stamps: [Int64] = []
        h.consume(
            key: "order-1", value: #"{"event":"update","content-state":{"n":1},"priority":10,"timestamp":\#(ahead)}"#)
        for _ in 0..<4 {
            h.advance(1_500)
            let push = try #require(h.take())
            stamps.append(push.stamp)
            h.crash()
        }
        #expect(stamps == stamps.sorted() && Set(stamps).count == stamps.count, "\(stamps)")
    }

    /// A worker that lost the partition writes its marker again. The owner writes its own marker behind that marker. A
    /// restore then accepts the owner's records.
    @Test func anOlderOwnersMarkerIsOverwritten() {
        let h = Self.harness()
        h.crash()
        var bytes: [UInt8] = []
        var scratch: [UInt8] = []
        let marker = MarkerRecord(epoch: 0, takenOverWallMillis: 1, partitionCount: 8, clusterID: [])
        bytes.append(using: &scratch) { marker.write(to: &$0) }
        h.writeState(Self.foreign("m", value: bytes))
        h.consume(key: "order-2", value: Self.register)
        h.advance(1_000)
        #expect(Self.repairAll(h) == [.overwritten])
        h.advance(1_000)
        h.crash()
        #expect(h.counters.slots == 2)
    }

    /// A tombstone names the epoch of the owner that wrote it. A restore ignores a former owner's tombstone behind its
    /// successor's marker.
    @Test func anOlderOwnersTombstoneIsNotBelieved() throws {
        let h = Self.harness()
        let before = try #require(h.markerOffset)
        h.crash()
        h.writeState(
            Self.foreign("a/com.example.pizza/order-1", isNull: true, headers: [RecordHeader.epoch.text: "\(before)"]))
        h.crash()
        #expect(h.counters.slots == 1)
        let own = try #require(h.markerOffset)
        h.writeState(
            Self.foreign("a/com.example.pizza/order-1", isNull: true, headers: [RecordHeader.epoch.text: "\(own)"]))
        h.crash()
        #expect(h.counters.slots == 0)
    }

    /// A restore ignores a former owner's delayed record, but compaction would keep only that record. So the restored
    /// record is written again behind the delayed one.
    @Test func whatAnOlderOwnerHidesFromCompactionIsWrittenAgain() throws {
        let h = Self.harness()
        let before = try #require(h.markerOffset)
        h.crash()
        h.writeState(
            Self.foreign("a/com.example.pizza/order-1", isNull: true, headers: [RecordHeader.epoch.text: "\(before)"]))
        h.crash()
        h.advance(1_000)
        #expect(h.stateLog.last { $0.keyText == "a/com.example.pizza/order-1" }?.isNull == false)
    }

    @Test func theOwnTombstonesSayTheirEpoch() throws {
        let h = Self.harness()
        h.advance(13 * 3_600_000)
        let tombstone = try #require(h.stateLog.last { $0.isNull })
        let epoch = try #require(h.markerOffset)
        #expect(tombstone.headers == [RecordHeader.epoch.text: "\(epoch)"])
    }

    @Test func stateForOtherPartitionCountsIsRefused() {
        let h = Self.harness()
        var other = h.configuration
        other.partitionCount = 16
        var engine = ShardEngine(configuration: other, randomSeed: 1)
        engine.partitionAssigned(0, now: h.now)
        engine.acknowledged(engine.batch.records[0].acknowledgement, offset: 900, now: h.now)
        let marker = h.stateLog[0]
        let (key, value) = (marker.key, marker.value)
        let result = engine.restore(
            partition: 0, key: key.span, value: value.span, isTombstone: false, offset: 0, now: h.now)
        guard case .refused(let text) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(text.contains("8 partitions") && text.contains("16"))
    }

    /// Positions belong to one cluster's log. In another cluster the same offsets are other events.
    @Test(arguments: [("one", "one", 1), ("one", "other", 2), ("one", "", 1), ("", "other", 1)])
    func anotherClusterVoidsPositions(before: String, after: String, pushes: Int) {
        let h = Self.harness { $0.clusterID = before }
        h.consume(key: "order-1", value: Self.update)
        #expect(h.deliver() != nil)
        h.advance(1_000)
        var configuration = h.configuration
        configuration.clusterID = after
        var engine = ShardEngine(configuration: configuration, randomSeed: 1)
        engine.partitionAssigned(0, now: h.now)
        engine.acknowledged(engine.batch.records[0].acknowledgement, offset: Int64(h.stateLog.count), now: h.now)
        for (offset, record) in h.stateLog.enumerated() {
            let (key, value) = (record.key, record.value)
            let result = engine.restore(
                partition: 0, key: key.span, value: value.span, isTombstone: record.isNull, offset: Int64(offset),
                now: h.now)
            #expect(result != .malformed(""))
        }
        var told: [PartitionAction] = []
        engine.takeActions(into: &told, now: h.now)
        #expect(told == [.restore(partition: 0, markerOffset: Int64(h.stateLog.count))])
        told = []
        let end = CommitPosition(topic: 0, partition: 0, nextOffset: 1_000)
        engine.restoreFinished(partition: 0, logEnds: [end], starts: [], now: h.now)
        engine.takeActions(into: &told, now: h.now)
        #expect(told == (pushes == 2 ? [.warnOfVoid(partition: 0, cause: .cluster(before))] : []))
        for (record, key, value) in h.consumed[0] ?? [] {
            engine.consume(record, key: key.span, value: value.span, traceparent: [UInt8]().span, now: h.now)
        }
        let taken = engine.counters.outcomes[Int(Outcome.duplicate.rawValue)]
        #expect(taken == (pushes == 2 ? 0 : 2), "replays of what is known are duplicates")
    }

    @Test func gapsAreBounded() {
        let h = Self.harness()
        let count = 3 * PartitionState.gapsMax
        for n in 0..<count {
            h.writeState(Self.foreign("a/com.example.pizza/order-1", isNull: true))
            h.consume(key: "new-\(n)", value: Self.register)
            h.advance(1_000)
        }
        var gaps: [StateGap] = []
        while let gap = h.takeStateGap() {
            gaps.append(gap)
            h.engine.stateGapRepaired(partition: gap.partition, now: h.now)
        }
        #expect(gaps.count == PartitionState.gapsMax)
        // Every foreign record is inside one of the gaps.
        let foreign = h.stateLog.indices.filter { h.stateLog[$0].isNull }.map { Int64($0) }
        #expect(foreign.count == count)
        for offset in foreign { #expect(gaps.contains { $0.offsets.contains(offset) }) }
    }
}

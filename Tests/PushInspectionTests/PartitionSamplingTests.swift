import PushModel
import Testing

@testable import PushInspection

/// Tests of choosing the few partitions that the page reads when too many events arrive to list them all.
struct PartitionSamplingTests {
    private static let now: Int64 = 1_795_600_000_000
    private static let partitionCount = 4

    private static func partition(_ activity: String) -> Int32 {
        Murmur2.partition(key: Array(activity.utf8).span, count: Int32(Self.partitionCount))
    }

    /// Names of activities, by the partition of their key.
    private static let activities: [Int32: [String]] = Dictionary(
        grouping: (0..<200).map { "order-\($0)" }, by: { Self.partition($0) })

    private static func activity(in partition: Int32, _ index: Int = 0) -> String {
        Self.activities[partition]?[index] ?? ""
    }

    private static func token(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 64 - digits.count) + digits
    }

    /// A timeline that meets `phones` in order, and then gets two seconds of a flood of other events.
    private static func flooded(_ phones: [String], limit: Int = 20, perSecond: Int = 50) -> Timeline {
        var timeline = TimelineTests.timeline { $0.entriesPerSecondMax = limit }
        timeline.setPartitionCount(Self.partitionCount)
        for (index, activity) in phones.enumerated() {
            timeline.meet(token: Self.token(index), activity: activity, app: "com.example.app")
        }
        for second in 0..<2 { Self.flood(&timeline, second: second, perSecond) }
        timeline.tick(nowMillis: Self.now + 2_000)
        return timeline
    }

    private static func flood(_ timeline: inout Timeline, second: Int, _ count: Int) {
        for number in 0..<count {
            let key = Array("flood-\(number)".utf8)
            _ = timeline.wantsEvent(key: key.span, nowMillis: Self.now + Int64(second) * 1_000)
        }
    }

    @Test func allIsReadUntilFarMoreComesThanIsListed() {
        var timeline = Self.flooded([Self.activity(in: 1)], perSecond: 40)
        #expect(timeline.eventAllowance.isCrowded)
        #expect(timeline.partitionsToRead(nowMillis: Self.now + 2_000) == nil, "twice as much is not far beyond")
        for second in 2..<4 { Self.flood(&timeline, second: second, 41) }
        #expect(timeline.partitionsToRead(nowMillis: Self.now + 3_000)?.events == [1])
        // The page keeps sampling while only slightly too many events arrive.
        for second in 4..<6 { Self.flood(&timeline, second: second, 21) }
        #expect(timeline.partitionsToRead(nowMillis: Self.now + 5_000)?.events == [1])
        for second in 6..<8 { Self.flood(&timeline, second: second, 20) }
        #expect(timeline.partitionsToRead(nowMillis: Self.now + 7_000) == nil, "the flood is over")
    }

    @Test func theNewestPhonesPartitionIsRead() {
        let phones = [0, 3, 2].map { Self.activity(in: $0) }
        var timeline = Self.flooded(phones)
        let read = ReadPartitions(events: [2], outcomes: [2])
        #expect(timeline.partitionsToRead(nowMillis: Self.now + 2_000) == read)
        // Another phone is the newest now. The page still reads the partition of the former newest phone, until that
        // phone's events have outcomes.
        timeline.meet(token: Self.token(7), activity: Self.activity(in: 1), app: "com.example.app")
        timeline.tick(nowMillis: Self.now + 2_500)
        Self.flood(&timeline, second: 2, 50)
        Self.flood(&timeline, second: 3, 50)
        #expect(timeline.partitionsToRead(nowMillis: Self.now + 3_000) == read)
        // Without any known phone, the first partition is read.
        #expect(Self.flooded([]).partitionsToRead(nowMillis: Self.now + 2_000)?.events == [0])
    }

    @Test func whatIsLookedAtIsRead() {
        var timeline = Self.flooded([Self.activity(in: 0)])
        for partition: Int32 in [1, 3] {
            timeline.look(at: Self.activity(in: partition, 5), nowMillis: Self.now + 2_100, isByTheWay: partition == 3)
        }
        #expect(timeline.partitionsToRead(nowMillis: Self.now + 2_100)?.events == [1, 3], "from the look on")
        let later = 2 + Int(Attention.lookMillis / 1_000) + 1
        Self.flood(&timeline, second: later - 1, 50)
        Self.flood(&timeline, second: later, 50)
        #expect(
            timeline.partitionsToRead(nowMillis: Self.now + Int64(later) * 1_000)?.events == [0],
            "nobody looks any more")
    }

    /// The sample has only phones of the partition that is read. The page does not read the events of other phones, so
    /// it could list only their pushes.
    @Test func theSampleFollowsPhonesThatAreRead() {
        let phones = (0..<12).flatMap { index in (0..<4).map { Self.activity(in: $0, index) } }
        let timeline = Self.flooded(phones)
        let newest = (4..<12).map { ByteKey(Self.activity(in: 3, $0)) }
        #expect(timeline.sample.activities == Set(newest))
        #expect(timeline.sample.tokens.count == Timeline.sampledPhonesMax)
    }

    @Test func whatIsPassedOverIsCounted() {
        var timeline = Self.flooded([Self.activity(in: 0)])
        let before = timeline.unlisted.events
        timeline.passOver(events: 900, nowMillis: Self.now + 2_000)
        #expect(timeline.unlisted.events == before + 900)
        #expect(timeline.changes(since: 0)["sampling"]?["events"] == .integer(900), "what came in the last second")
        // The flood lasts even if all its events are in partitions that are not read.
        for second in 3..<6 { timeline.passOver(events: 30, nowMillis: Self.now + Int64(second) * 1_000) }
        #expect(timeline.partitionsToRead(nowMillis: Self.now + 5_000) != nil)
        for second in 6..<8 { timeline.tick(nowMillis: Self.now + Int64(second) * 1_000) }
        #expect(timeline.partitionsToRead(nowMillis: Self.now + 7_000) == nil)
    }

    /// All partitions are read when there is an audience. The key of a member's join is a token, so joins may be in any
    /// partition.
    @Test func allIsReadWhileThereIsAnAudience() {
        var timeline = Self.flooded([Self.activity(in: 0)])
        timeline.joinMember(token: Self.token(99), audience: "match-7", isStartMember: false, app: "")
        #expect(timeline.partitionsToRead(nowMillis: Self.now + 2_000) == nil)
    }

    /// The partition where an event of the sample was found is read, too. A producer may choose partitions by another
    /// hash.
    @Test func wherePartOfTheSampleWasFoundIsReadToo() {
        var timeline = Self.flooded([Self.activity(in: 0)])
        let now = Self.now + 2_000
        for partition: Int32 in [3, 0, 4, -1] {
            timeline.found(
                outcomeIn: 0, of: EventPosition(partition: partition, offset: 7), nowMillis: now)
        }
        #expect(timeline.partitionsToRead(nowMillis: now) == ReadPartitions(events: [0, 3], outcomes: [0]))
        let later = now + PartitionSampling.strayMillis
        #expect(timeline.partitionsToRead(nowMillis: later)?.events == [0])
    }

    /// The page looks for a while for the outcomes of events that it listed before the flood. If it does not find one,
    /// it says so.
    @Test func outcomesThatAreAwaitedAreReadForAWhile() throws {
        var timeline = Self.flooded([Self.activity(in: 0)])
        let now = Self.now + 2_000
        let position = EventPosition(partition: 2, offset: 1)
        let event = #"{"event":"update","content-state":{"n":1}}"#
        for (offset, partition) in [(Int64(1), Int32(2)), (2, 3)] {
            _ = timeline.listEvent(
                at: EventPosition(partition: partition, offset: offset),
                key: Array(Self.activity(in: partition).utf8), value: Array(event.utf8), nowMillis: now)
        }
        #expect(timeline.partitionsToRead(nowMillis: now)?.outcomes == [0, 2, 3])
        timeline.takeOutcome(EventOutcome.named("delivered"), of: position)
        #expect(timeline.partitionsToRead(nowMillis: now)?.outcomes == [0, 3])
        let later = now + PartitionSampling.outcomeMillis
        #expect(timeline.partitionsToRead(nowMillis: later)?.outcomes == [0])

        for partition: Int32 in [1, 2] { timeline.passOver(outcomesIn: partition) }
        let entry = try #require(timeline.entries.last)
        #expect(timeline.summary(of: entry) == "Waits in the worker.")
        timeline.passOver(outcomesIn: 3)
        let unread = try #require(timeline.entry(entry.id))
        #expect(timeline.summary(of: unread) == "Its outcome was not read: too many events arrived.")
        let revision = timeline.revision
        timeline.passOver(outcomesIn: 3)
        #expect(timeline.revision == revision, "it is said once")
        // The worker reports that the event still waits.
        timeline.setWait(
            EventWait(cause: "token", text: "a token", untilMillis: nil, isGivenUpThen: true), of: [entry.id])
        #expect(timeline.summary(of: try #require(timeline.entry(entry.id))) == "Waits for a token.")
    }
}

extension EventOutcome {
    /// An outcome with only a name.
    fileprivate static func named(_ name: String) -> EventOutcome {
        EventOutcome(
            name: name, reason: "", into: nil, kept: [], messageID: "", status: nil, priority: nil, merged: nil,
            queuedMillis: nil, apnsMillis: nil)
    }
}

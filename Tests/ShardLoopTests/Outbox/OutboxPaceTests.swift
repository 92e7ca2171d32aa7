import Testing

@testable import ShardLoop

struct OutboxPaceTests {
    private static let holdMillis: Int64 = 300

    private static func pace(holdMillis: Int64 = Self.holdMillis, unacknowledgedMax: Int = 50_000) -> OutboxPace {
        OutboxPace(holdMillis: holdMillis, unacknowledgedMax: unacknowledgedMax)
    }

    private static func handsOver(
        _ pace: inout OutboxPace, _ count: Int, isUrgent: Bool = false, at nowMillis: Int64
    ) -> Bool { pace.handsOver(count: count, isUrgent: isUrgent, nowMillis: nowMillis) }

    /// Records leave in batches at any rate, from one every 40 ms to twenty every millisecond. No record waits longer
    /// than the limit.
    @Test(arguments: [(1, 40), (1, 1), (20, 1)] as [(Int, Int64)])
    func recordsGatherAtEveryRate(count: Int, everyMillis: Int64) {
        var pace = Self.pace()
        var waiting = 0
        var oldestMillis: Int64?
        var batches: [Int] = []
        for nowMillis in Int64(1_000)..<5_000 {
            if nowMillis % everyMillis == 0 {
                waiting += count
                oldestMillis = oldestMillis ?? nowMillis
            }
            guard Self.handsOver(&pace, waiting, at: nowMillis) else {
                #expect(pace.dueMillis == oldestMillis.map { $0 + Self.holdMillis })
                continue
            }
            #expect(nowMillis - (oldestMillis ?? 0) == Self.holdMillis)
            batches.append(waiting)
            waiting = 0
            oldestMillis = nil
        }
        #expect(batches.count >= 11)
        #expect(batches.allSatisfy { $0 > Int(Self.holdMillis / everyMillis) * count }, "\(batches)")
    }

    @Test func whatSomebodyWaitsForDoesNotGather() {
        var pace = Self.pace()
        #expect(!Self.handsOver(&pace, 3, at: 1_000))
        #expect(Self.handsOver(&pace, 4, isUrgent: true, at: 1_010))
        #expect(pace.dueMillis == nil)
        // A later record gets its own full wait.
        #expect(!Self.handsOver(&pace, 1, at: 1_020))
        #expect(pace.dueMillis == 1_020 + Self.holdMillis)
    }

    @Test func nothingIsHandedOverWhereNothingWaits() {
        var pace = Self.pace()
        #expect(!Self.handsOver(&pace, 0, isUrgent: true, at: 1_000))
        #expect(pace.dueMillis == nil)
    }

    @Test func aGreatHeapWaitsNoLonger() {
        var pace = Self.pace(unacknowledgedMax: 4 * OutboxPace.recordCountMax)
        #expect(!Self.handsOver(&pace, OutboxPace.recordCountMax - 1, at: 1_000))
        #expect(Self.handsOver(&pace, OutboxPace.recordCountMax, at: 1_000))
    }

    /// The shard stops reading at 400 unacknowledged records. Records that gather must not use up that limit. So they
    /// are handed over as soon as 100 have gathered, a quarter of the limit.
    @Test func aLowLimitOfUnacknowledgedRecordsIsNotUsedUpByGathering() {
        var pace = Self.pace(unacknowledgedMax: 400)
        #expect(!Self.handsOver(&pace, 99, at: 1_000))
        #expect(Self.handsOver(&pace, 100, at: 1_000))
    }

    /// After APNs' answer, two records follow each other: the outcome and the state record. Each gathers and is
    /// acknowledged. Both together take less than a second with any setting.
    @Test(arguments: [1, 50, 300, 1_000] as [Int64], [0, 20, 100, 200, 350] as [Int64])
    func bothRecordsOfAPushAreDoneBeforeTheNext(holdMillis: Int64, acknowledgementMillis: Int64) {
        var pace = Self.pace(holdMillis: holdMillis)
        pace.acknowledged(afterMillis: acknowledgementMillis)
        #expect(pace.holdMillis <= holdMillis)
        let both = 2 * (pace.holdMillis + acknowledgementMillis)
        #expect(both + OutboxPace.answerMillis <= OutboxPace.distanceMillis)
    }

    /// After a slow acknowledgement, records wait for only the shortest time. Some dozens of fast acknowledgements
    /// restore the full wait.
    @Test func aSlowMomentIsForgotten() {
        var pace = Self.pace()
        pace.acknowledged(afterMillis: 30_000)
        #expect(pace.holdMillis == OutboxPace.holdMillisMin)
        var count = 0
        while pace.holdMillis < Self.holdMillis, count < 100 {
            pace.acknowledged(afterMillis: 10)
            count += 1
        }
        #expect(10...60 ~= count)
    }
}

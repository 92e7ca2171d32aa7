import Testing

@testable import PushWorker

struct OutboxPaceTests {
    private static func isDue(_ pace: inout OutboxPace, _ count: Int, at nowMillis: Int64) -> Bool {
        pace.isDue(count: count, nowMillis: nowMillis)
    }

    @Test func fewRecordsNeverWait() {
        var pace = OutboxPace()
        for nowMillis in stride(from: 1_000, to: 3_000, by: 5) as StrideTo<Int64> {
            #expect(Self.isDue(&pace, 10, at: nowMillis))
            pace.handedOver(count: 10, nowMillis: nowMillis)
            #expect(pace.dueMillis == nil)
        }
    }

    /// 100 records each millisecond: after the first window they go out together, each waiting `holdMillis` at most.
    @Test func manyRecordsGather() {
        var pace = OutboxPace()
        var waiting = 0
        var oldestMillis: Int64?
        var batches: [Int] = []
        for nowMillis in Int64(1_000)..<2_000 {
            waiting += 100
            if oldestMillis == nil { oldestMillis = nowMillis }
            guard pace.isDue(count: waiting, nowMillis: nowMillis) else {
                #expect(pace.dueMillis == oldestMillis.map { $0 + OutboxPace.holdMillis })
                continue
            }
            #expect(nowMillis - (oldestMillis ?? 0) <= OutboxPace.holdMillis)
            batches.append(waiting)
            pace.handedOver(count: waiting, nowMillis: nowMillis)
            waiting = 0
            oldestMillis = nil
        }
        #expect(batches.suffix(5).allSatisfy { $0 >= 100 * Int(OutboxPace.holdMillis) }, "\(batches)")
    }

    @Test func aGreatHeapWaitsNoLonger() {
        var pace = OutboxPace()
        pace.handedOver(count: 10_000, nowMillis: 1_000)
        pace.handedOver(count: 10_000, nowMillis: 1_000 + OutboxPace.holdMillis)
        #expect(!Self.isDue(&pace, OutboxPace.recordCountMax - 1, at: 1_200))
        #expect(Self.isDue(&pace, OutboxPace.recordCountMax, at: 1_200))
    }

    /// One record after a busy time waits once; then the pace has noticed.
    @Test func waitingEndsWithTheRush() {
        var pace = OutboxPace()
        pace.handedOver(count: 10_000, nowMillis: 1_000)
        pace.handedOver(count: 10_000, nowMillis: 1_000 + OutboxPace.holdMillis)
        #expect(!Self.isDue(&pace, 1, at: 60_000))
        #expect(pace.dueMillis == 60_000 + OutboxPace.holdMillis)
        #expect(Self.isDue(&pace, 1, at: 60_000 + OutboxPace.holdMillis))
        pace.handedOver(count: 1, nowMillis: 60_000 + OutboxPace.holdMillis)
        #expect(Self.isDue(&pace, 1, at: 60_200))
    }
}

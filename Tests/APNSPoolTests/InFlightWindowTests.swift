import PushModel
import Testing

@testable import APNSPool

/// Tests of the in-flight window, round by round. A round has the time of its shortest answer, the loop's share of a
/// CPU core, and whether more requests were wanted.
@Suite struct InFlightWindowTests {
    struct Round {
        var shortestMicros: Int64?
        var busyPercent: Int64?
        var isWanted = true
    }

    /// The window's count after each round.
    private func counts(_ rounds: [Round]) -> [Int] {
        var window = InFlightWindow(atFirst: 512, min: 256)
        var (now, cpu): (Int64, Int64) = (1_000_000, 0)
        _ = window.look(nowMicros: now, isWanted: false) { 0 }
        return rounds.map { round in
            if let shortest = round.shortestMicros {
                window.measureRoundTrip(afterMicros: shortest + 300)
                window.measureRoundTrip(afterMicros: shortest)
            }
            let length = window.roundEndsMicros - now
            now += length
            cpu += length * (round.busyPercent ?? 0) / 100
            let isEarly = window.look(nowMicros: now - 1, isWanted: true) { nil }
            #expect(!isEarly)
            let before = window.count
            let reading: Int64? = round.busyPercent == nil ? nil : cpu
            let hasGrown = window.look(nowMicros: now, isWanted: round.isWanted) { reading }
            #expect(hasGrown == (window.count > before))
            return window.count
        }
    }

    @Test func itGrowsWhileMoreIsWantedAndTheLoopHasTime() {
        let round = Round(shortestMicros: 50_000, busyPercent: 30)
        #expect(self.counts([round, round, round]) == [1_024, 2_048, 4_096])
    }

    @Test func itStaysWhenNothingMoreIsWanted() {
        let round = Round(shortestMicros: 50_000, busyPercent: 30, isWanted: false)
        #expect(self.counts([round, round]) == [512, 512])
    }

    @Test func aBusyLoopWithQueuesTakesLessDownToABound() {
        let first = Round(shortestMicros: 400, busyPercent: 10, isWanted: false)
        let queueing = Round(shortestMicros: 5_000, busyPercent: 95)
        #expect(
            self.counts([first] + Array(repeating: queueing, count: 4)) == [512, 384, 288, 256, 256])
    }

    @Test func aBusyLoopWithoutQueuesGrowsSlowly() {
        let round = Round(shortestMicros: 50_000, busyPercent: 95)
        #expect(self.counts([round, round]) == [544, 578])
    }

    @Test func queuesElsewhereHoldItWhereItIs() {
        let first = Round(shortestMicros: 400, busyPercent: 10, isWanted: false)
        let slow = Round(shortestMicros: 30_000, busyPercent: 10)
        #expect(self.counts([first, slow, slow]) == [512, 512, 512])
    }

    @Test func aLongerWayIsBelievedInTheEnd() {
        let first = Round(shortestMicros: 5_000, busyPercent: 10, isWanted: false)
        let longer = Round(shortestMicros: 40_000, busyPercent: 10)
        let counts = self.counts([first] + Array(repeating: longer, count: 20))
        #expect(counts[3] == 512)
        #expect(counts[20] > 4_096)
    }

    @Test func withoutAnswersItGrows() {
        let silent = Round(shortestMicros: nil, busyPercent: 2)
        #expect(self.counts([silent, silent]) == [1_024, 2_048])
    }

    @Test func withoutAReadingOfTheCPUNothingShrinks() {
        let first = Round(shortestMicros: 400, busyPercent: nil, isWanted: false)
        let queueing = Round(shortestMicros: 30_000, busyPercent: nil)
        #expect(self.counts([first, queueing, queueing]) == [512, 512, 512])
    }

    @Test func itNeverGoesPastItsBound() {
        let round = Round(shortestMicros: 500, busyPercent: 10)
        #expect(self.counts(Array(repeating: round, count: 40)).last == InFlightWindow.countMax)
    }

    @Test func aRoundLastsTwoWays() {
        var window = InFlightWindow(atFirst: 512, min: 256)
        _ = window.look(nowMicros: 0, isWanted: false) { 0 }
        #expect(window.roundEndsMicros == InFlightWindow.roundMicrosMin)
        window.measureRoundTrip(afterMicros: 80_000)
        _ = window.look(nowMicros: 20_000, isWanted: false) { 0 }
        #expect(window.roundEndsMicros == 20_000 + 160_000)
    }
}

/// Tests of the window as part of a pool.
@Suite struct ConnectionPoolWindowTests {
    private func now(_ millis: Int64) -> EngineTime { EngineTime(steadyMillis: millis, wallMillis: millis) }

    /// A pool with one open connection of 1,000 streams. At time 10 ms it sends `count` pushes, or as many as the window
    /// allows. None is answered yet.
    private func pool(inFlight count: Int, limits: Bool = true) -> ConnectionPool {
        var configuration = ConnectionPoolConfiguration()
        configuration.limitsInFlight = limits
        var pool = ConnectionPool(configuration: configuration, randomSeed: 1)
        pool.start(now: self.now(0))
        pool.wanted(now: self.now(0))
        pool.transportConnected(0, now: self.now(1))
        pool.settingsReceived(0, streamsMax: 1_000, now: self.now(2))
        pool.lookAtWindow(micros: 2_000) { 0 }
        self.send(1, &pool, at: 3)
        _ = pool.accepted(0, connection: 0, micros: 4_000)
        self.send(count, &pool, at: 10)
        return pool
    }

    private func send(_ count: Int, _ pool: inout ConnectionPool, at millis: Int64) {
        for _ in 0..<count {
            guard let lease = pool.lease(now: self.now(millis)) else { return }
            pool.began(
                lease, push: PushID(rawValue: 1), app: 0, streamID: 1, tokenGeneration: 0,
                now: self.now(millis), micros: millis * 1_000)
        }
    }

    @Test func theWindowLimitsCredit() {
        #expect(self.pool(inFlight: 500).credit == 12)
        #expect(self.pool(inFlight: 600).inFlight == 512)
        #expect(self.pool(inFlight: 600, limits: false).credit == 400)
    }

    /// A connection that answers nothing must not delay other connections for more than a few rounds.
    @Test func aFullWindowOpensByTimeAloneThenAFurtherConnection() {
        var pool = self.pool(inFlight: 600)
        pool.wanted(now: self.now(11))
        #expect(pool.count(.connecting) == 0)
        let due = pool.nextDeadlineMillis ?? .max
        #expect(due <= 30)
        pool.lookAtWindow(micros: due * 1_000) { 0 }
        #expect(pool.credit > 0)
        self.send(1_000, &pool, at: due)
        #expect(pool.inFlight == 1_000)
        // Now no stream is free, so another connection is needed.
        pool.wanted(now: self.now(due))
        pool.advance(
            now: self.now(due + pool.configuration.growthPauseMillis),
            micros: (due + pool.configuration.growthPauseMillis) * 1_000)
        #expect(pool.count(.connecting) == 1)
    }

    /// A slow answer does not change the window. If no answer follows it, the window must still grow after another
    /// round.
    @Test func aWaitOutlastsARoundThatDidNotGrow() {
        var pool = self.pool(inFlight: 600)
        // The first push has shown that an answer takes 1 ms. This answer took 12 ms.
        pool.lookAtWindow(micros: 22_000) { 0 }
        _ = pool.accepted(pool.streams.oldest(connection: 0) ?? 0, connection: 0, micros: 22_000)
        self.send(1, &pool, at: 22)
        pool.wanted(now: self.now(22))
        pool.advance(now: self.now(42), micros: 42_000)
        #expect(pool.window.count == 512)
        let due = pool.nextDeadlineMillis ?? .max
        #expect(due <= 62)
        pool.advance(now: self.now(due), micros: due * 1_000)
        #expect(pool.credit > 0)
        // Pushes no longer wait for the window.
        #expect(!pool.waitsForWindow)
    }
}

import Testing

@testable import PushWorker

/// Tests of the estimate of how many seconds the fan-out still takes. An autoscaler uses the estimate, so it must be
/// defined at every moment.
@Suite struct DrainEstimateTests {
    @Test func withoutWorkThereIsNothingLeft() {
        var drain = DrainEstimate()
        drain.add(waiting: 0, served: 0, nowMillis: 0)
        drain.add(waiting: 0, served: 5_000, nowMillis: 60_000)
        #expect(drain.seconds == 0)
    }

    @Test func whatIsLeftIsMeasuredByTheLastSeconds() {
        var drain = DrainEstimate()
        var (waiting, served, now) = (100_000, UInt64(0), Int64(7_000))
        drain.add(waiting: waiting, served: served, nowMillis: now)
        for _ in 1...20 {
            now += 50
            waiting -= 500
            served += 500
            drain.add(waiting: waiting, served: served, nowMillis: now)
        }
        // 90,000 wait, and 10,000 are served each second.
        #expect(abs(drain.seconds - 9) < 0.1)
        // The rate is half as high from here on. The estimate soon shows it.
        for _ in 1...400 {
            now += 50
            waiting -= 25
            served += 250
            drain.add(waiting: waiting, served: served, nowMillis: now)
        }
        #expect(abs(drain.seconds - 16) < 1)
    }

    /// An hour without work does not lower the rate.
    @Test func timeWithoutWorkIsNoTimeAtWork() {
        var drain = DrainEstimate()
        drain.add(waiting: 1_000, served: 0, nowMillis: 0)
        drain.add(waiting: 0, served: 1_000, nowMillis: 1_000)
        drain.add(waiting: 2_000, served: 1_000, nowMillis: 3_601_000)
        #expect(abs(drain.seconds - 2) < 0.01)
    }

    @Test func whatDoesNotGetOnIsAnHourAndNotMore() {
        var drain = DrainEstimate()
        drain.add(waiting: 10_000, served: 0, nowMillis: 0)
        #expect(drain.seconds == 0, "nothing can be said yet")
        drain.add(waiting: 10_000, served: 0, nowMillis: 500)
        #expect(drain.seconds == 0)
        drain.add(waiting: 10_000, served: 0, nowMillis: 1_200)
        #expect(drain.seconds == DrainEstimate.secondsMax)
        drain.add(waiting: 1_000_000, served: 1, nowMillis: 2_000)
        #expect(drain.seconds == DrainEstimate.secondsMax)
    }

    /// A phone that APNs throttles waits for its own next attempt, and so does a phone whose answer is lost. More
    /// workers would not help, so such phones do not count as work.
    @Test(arguments: [UInt64(0), 319]) func whoWaitsForAnAttemptOfItsOwnIsNoWork(served: UInt64) {
        var drain = DrainEstimate()
        drain.add(waiting: 320, served: 0, nowMillis: 0)
        for step in 1...600 as ClosedRange<Int64> {
            drain.add(waiting: served == 0 ? 320 : 1, served: served, nowMillis: step * 250)
            #expect(drain.seconds < 5)
        }
        // The time of that waiting does not lower the rate of the next work.
        drain.add(waiting: 20_000, served: served, nowMillis: 150_250)
        drain.add(waiting: 19_000, served: served + 1_000, nowMillis: 150_750)
        #expect(drain.seconds < 30, "\(drain.seconds)")
    }

    @Test func aClockThatStandsStillChangesNothing() {
        var drain = DrainEstimate()
        drain.add(waiting: 10, served: 0, nowMillis: 1_000)
        drain.add(waiting: 9, served: 1, nowMillis: 1_000)
        drain.add(waiting: 9, served: 1, nowMillis: 900)
        #expect(drain.seconds == 0)
    }
}

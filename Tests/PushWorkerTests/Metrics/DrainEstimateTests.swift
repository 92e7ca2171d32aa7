import Testing

@testable import PushWorker

/// Seconds of fan-out left: what an autoscaler goes by, so it is defined at every moment.
@Suite struct DrainEstimateTests {
    @Test func withoutWorkThereIsNothingLeft() {
        var drain = DrainEstimate()
        drain.note(waiting: 0, served: 0, nowMillis: 0)
        drain.note(waiting: 0, served: 5_000, nowMillis: 60_000)
        #expect(drain.seconds == 0)
    }

    @Test func whatIsLeftIsMeasuredByTheLastSeconds() {
        var drain = DrainEstimate()
        var (waiting, served, now) = (100_000, UInt64(0), Int64(7_000))
        drain.note(waiting: waiting, served: served, nowMillis: now)
        for _ in 1...20 {
            now += 50
            waiting -= 500
            served += 500
            drain.note(waiting: waiting, served: served, nowMillis: now)
        }
        // 10,000 a second, 90,000 left.
        #expect(abs(drain.seconds - 9) < 0.1)
        // Half as fast from here on: soon that counts.
        for _ in 1...400 {
            now += 50
            waiting -= 25
            served += 250
            drain.note(waiting: waiting, served: served, nowMillis: now)
        }
        #expect(abs(drain.seconds - 16) < 1)
    }

    /// A quiet hour is not a slow one.
    @Test func timeWithoutWorkIsNoTimeAtWork() {
        var drain = DrainEstimate()
        drain.note(waiting: 1_000, served: 0, nowMillis: 0)
        drain.note(waiting: 0, served: 1_000, nowMillis: 1_000)
        drain.note(waiting: 2_000, served: 1_000, nowMillis: 3_601_000)
        #expect(abs(drain.seconds - 2) < 0.01)
    }

    @Test func whatDoesNotGetOnIsAnHourAndNotMore() {
        var drain = DrainEstimate()
        drain.note(waiting: 10_000, served: 0, nowMillis: 0)
        #expect(drain.seconds == 0, "nothing can be said yet")
        drain.note(waiting: 10_000, served: 0, nowMillis: 500)
        #expect(drain.seconds == 0)
        drain.note(waiting: 10_000, served: 0, nowMillis: 1_200)
        #expect(drain.seconds == DrainEstimate.secondsMax)
        drain.note(waiting: 1_000_000, served: 1, nowMillis: 2_000)
        #expect(drain.seconds == DrainEstimate.secondsMax)
    }

    /// One phone that APNs throttles, or whose answers are lost, waits for its own next attempt: nobody is to be woken, and no worker started.
    @Test(arguments: [UInt64(0), 319]) func whoWaitsForAnAttemptOfItsOwnIsNoWork(served: UInt64) {
        var drain = DrainEstimate()
        drain.note(waiting: 320, served: 0, nowMillis: 0)
        for step in 1...600 as ClosedRange<Int64> {
            drain.note(waiting: served == 0 ? 320 : 1, served: served, nowMillis: step * 250)
            #expect(drain.seconds < 5)
        }
        // The next that comes is measured by its own time.
        drain.note(waiting: 20_000, served: served, nowMillis: 150_250)
        drain.note(waiting: 19_000, served: served + 1_000, nowMillis: 150_750)
        #expect(drain.seconds < 30, "\(drain.seconds)")
    }

    @Test func aClockThatStandsStillChangesNothing() {
        var drain = DrainEstimate()
        drain.note(waiting: 10, served: 0, nowMillis: 1_000)
        drain.note(waiting: 9, served: 1, nowMillis: 1_000)
        drain.note(waiting: 9, served: 1, nowMillis: 900)
        #expect(drain.seconds == 0)
    }
}

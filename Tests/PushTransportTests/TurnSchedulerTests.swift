import NIOCore
import NIOEmbedded
import Testing

@testable import PushTransport

/// Tests of when turns run. The test moves the clock.
@Suite struct TurnSchedulerTests {
    private let loop = EmbeddedEventLoop()
    private let seen = Turns()

    /// Counts the turns. Each turn calls `inTurn`.
    private final class Turns {
        var count = 0
        var inTurn: () -> Void = {}
    }

    private func scheduler() -> TurnScheduler {
        TurnScheduler(eventLoop: self.loop) { [seen] in
            seen.count += 1
            seen.inTurn()
        }
    }

    @Test func howeverOftenItIsAskedForASoonTurnComesOnce() {
        let turns = self.scheduler()
        for _ in 0..<5 { turns.soon() }
        #expect(self.seen.count == 0)
        self.loop.run()
        #expect(self.seen.count == 1)
        turns.soon()
        self.loop.run()
        #expect(self.seen.count == 2)
    }

    /// A turn that is requested during a turn must wait. Otherwise turns would follow each other, and no socket would
    /// be read.
    @Test(arguments: [0, 1]) func whatATurnAsksForWaitsForThePause(way: Int) {
        let turns = self.scheduler()
        self.seen.inTurn = { if way == 0 { turns.soon() } else { turns.take() } }
        turns.take()
        self.loop.run()
        #expect(self.seen.count == 1)
        self.loop.advanceTime(by: .microseconds(TurnScheduler.pauseMicros - 1))
        #expect(self.seen.count == 1)
        self.seen.inTurn = {}
        self.loop.advanceTime(by: .microseconds(1))
        #expect(self.seen.count == 2)
        self.loop.advanceTime(by: .seconds(1))
        #expect(self.seen.count == 2)
    }

    /// A turn that continues after a pause must not wait as long as one that gathers records from Kafka.
    @Test func aPauseIsNotHeldUpByATurnThatGathers() {
        let turns = self.scheduler()
        turns.within(micros: 1_000)
        turns.within(micros: 500)
        turns.afterPause()
        self.loop.advanceTime(by: .microseconds(TurnScheduler.pauseMicros))
        #expect(self.seen.count == 1)
        self.loop.advanceTime(by: .microseconds(1_000 - TurnScheduler.pauseMicros - 1))
        #expect(self.seen.count == 1)
        self.loop.advanceTime(by: .microseconds(1))
        #expect(self.seen.count == 2)
    }

    @Test func theEarliestTimeAskedForCounts() {
        let turns = self.scheduler()
        turns.at(steadyMillis: 1_000, now: 0)
        turns.at(steadyMillis: 100, now: 0)
        turns.at(steadyMillis: 500, now: 0)
        self.loop.advanceTime(by: .milliseconds(99))
        #expect(self.seen.count == 0)
        self.loop.advanceTime(by: .milliseconds(1))
        #expect(self.seen.count == 1)
        // A timer is used once. The next turn must be requested again.
        self.loop.advanceTime(by: .seconds(10))
        #expect(self.seen.count == 1)
    }

    /// A deadline in the past must not let turns occupy a whole core.
    @Test func whatIsOverdueComesAfterAMillisecond() {
        let turns = self.scheduler()
        turns.at(steadyMillis: 100, now: 200)
        self.loop.run()
        #expect(self.seen.count == 0)
        self.loop.advanceTime(by: .milliseconds(1))
        #expect(self.seen.count == 1)
    }

    @Test func noTurnComesAfterTheEnd() {
        let turns = self.scheduler()
        turns.soon()
        turns.afterPause()
        turns.within(micros: 10)
        turns.at(steadyMillis: 1, now: 0)
        turns.end()
        turns.soon()
        turns.take()
        self.loop.advanceTime(by: .seconds(1))
        #expect(self.seen.count == 0)
    }
}

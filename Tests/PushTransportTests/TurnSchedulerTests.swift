import NIOCore
import NIOEmbedded
import Testing

@testable import PushTransport

/// When turns come, on a clock that the test moves.
@Suite struct TurnSchedulerTests {
    private let loop = EmbeddedEventLoop()
    private let seen = Turns()

    /// How many turns were taken, and what is done in one.
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

    /// Else what a turn asks for at its end would come before any socket is read, without end.
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

    /// A turn that goes on must not wait as long as one that gathers what Kafka has.
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
        // The turn says when the next is due.
        self.loop.advanceTime(by: .seconds(10))
        #expect(self.seen.count == 1)
    }

    /// A deadline that has passed must not take the whole core.
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

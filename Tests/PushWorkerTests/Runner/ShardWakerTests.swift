import NIOCore
import NIOPosix
@testable import PushWorker
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1))) struct ShardWakerTests {
    /// Number of things that other threads have done, and number of turns of the loop.
    private final class Work: Sendable {
        let done = Atomic<Int>(0)
        let turnCount = Atomic<Int>(0)
    }

    @Test func wakeUpsBeforeATurnBringOne() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        let work = Work()
        let waker = ShardWaker(eventLoop: loop)
        try await loop.submit {
            waker.attach {
                waker.reset()
                work.turnCount.add(1, ordering: .relaxed)
            }
            // The loop is busy until this closure ends, so no scheduled turn runs in between.
            for _ in 0..<100 { waker.wake() }
        }.get()
        try await loop.submit {}.get()
        #expect(work.turnCount.load(ordering: .relaxed) == 1)
        waker.wake()
        try await loop.submit {}.get()
        #expect(work.turnCount.load(ordering: .relaxed) == 2, "after a turn a wake-up brings another")
        try await loop.submit { waker.end() }.get()
        try await group.shutdownGracefully()
    }

    /// No wake-up is lost. Several threads leave work and wake the loop, as librdkafka's threads do. The loop looks for
    /// work only when it is woken.
    @Test(arguments: 1...20) func noWakeUpIsLost(round: Int) async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let others = MultiThreadedEventLoopGroup(numberOfThreads: 3)
        let loop = group.next()
        let (threads, items) = (3, 2_000)
        let work = Work()
        let finished = loop.makePromise(of: Int.self)
        let waker = ShardWaker(eventLoop: loop)
        try await loop.submit {
            var hasFinished = false
            waker.attach {
                waker.reset()
                let done = work.done.load(ordering: .relaxed)
                guard done == threads * items, !hasFinished else { return }
                hasFinished = true
                finished.succeed(done)
            }
        }.get()
        for other in others.makeIterator() {
            other.execute {
                for _ in 0..<items {
                    // A relaxed order is enough, because the waker itself promises that the loop sees the work.
                    work.done.add(1, ordering: .relaxed)
                    waker.wake()
                }
            }
        }
        // If the last wake-up were lost, this would wait forever.
        #expect(try await finished.futureResult.get() == threads * items)
        try await loop.submit { waker.end() }.get()
        try await others.shutdownGracefully()
        try await group.shutdownGracefully()
    }

    @Test func afterTheEndNothingIsScheduled() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        let work = Work()
        let waker = ShardWaker(eventLoop: loop)
        try await loop.submit {
            waker.attach { work.turnCount.add(1, ordering: .relaxed) }
            waker.end()
        }.get()
        waker.wake()
        try await loop.submit {}.get()
        #expect(work.turnCount.load(ordering: .relaxed) == 0)
        try await group.shutdownGracefully()
        // The loop has ended, so scheduling would print an error or trap.
        waker.reset()
        waker.wake()
    }

    @Test func withoutATurnItCanBeWokenAgain() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        let work = Work()
        let waker = ShardWaker(eventLoop: loop)
        waker.wake()
        try await loop.submit {
            waker.attach {
                waker.reset()
                work.turnCount.add(1, ordering: .relaxed)
            }
        }.get()
        waker.wake()
        try await loop.submit {}.get()
        #expect(work.turnCount.load(ordering: .relaxed) == 1)
        try await loop.submit { waker.end() }.get()
        try await group.shutdownGracefully()
    }
}

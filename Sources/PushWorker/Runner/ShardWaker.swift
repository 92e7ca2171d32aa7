import NIOCore
import PushModel
import PushTransport
import Synchronization

/// Wakes a shard from any thread, with at most one wake-up on its way.
///
/// librdkafka calls it under a lock of a queue, so it only schedules. The loop takes no lock to be woken again. The thread that wakes it may
/// have a lower priority on the same core: the loop would interrupt it, and then wait for it.
final class ShardWaker: Sendable {
    private let eventLoop: any EventLoop
    /// A turn is on its way: nobody else needs to wake.
    private let isAwake = Atomic<Bool>(false)
    /// Scheduling happens under the lock, so that nothing is scheduled once `end` has returned: the loop may be gone by then.
    private let hasEnded = Mutex(false)
    private let turn: NIOLoopBoundBox<(() -> Void)?>

    /// Wakes nobody until `attach`.
    init(eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
        self.turn = NIOLoopBoundBox.makeEmptyBox(eventLoop: eventLoop)
    }

    /// On the loop. From here on a wake-up calls `turn` there, which calls `reset`.
    func attach(_ turn: @escaping () -> Void) { self.turn.value = turn }

    func wake() {
        guard !self.isAwake.exchange(true, ordering: .acquiringAndReleasing) else { return }
        self.hasEnded.withLock { hasEnded in
            guard !hasEnded else { return }
            self.eventLoop.execute {
                // A turn resets by itself; without one nobody would.
                if let turn = self.turn.value { turn() } else { self.reset() }
            }
        }
    }

    /// What comes from here on wakes again. A turn calls it before it looks for work: it sees what those did who woke before.
    func reset() { _ = self.isAwake.exchange(false, ordering: .acquiringAndReleasing) }

    /// On the loop, for good: what librdkafka still reports wakes nobody.
    func end() {
        self.hasEnded.withLock { $0 = true }
        self.turn.value = nil
    }
}

/// Set by a thread of librdkafka when a queue turns non-empty, taken by the shard.
final class ReadableFlag: Sendable {
    private let isSet = Atomic<Bool>(true)

    func set() { self.isSet.store(true, ordering: .releasing) }
    func take() -> Bool { self.isSet.load(ordering: .relaxed) && self.isSet.exchange(false, ordering: .acquiring) }
}

/// When a shard's loop last turned, for liveness. Any thread.
final class LoopPulse: Sendable {
    private let lastMillis = Atomic<Int64>(MachineClock.now().steadyMillis)

    /// Beats once a second on the loop until the returned task is cancelled.
    func start(on eventLoop: any EventLoop) -> RepeatedTask {
        eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: .seconds(1)) { _ in
            self.lastMillis.store(MachineClock.now().steadyMillis, ordering: .relaxed)
        }
    }

    var millisSinceLast: Int64 { MachineClock.now().steadyMillis - self.lastMillis.load(ordering: .relaxed) }
}

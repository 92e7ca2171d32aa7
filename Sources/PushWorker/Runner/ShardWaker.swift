import NIOCore
import PushModel
import PushTransport
import Synchronization

/// Wakes a shard from any thread, with at most one wake-up on its way.
///
/// librdkafka calls `wake` while it holds a queue's lock, so `wake` only schedules a turn. The loop resets the waker
/// without taking a lock. With a lock, the loop could interrupt a waking thread of lower priority on the same core, and
/// then wait for that thread's lock.
final class ShardWaker: Sendable {
    private let eventLoop: any EventLoop
    /// Whether a turn is on its way, so that no other thread needs to wake the loop.
    private let isAwake = Atomic<Bool>(false)
    /// Whether the loop has ended. Scheduling happens under this lock, so that nothing is scheduled after `end` has
    /// returned: the loop may be gone by then.
    private let hasEnded = Mutex(false)
    private let turn: NIOLoopBoundBox<(() -> Void)?>

    /// Makes a waker without effect until `attach`.
    init(eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
        self.turn = NIOLoopBoundBox.makeEmptyBox(eventLoop: eventLoop)
    }

    /// Makes each wake-up call `turn` on the loop. `turn` has to call `reset`. This method is called on the loop.
    func attach(_ turn: @escaping () -> Void) { self.turn.value = turn }

    func wake() {
        guard !self.isAwake.exchange(true, ordering: .acquiringAndReleasing) else { return }
        self.hasEnded.withLock { hasEnded in
            guard !hasEnded else { return }
            self.eventLoop.execute {
                // A turn resets the waker. Without a turn, it is reset here.
                if let turn = self.turn.value { turn() } else { self.reset() }
            }
        }
    }

    /// Lets later calls wake the loop again. A turn calls this before it looks for work, so it sees the work of all
    /// earlier callers.
    func reset() { _ = self.isAwake.exchange(false, ordering: .acquiringAndReleasing) }

    /// Ends wake-ups for good, so that later reports of librdkafka have no effect. Called on the loop.
    func end() {
        self.hasEnded.withLock { $0 = true }
        self.turn.value = nil
    }
}

/// A flag that a thread of librdkafka sets when a queue becomes non-empty, and that the shard takes.
final class ReadableFlag: Sendable {
    private let isSet = Atomic<Bool>(true)

    func set() { self.isSet.store(true, ordering: .releasing) }
    func take() -> Bool { self.isSet.load(ordering: .relaxed) && self.isSet.exchange(false, ordering: .acquiring) }
}

/// When a shard's event loop last ran a task, for liveness. May be read from any thread.
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

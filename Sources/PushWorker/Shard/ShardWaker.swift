import NIOCore
import PushEngine
import Synchronization

/// Wakes a shard from any thread, with at most one wake-up on its way.
///
/// librdkafka calls it under a lock of a queue, so it only schedules.
final class ShardWaker: Sendable {
    private let eventLoop: any EventLoop
    private enum State { case idle, pending, ended }
    /// Scheduling happens under the lock, so that nothing is scheduled once `end` has returned: the loop may be gone by then.
    private let state = Mutex(State.idle)
    private let runner: NIOLoopBoundBox<ShardRunner?>

    /// Wakes nobody until `attach`.
    init(eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
        self.runner = NIOLoopBoundBox.makeEmptyBox(eventLoop: eventLoop)
    }

    /// On the loop.
    func attach(_ runner: ShardRunner) { self.runner.value = runner }

    func wake() {
        self.state.withLock { state in
            switch state {
            case .pending, .ended: return
            case .idle: state = .pending
            }
            self.eventLoop.execute {
                // A turn resets by itself; without one nobody would.
                if let runner = self.runner.value { runner.turn() } else { self.reset() }
            }
        }
    }

    /// What comes from here on wakes again. A turn calls it before it looks for work.
    func reset() {
        self.state.withLock { state in if state == .pending { state = .idle } }
    }

    /// On the loop, for good: what librdkafka still reports wakes nobody.
    func end() {
        self.state.withLock { $0 = .ended }
        self.runner.value = nil
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
    private let lastMillis = Atomic<Int64>(ShardClock.now().steadyMillis)

    /// Beats once a second on the loop until the returned task is cancelled.
    func start(on eventLoop: any EventLoop) -> RepeatedTask {
        eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: .seconds(1)) { _ in
            self.lastMillis.store(ShardClock.now().steadyMillis, ordering: .relaxed)
        }
    }

    var millisSinceLast: Int64 { ShardClock.now().steadyMillis - self.lastMillis.load(ordering: .relaxed) }
}

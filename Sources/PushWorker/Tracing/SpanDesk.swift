import Synchronization

/// Makes spans for a shard. The shard's loop only records what has happened. The desk does the slow part, such as
/// attributes, on another thread and in the order of recording.
///
/// The number of waiting pieces of work is limited. Further ones are dropped and counted. May be used from any thread.
final class SpanDesk: Sendable {
    /// One piece of work.
    typealias Work = @Sendable () -> Void
    /// The thread that does the work.
    enum Thread: Sendable {
        /// The thread that hands the work over does the work.
        case here
        /// Another thread does the work soon.
        case elsewhere
        /// The thread that calls `work` or `takeAll` does the work.
        case whenAsked
    }
    private struct State {
        var works: [Work] = []
        var isAwaited = false
        var droppedCount: UInt64 = 0
    }

    /// Maximum number of pieces of work that wait. It is enough for about 15 s in which a shard traces as much as it
    /// may.
    static let workCountMax = 8_192

    private let thread: Thread
    private let state = Mutex(State())
    /// Locked by the thread that does the work, so that only one thread at a time does work.
    private let worker = Mutex(())

    init(_ thread: Thread) { self.thread = thread }

    /// Number of pieces of work that were dropped. Most of them would have made a span.
    var droppedCount: UInt64 { self.state.withLock { $0.droppedCount } }

    /// Takes the work that a turn has recorded, and empties `works`.
    func take(_ works: inout [Work]) {
        guard !works.isEmpty else { return }
        let startsWork = self.state.withLock { state in
            let room = max(0, Self.workCountMax - state.works.count)
            state.droppedCount += UInt64(max(0, works.count - room))
            state.works.append(contentsOf: works.prefix(room))
            defer { state.isAwaited = true }
            return !state.isAwaited
        }
        works.removeAll(keepingCapacity: true)
        switch self.thread {
        case .here: self.work()
        case .elsewhere: if startsWork { Task.detached { self.work() } }
        case .whenAsked: break
        }
    }

    /// Does all waiting work. When it returns, everything that was taken before is done.
    func work() {
        self.worker.withLock { _ in
            while true {
                let works = self.takeAll()
                guard !works.isEmpty else { return }
                for work in works { work() }
            }
        }
    }

    /// Removes all waiting work without doing it.
    /// - Returns: the removed work. If there was none, the next `take` starts a task that does its work (`elsewhere`).
    func takeAll() -> [Work] {
        self.state.withLock { state in
            defer { state.works = [] }
            if state.works.isEmpty { state.isAwaited = false }
            return state.works
        }
    }
}

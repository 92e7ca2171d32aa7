import Synchronization

/// Makes spans for a shard. The shard's loop records briefly what has happened. The slow part, attributes and spans
/// below the first, is done here, on another thread and in the order of the records.
///
/// Bounded: work that has no room is dropped and counted. May be used from any thread.
final class SpanDesk: Sendable {
    /// One piece of work.
    typealias Work = @Sendable () -> Void
    /// The thread that does the work.
    enum Thread: Sendable {
        /// The thread that hands the work over does the work.
        case here
        /// Another thread does the work soon.
        case elsewhere
        /// The thread that asks for the results does the work.
        case whenAsked
    }
    private struct State {
        var works: [Work] = []
        var isAwaited = false
        var droppedCount: UInt64 = 0
    }

    /// Most pieces of work that wait at a time: about 15 s of all that a shard may trace.
    static let workCountMax = 8_192

    private let thread: Thread
    private let state = Mutex(State())
    /// The mutex is locked by the thread that works.
    private let worker = Mutex(())

    init(_ thread: Thread) { self.thread = thread }

    /// Number of pieces of work that were dropped: most would have made a span.
    var droppedCount: UInt64 { self.state.withLock { $0.droppedCount } }

    /// Takes over the work that a turn has recorded, and empties `works`.
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

    /// Does all waiting work. When it returns, everything taken over before is done.
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
    /// - Returns: the work. When it is empty, the next `take` starts a thread for its work.
    func takeAll() -> [Work] {
        self.state.withLock { state in
            defer { state.works = [] }
            if state.works.isEmpty { state.isAwaited = false }
            return state.works
        }
    }
}

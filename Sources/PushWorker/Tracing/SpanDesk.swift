import Synchronization

/// Makes spans for a shard. Its loop notes in a few words what has happened. What takes long, attributes and spans below the first, is done here,
/// on another thread and in the order of the notes.
///
/// Bounded: what has no room is dropped and counted. Any thread.
final class SpanDesk: Sendable {
    /// One thing to be done.
    typealias Work = @Sendable () -> Void
    /// Who does it.
    enum Place: Sendable {
        /// On the thread that hands the work over.
        case here
        /// Another thread, soon.
        case elsewhere
        /// On the thread that asks for it.
        case whenAsked
    }
    private struct State {
        var works: [Work] = []
        var isAwaited = false
        var droppedCount: UInt64 = 0
    }

    /// Works that wait at a time, at most: with all that a shard may trace in a second some 15 s of them.
    static let workCountMax = 8_192

    private let place: Place
    private let state = Mutex(State())
    /// Held by who works.
    private let turn = Mutex(())

    init(_ place: Place) { self.place = place }

    /// Works that were dropped: most stand for a span.
    var droppedCount: UInt64 { self.state.withLock { $0.droppedCount } }

    /// Takes over what a turn has noted, and leaves nothing in `works`.
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
        switch self.place {
        case .here: self.work()
        case .elsewhere: if startsWork { Task.detached { self.work() } }
        case .whenAsked: break
        }
    }

    /// Does all that waits. When it returns, all that was taken over before is done.
    func work() {
        self.turn.withLock { _ in
            while true {
                let works = self.takeAll()
                guard !works.isEmpty else { return }
                for work in works { work() }
            }
        }
    }

    /// Takes out all that waits, undone.
    /// - Returns: the work; empty: the next one that brings work has it done.
    func takeAll() -> [Work] {
        self.state.withLock { state in
            defer { state.works = [] }
            if state.works.isEmpty { state.isAwaited = false }
            return state.works
        }
    }
}

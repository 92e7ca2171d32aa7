import Synchronization

/// The followers of the timeline. A slow follower misses nothing: it is woken once, and then asks for everything new.
final class Followers: Sendable {
    /// One follower. It leaves by `leave`, or when it is released.
    final class Follower: Sendable {
        /// Yields when something is new, and once at the beginning. Ends with the page.
        let wakes: AsyncStream<Void>
        private let leaving: @Sendable () -> Void

        init(wakes: AsyncStream<Void>, leaving: @escaping @Sendable () -> Void) {
            self.wakes = wakes
            self.leaving = leaving
        }

        /// Removes the follower, which makes room for another. Idempotent.
        func leave() { self.leaving() }

        deinit { self.leaving() }
    }

    private struct State {
        var continuations: [UInt64: AsyncStream<Void>.Continuation] = [:]
        var nextID: UInt64 = 0
        var hasEnded = false
    }

    private let countMax: Int
    private let state = Mutex(State())

    init(countMax: Int) { self.countMax = countMax }

    /// Adds a follower; `nil`: the number of followers is at its limit, or the page has ended.
    func enter() -> Follower? {
        let (wakes, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let id = self.state.withLock { state -> UInt64? in
            guard !state.hasEnded, state.continuations.count < self.countMax else { return nil }
            state.nextID += 1
            state.continuations[state.nextID] = continuation
            return state.nextID
        }
        guard let id else { return nil }
        continuation.yield()
        return Follower(wakes: wakes) { [weak self] in self?.leave(id) }
    }

    func wakeAll() {
        for continuation in self.state.withLock({ Array($0.continuations.values) }) { continuation.yield() }
    }

    /// Ends all streams and refuses further followers.
    func end() {
        let continuations = self.state.withLock { state in
            state.hasEnded = true
            defer { state.continuations.removeAll() }
            return Array(state.continuations.values)
        }
        for continuation in continuations { continuation.finish() }
    }

    private func leave(_ id: UInt64) { self.state.withLock { $0.continuations.removeValue(forKey: id) }?.finish() }
}

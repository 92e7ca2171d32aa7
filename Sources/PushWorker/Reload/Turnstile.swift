import Synchronization

/// Lets one at a time through, in the order in which they came.
final class Turnstile: Sendable {
    /// Most callers that may wait; one more is turned away.
    static let waitingMax = 16

    private struct State {
        var isTaken = false
        var waiting: [CheckedContinuation<Bool, Never>] = []
    }

    private let state = Mutex(State())

    /// How many wait now.
    var waitingCount: Int { self.state.withLock { $0.waiting.count } }

    /// Returns when it is the caller's turn, which lasts until `leave`. - Returns: `false`: too many wait, and it is not.
    func enter() async -> Bool {
        await withCheckedContinuation { continuation in
            // `nil`: it waits.
            let isThrough: Bool? = self.state.withLock { state in
                guard state.isTaken else {
                    state.isTaken = true
                    return true
                }
                guard state.waiting.count < Self.waitingMax else { return false }
                state.waiting.append(continuation)
                return nil
            }
            if let isThrough { continuation.resume(returning: isThrough) }
        }
    }

    /// Lets the next one through.
    func leave() {
        let next: CheckedContinuation<Bool, Never>? = self.state.withLock { state in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.isTaken = false
            return nil
        }
        next?.resume(returning: true)
    }
}

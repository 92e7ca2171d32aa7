import Synchronization

/// Lets callers through one at a time, in the order in which they arrived.
final class Turnstile: Sendable {
    /// Maximum number of callers that may wait. A further caller is refused.
    static let waitingMax = 16

    private struct State {
        var isTaken = false
        var waiting: [CheckedContinuation<Bool, Never>] = []
    }

    private let state = Mutex(State())

    /// Number of callers that wait now.
    var waitingCount: Int { self.state.withLock { $0.waiting.count } }

    /// Returns when the caller may go on. Later callers wait until it calls `leave`.
    /// - Returns: `false` when too many callers wait: this caller may not go on.
    func enter() async -> Bool {
        await withCheckedContinuation { continuation in
            // `nil` means that the caller waits.
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

    /// Lets the next caller through.
    func leave() {
        let next: CheckedContinuation<Bool, Never>? = self.state.withLock { state in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.isTaken = false
            return nil
        }
        next?.resume(returning: true)
    }
}

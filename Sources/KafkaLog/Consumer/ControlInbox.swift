import CRDKafka
import Synchronization

/// Commands from other threads to a consumer's control thread, and the commits that wait for an answer.
final class ControlInbox: Sendable {
    enum Command: Sendable {
        case assign(id: UInt64, starts: [LogStart?])
        case begin(readers: [PartitionReader], starts: [LogStart])
        case unassign(id: UInt64)
        case close(deadline: ContinuousClock.Instant, completion: @Sendable (Bool) -> Void)
    }

    struct PendingCommit: Sendable {
        let positions: [TopicPartitionOffset]
        let completion: @Sendable (CommitResult) -> Void
    }

    /// Maximum number of commits that wait for an answer; further ones are refused. A worker that commits every 200 ms
    /// has 300 of them if each takes a minute to fail.
    static let pendingCommitCountMax = 1_024

    private struct State {
        var commands: [Command] = []
        var commits: [UInt64: PendingCommit] = [:]
        var lastToken: UInt64 = 0
        var unclaimedSteps: Set<UInt64> = []
        var isStarted = false
        var isClosed = false
    }

    private let state = Mutex(State())
    private let queue: KafkaQueue

    init(queue: consuming KafkaQueue) { self.queue = queue }

    func withQueue<Result>(_ body: (OpaquePointer) -> Result) -> Result { body(self.queue.pointer) }

    /// Remembers that the control thread starts. `false` when the thread was started before, or the consumer is closed.
    func markStarted() -> Bool {
        self.state.withLock { state in
            defer { state.isStarted = true }
            return !state.isStarted && !state.isClosed
        }
    }

    /// Sends a command from any thread. After the control thread has ended, a close is answered at once, and other
    /// commands are dropped.
    func send(_ command: Command) {
        let isClosed = self.state.withLock { state in
            if case .close = command, !state.isStarted { state.isClosed = true }
            if !state.isClosed { state.commands.append(command) }
            return state.isClosed
        }
        guard !isClosed else {
            if case .close(_, let completion) = command { completion(true) }
            return
        }
        rd_kafka_queue_yield(self.queue.pointer)
    }

    /// Remembers that a rebalance step waits for its completion. The worker or the step's time limit completes it; the
    /// first of the two claims it, so that it is completed once.
    func openStep(_ id: UInt64) { self.state.withLock { _ = $0.unclaimedSteps.insert(id) } }

    func claimStep(_ id: UInt64) -> Bool { self.state.withLock { $0.unclaimedSteps.remove(id) != nil } }

    func completeStep(_ id: UInt64, _ command: Command) -> Bool {
        guard self.claimStep(id) else { return false }
        self.send(command)
        return true
    }

    func takeCommands() -> [Command] {
        self.state.withLock { state in
            guard !state.commands.isEmpty else { return [] }
            defer { state.commands.removeAll(keepingCapacity: true) }
            return state.commands
        }
    }

    /// Remembers a commit that waits for an answer, and returns its number; `nil` when the consumer is closed or too
    /// many commits wait.
    func addCommit(_ positions: [TopicPartitionOffset], _ completion: @escaping @Sendable (CommitResult) -> Void)
        -> UInt64?
    {
        self.state.withLock { state in
            guard !state.isClosed, state.commits.count < Self.pendingCommitCountMax else { return nil }
            state.lastToken += 1
            state.commits[state.lastToken] = PendingCommit(positions: positions, completion: completion)
            return state.lastToken
        }
    }

    func takeCommit(_ token: UInt64) -> PendingCommit? { self.state.withLock { $0.commits.removeValue(forKey: token) } }

    /// Closes the inbox when the control thread ends. Returns the commands and commits that are not answered yet.
    func close() -> (commands: [Command], commits: [PendingCommit]) {
        self.state.withLock { state in
            state.isClosed = true
            defer {
                state.commands = []
                state.commits = [:]
            }
            return (state.commands, state.commits.sorted { $0.key < $1.key }.map(\.value))
        }
    }
}

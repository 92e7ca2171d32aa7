import KafkaLog
import Logging
import PushEngine
import PushModel
import Synchronization

/// What partitions had left to commit when they were released.
struct ReleasedPositions: Sendable {
    var positions: [TopicPartitionOffset]
    var unfinished: [Int32]
}

/// Gathers the shards' commits and sends one batch at a time. Any thread.
///
/// A partition that leaves is taken out first, and what is on its way is waited for: no commit of a partition is issued
/// or in flight once its unassign begins (contract §6).
final class Committer: Sendable {
    private struct State {
        var waiting: [TopicPartition: Int64] = [:]
        var inFlight: Set<TopicPartition> = []
        /// Partition numbers that may be committed.
        var owned: Set<Int32> = []
        var idle: [CheckedContinuation<Void, Never>] = []
        /// The newest position of each that may be committed, or where reading began.
        var newest: [TopicPartition: Int64] = [:]
        /// When the batch on its way was sent, steady.
        var sentAtMillis: Int64 = 0
        var send: (@Sendable ([TopicPartitionOffset], @escaping @Sendable (CommitResult) -> Void) -> Void)?
        var isJoining: @Sendable () -> Bool = { false }
        var commits: UInt64 = 0
        var failures: UInt64 = 0
        var refusal: KafkaError?
    }

    private let state = Mutex(State())
    private let logger: Logger
    /// Every answer of the group shows that this worker is a member.
    private let lease: OwnershipLease

    init(lease: OwnershipLease, logger: Logger) {
        self.lease = lease
        self.logger = logger
    }

    /// How commits are sent; set once, before anything is added.
    func use(_ consumer: KafkaConsumer) {
        self.use(isJoining: { consumer.isJoining }) { positions, completion in
            consumer.commit(positions, completion: completion)
        }
    }

    /// - Parameter isJoining: whether the group is being joined again; then nothing is sent.
    func use(
        isJoining: @escaping @Sendable () -> Bool = { false },
        send: @escaping @Sendable ([TopicPartitionOffset], @escaping @Sendable (CommitResult) -> Void) -> Void
    ) {
        self.state.withLock {
            $0.isJoining = isJoining
            $0.send = send
        }
    }

    var counts: (commits: UInt64, failures: UInt64) { self.state.withLock { ($0.commits, $0.failures) } }

    /// A right that is missing, as the last answer said; `nil`: none.
    var refusal: KafkaError? { self.state.withLock { $0.refusal } }

    /// - Parameter starts: where reading of each begins; committed again when the group is asked and there is nothing newer.
    func own(_ partitions: [Int32], starts: [TopicPartition: Int64]) {
        self.state.withLock { state in
            state.owned.formUnion(partitions)
            state.newest.merge(starts) { _, start in start }
        }
    }

    /// Asks the group whether this worker is a member, by committing a position again. Nothing when a commit is on its way.
    func ask() {
        self.state.withLock { state in
            // What was refused and waits asks as well.
            guard state.inFlight.isEmpty, state.waiting.isEmpty else { return }
            guard let some = state.newest.first(where: { state.owned.contains($0.key.partition) }) else { return }
            state.waiting[some.key] = some.value
        }
        self.sendNext()
    }

    /// Positions to be committed soon; the newest of a partition counts.
    func add(_ positions: [TopicPartitionOffset]) {
        self.state.withLock { state in
            for position in positions where state.owned.contains(position.partition) {
                state.waiting[position.topicPartition] = position.offset
                state.newest[position.topicPartition] = position.offset
            }
        }
        self.sendNext()
    }

    /// Takes partitions out: what waited for them is returned, nothing of them is sent any more.
    func take(_ partitions: [Int32]) -> [TopicPartitionOffset] {
        self.state.withLock { state in
            state.owned.subtract(partitions)
            state.newest = state.newest.filter { !partitions.contains($0.key.partition) }
            let taken = state.waiting.filter { partitions.contains($0.key.partition) }
            for partition in taken.keys { state.waiting[partition] = nil }
            return taken.map {
                TopicPartitionOffset(topic: $0.key.topic, partition: $0.key.partition, offset: $0.value)
            }
        }
    }

    /// Waits until the batch on its way, if any, is answered.
    func settle() async {
        await withCheckedContinuation { continuation in
            let isIdle = self.state.withLock { state in
                if !state.inFlight.isEmpty { state.idle.append(continuation) }
                return state.inFlight.isEmpty
            }
            if isIdle { continuation.resume() }
        }
    }

    private func sendNext() {
        let batch = self.state.withLock {
            state -> (
                positions: [TopicPartitionOffset],
                send: (@Sendable ([TopicPartitionOffset], @escaping @Sendable (CommitResult) -> Void) -> Void)
            )? in
            guard state.inFlight.isEmpty, !state.waiting.isEmpty, let send = state.send else { return nil }
            // Whoever commits or asks next, a fraction of a second later, tries again.
            guard !state.isJoining() else { return nil }
            let positions = state.waiting.map {
                TopicPartitionOffset(topic: $0.key.topic, partition: $0.key.partition, offset: $0.value)
            }
            state.inFlight = Set(state.waiting.keys)
            state.waiting = [:]
            state.sentAtMillis = ShardClock.now().steadyMillis
            return (positions, send)
        }
        guard let batch else { return }
        batch.send(batch.positions) { result in self.answered(result) }
    }

    private func answered(_ result: CommitResult) {
        let idle = self.state.withLock { state in
            state.inFlight = []
            // The group judges the member first, then each partition: one that was committed shows the membership.
            if !result.committed.isEmpty { self.lease.confirmed(askedAtMillis: state.sentAtMillis) }
            state.refusal = result.refused.first { $0.error.isRefusal }?.error
            if result.isSuccess { state.commits += 1 } else { state.failures += 1 }
            // Whatever the reason: during a rebalance the group refuses the generation it has just left, and the partition stays here.
            // A position that is older than where this ownership stands is of an earlier one, or a newer one waits.
            for refusal in result.refused where state.owned.contains(refusal.position.partition) {
                let partition = refusal.position.topicPartition
                guard let newest = state.newest[partition], refusal.position.offset >= newest else { continue }
                state.waiting[partition] = newest
            }
            let idle = state.idle
            state.idle = []
            return idle
        }
        if let refusal = result.refused.first {
            // A group that waits for its members refuses; that is how rebalances go.
            self.logger.log(
                level: refusal.error.code == .rebalanceInProgress ? .debug : .warning, "a commit was refused",
                metadata: [
                    "partitions": "\(result.refused.count)", "first": "\(refusal.position)",
                    "cause": "\(refusal.error)",
                ])
        }
        for continuation in idle { continuation.resume() }
        // What was refused goes with the next batch, not at once: the cause is seldom gone in a moment.
        if result.isSuccess { self.sendNext() }
    }
}

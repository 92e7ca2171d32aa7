import KafkaLog
import Logging
import PushEngine
import PushModel
import PushTransport
import ShardLoop
import Synchronization

/// What partitions had left to commit when they were released.
struct ReleasedPositions: Sendable {
    var positions: [CommitPosition]
    var unfinished: [Int32]
}

/// Gathers the shards' commits and sends one batch at a time, as `CommitQueue` decides; what the answers say about the membership is here
/// for the shards to see. Any thread.
final class Committer: Sendable {
    typealias Send = @Sendable ([TopicPartitionOffset], @escaping @Sendable (CommitResult) -> Void) -> Void

    private struct State {
        var queue: CommitQueue
        var idle: [CheckedContinuation<Void, Never>] = []
        var send: Send?
        var isJoining: @Sendable () -> Bool = { false }
        var leaseReturned: [@Sendable () -> Void] = []
        var commits: UInt64 = 0
        var failures: UInt64 = 0
        var refusal: KafkaError?
        /// By partition: see `confirm`.
        var toConfirm: [Int32: [CommitPosition]] = [:]
        /// By partition: when the routed topic's position is committed again beside others, steady.
        var witnessDueMillis: [Int32: Int64] = [:]
    }

    private let state: Mutex<State>
    /// As in the queue's lease, for the shards to read without the lock.
    private let leaseEnds = Atomic<Int64>(.min)
    /// How often the group is asked when nothing else is committed.
    let askEveryMillis: Int64
    /// By the index in a `CommitPosition`.
    private let inputTopics: [String]
    /// What commits say of their logs.
    let notes: PositionNotes
    private let topicIndexes: [String: UInt16]
    private let logger: Logger

    init(inputTopics: [String], sessionTimeoutMillis: Int64, logger: Logger) {
        let lease = OwnershipLease(sessionTimeoutMillis: sessionTimeoutMillis)
        self.askEveryMillis = lease.askEveryMillis
        self.state = Mutex(State(queue: CommitQueue(lease: lease)))
        self.inputTopics = inputTopics
        self.notes = PositionNotes(inputTopics: inputTopics)
        self.topicIndexes = Dictionary(
            inputTopics.enumerated().map { ($0.element, UInt16($0.offset)) }, uniquingKeysWith: { first, _ in first })
        self.logger = logger
    }

    /// How commits are sent; set once, before anything is added.
    func use(_ consumer: KafkaConsumer) {
        self.use(isJoining: { consumer.isJoining }) { positions, completion in
            consumer.commit(positions, completion: completion)
        }
    }

    /// - Parameter isJoining: whether the group is being joined again; then nothing is sent.
    func use(isJoining: @escaping @Sendable () -> Bool = { false }, send: @escaping Send) {
        self.state.withLock {
            $0.isJoining = isJoining
            $0.send = send
        }
    }

    /// Until when the partitions are certainly this worker's, steady.
    var leaseEndsMillis: Int64 { self.leaseEnds.load(ordering: .relaxed) }

    /// Calls `body`, on any thread, when the lease had run out, or was never there, and has been confirmed.
    func whenLeaseReturns(_ body: @escaping @Sendable () -> Void) {
        self.state.withLock { $0.leaseReturned.append(body) }
    }

    var counts: (commits: UInt64, failures: UInt64) { self.state.withLock { ($0.commits, $0.failures) } }

    /// A right that is missing, as the last answer said; `nil`: none.
    var refusal: KafkaError? { self.state.withLock { $0.refusal } }

    /// See `CommitQueue.own`.
    /// - Parameter toConfirm: see `StartPositions.toConfirm`.
    func own(_ partitions: [Int32], starts: [CommitPosition], toConfirm: [CommitPosition] = []) {
        self.state.withLock { state in
            state.queue.own(partitions, starts: starts)
            for partition in partitions {
                state.toConfirm[partition] = toConfirm.filter { $0.partition == partition }
            }
        }
    }

    /// Owners of these partitions are at work, as their `state` says now: the next commit says so, and comes soon even where nothing is read.
    func confirm(_ partitions: [Int32]) {
        let positions = self.state.withLock { state in
            partitions.flatMap { state.toConfirm.removeValue(forKey: $0) ?? [] }.filter {
                state.queue.newest(of: $0) == $0.nextOffset
            }
        }
        if !positions.isEmpty { self.add(positions) }
    }

    /// Asks the group whether this worker is a member, by committing a position again. Nothing when a commit is on its way.
    func ask() {
        self.state.withLock { $0.queue.ask() }
        self.sendNext()
    }

    /// Positions to be committed soon; the newest of a partition counts.
    func add(_ positions: [CommitPosition]) {
        let nowMillis = MachineClock.now().steadyMillis
        self.state.withLock { state in
            state.queue.add(positions)
            for position in positions { self.addWitness(of: position, nowMillis, &state) }
        }
        self.sendNext()
    }

    /// With an input topic Kafka deletes what the group has committed of it: now and then the routed topic's commit is told what was read.
    private func addWitness(of position: CommitPosition, _ nowMillis: Int64, _ state: inout State) {
        let routed = UInt16(self.inputTopics.count - 1)
        guard position.topic != routed, state.witnessDueMillis[position.partition] ?? .min <= nowMillis else { return }
        var witness = CommitPosition(topic: routed, partition: position.partition, nextOffset: 0)
        guard let next = state.queue.newest(of: witness) else { return }
        witness.nextOffset = next
        state.witnessDueMillis[position.partition] = nowMillis + Self.witnessMillis
        state.queue.add([witness])
    }

    /// How old at most what the routed topic's commit says of others may be while they are read.
    private static let witnessMillis: Int64 = 60_000

    /// Takes partitions out: what waited for them is returned, and nothing of them is sent from now on.
    func take(_ partitions: [Int32]) -> [CommitPosition] {
        self.state.withLock { state in
            for partition in partitions {
                state.toConfirm[partition] = nil
                state.witnessDueMillis[partition] = nil
            }
            return state.queue.take(partitions)
        }
    }

    /// Waits until the batch on its way, if any, is answered.
    func settle() async {
        await withCheckedContinuation { continuation in
            let isIdle = self.state.withLock { state in
                if !state.queue.isIdle { state.idle.append(continuation) }
                return state.queue.isIdle
            }
            if isIdle { continuation.resume() }
        }
    }

    /// As Kafka names them, with what is said of their logs.
    /// - Parameter releasedWallMillis: see `PositionNote.releasedWallMillis`.
    func named(_ positions: [CommitPosition], releasedWallMillis: Int64? = nil) -> [TopicPartitionOffset] {
        positions.map { position in
            var note = self.notes.note(of: position)
            note.releasedWallMillis = releasedWallMillis
            return TopicPartitionOffset(
                topic: self.inputTopics[Int(position.topic)], partition: position.partition,
                offset: position.nextOffset, metadata: note.metadata)
        }
    }

    private func indexed(_ position: TopicPartitionOffset) -> CommitPosition? {
        self.topicIndexes[position.topic].map {
            CommitPosition(topic: $0, partition: position.partition, nextOffset: position.offset)
        }
    }

    private func sendNext() {
        let batch = self.state.withLock { state -> (positions: [CommitPosition], send: Send)? in
            guard let send = state.send else { return nil }
            let positions = state.queue.takeBatch(
                nowMillis: MachineClock.now().steadyMillis, isJoining: state.isJoining())
            return positions.isEmpty ? nil : (positions, send)
        }
        guard let batch else { return }
        batch.send(self.named(batch.positions)) { result in self.took(result) }
    }

    private func took(_ result: CommitResult) {
        let nowMillis = MachineClock.now().steadyMillis
        let (idle, returned) = self.state.withLock { state in
            let wasHeld = state.queue.lease.isHeld(nowMillis: nowMillis)
            state.queue.took(
                committed: result.committed.compactMap(self.indexed),
                refused: result.refused.compactMap { self.indexed($0.position) })
            self.leaseEnds.store(state.queue.lease.endsMillis, ordering: .relaxed)
            state.refusal = result.refused.first { $0.error.isRefusal }?.error
            if result.isSuccess { state.commits += 1 } else { state.failures += 1 }
            let idle = state.idle
            state.idle = []
            let isBack = !wasHeld && state.queue.lease.isHeld(nowMillis: nowMillis)
            return (idle, isBack ? state.leaseReturned : [])
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
        for body in returned { body() }
        for continuation in idle { continuation.resume() }
        // What was refused goes with the next batch, not at once: the cause is seldom gone in a moment.
        if result.isSuccess { self.sendNext() }
    }
}

import KafkaLog
import Logging
import PushEngine
import PushModel
import PushTransport
import ShardLoop
import Synchronization

/// The positions of released partitions that must still be committed, and the partitions whose work is unfinished.
struct ReleasedPositions: Sendable {
    var positions: [CommitPosition]
    var unfinished: [Int32]
}

/// Gathers the shards' commits and sends one batch at a time, as `CommitQueue` decides. The lease of the partitions
/// follows from the answers, and the shards read its end here. May be used from any thread.
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
        /// Positions to commit again, by partition: see `confirm`.
        var toConfirm: [Int32: [CommitPosition]] = [:]
        /// For each partition, when the routed topic's position is next committed along with another topic's. On the
        /// steady clock.
        var witnessDueMillis: [Int32: Int64] = [:]
    }

    private let state: Mutex<State>
    /// The end of the lease on the steady clock. The shards read it without taking the lock.
    private let leaseEnds = Atomic<Int64>(.min)
    /// Interval at which the group is asked whether this worker is a member, if nothing else is committed.
    let askEveryMillis: Int64
    /// The input topics. `CommitPosition.topic` is an index of this list.
    private let inputTopics: [String]
    /// What commits say about their logs, apart from the offset.
    let metadataStore: CommitMetadataStore
    private let topicIndexes: [String: UInt16]
    private let logger: Logger

    init(inputTopics: [String], sessionTimeoutMillis: Int64, logger: Logger) {
        let lease = OwnershipLease(sessionTimeoutMillis: sessionTimeoutMillis)
        self.askEveryMillis = lease.askEveryMillis
        self.state = Mutex(State(queue: CommitQueue(lease: lease)))
        self.inputTopics = inputTopics
        self.metadataStore = CommitMetadataStore(inputTopics: inputTopics)
        self.topicIndexes = Dictionary(
            inputTopics.enumerated().map { ($0.element, UInt16($0.offset)) }, uniquingKeysWith: { first, _ in first })
        self.logger = logger
    }

    /// Sets the consumer that sends the commits. Called once, before anything is added.
    func use(_ consumer: KafkaConsumer) {
        self.use(isJoining: { consumer.isJoining }) { positions, completion in
            consumer.commit(positions, completion: completion)
        }
    }

    /// Sets how commits are sent.
    /// - Parameter isJoining: whether the consumer is joining the group again; then nothing is sent.
    func use(isJoining: @escaping @Sendable () -> Bool = { false }, send: @escaping Send) {
        self.state.withLock {
            $0.isJoining = isJoining
            $0.send = send
        }
    }

    /// The end of the lease on the steady clock. Until then the partitions are certainly this worker's.
    var leaseEndsMillis: Int64 { self.leaseEnds.load(ordering: .relaxed) }

    /// Calls `body`, on any thread, when the lease begins, and when it begins again after it had run out.
    func whenLeaseReturns(_ body: @escaping @Sendable () -> Void) {
        self.state.withLock { $0.leaseReturned.append(body) }
    }

    var counts: (commits: UInt64, failures: UInt64) { self.state.withLock { ($0.commits, $0.failures) } }

    /// The error that a person has to mend, such as a missing right; `nil` if no commit had one since the last success,
    /// or if there is no partition to commit for.
    var refusal: KafkaError? { self.state.withLock { $0.queue.ownsNothing ? nil : $0.refusal } }

    /// Takes new partitions into the queue, see `CommitQueue.own`.
    /// - Parameter toConfirm: see `StartPositions.toConfirm`.
    func own(_ partitions: [Int32], starts: [CommitPosition], toConfirm: [CommitPosition] = []) {
        self.state.withLock { state in
            state.queue.own(partitions, starts: starts)
            for partition in partitions {
                state.toConfirm[partition] = toConfirm.filter { $0.partition == partition }
            }
        }
    }

    /// Commits the positions of `toConfirm` in these partitions soon, even if nothing is read. The metadata then says
    /// that `state` has records of an owner at work (see `StateWord`).
    func confirm(_ partitions: [Int32]) {
        let positions = self.state.withLock { state in
            partitions.flatMap { state.toConfirm.removeValue(forKey: $0) ?? [] }.filter {
                state.queue.newest(of: $0) == $0.nextOffset
            }
        }
        if !positions.isEmpty { self.add(positions) }
    }

    /// Asks the group whether this worker is a member, by committing a position again. Does nothing while a commit has
    /// no answer yet.
    func ask() {
        self.state.withLock { $0.queue.ask() }
        self.sendNext()
    }

    /// Adds positions to commit soon. A newer position of a log replaces an older one.
    func add(_ positions: [CommitPosition]) {
        let nowMillis = MachineClock.now().steadyMillis
        self.state.withLock { state in
            state.queue.add(positions)
            for position in positions { self.addWitness(of: position, nowMillis, &state) }
        }
        self.sendNext()
    }

    /// Adds the routed topic's position from time to time. Its metadata says what was read from the inputs. Kafka
    /// deletes the group's commits for a deleted input topic, but the routed topic's commit remains.
    private func addWitness(of position: CommitPosition, _ nowMillis: Int64, _ state: inout State) {
        let routed = UInt16(self.inputTopics.count - 1)
        guard position.topic != routed, state.witnessDueMillis[position.partition] ?? .min <= nowMillis else { return }
        var witness = CommitPosition(topic: routed, partition: position.partition, nextOffset: 0)
        guard let next = state.queue.newest(of: witness) else { return }
        witness.nextOffset = next
        state.witnessDueMillis[position.partition] = nowMillis + Self.witnessMillis
        state.queue.add([witness])
    }

    /// Interval in milliseconds at which the routed topic's position is committed along with others. What its metadata
    /// says about the inputs is at most this old.
    private static let witnessMillis: Int64 = 60_000

    /// Removes partitions and returns their waiting positions. Nothing is sent for these partitions from now on.
    func take(_ partitions: [Int32]) -> [CommitPosition] {
        self.state.withLock { state in
            for partition in partitions {
                state.toConfirm[partition] = nil
                state.witnessDueMillis[partition] = nil
            }
            return state.queue.take(partitions)
        }
    }

    /// Waits until the batch that was sent, if any, is answered.
    func settle() async {
        await withCheckedContinuation { continuation in
            let isIdle = self.state.withLock { state in
                if !state.queue.isIdle { state.idle.append(continuation) }
                return state.queue.isIdle
            }
            if isIdle { continuation.resume() }
        }
    }

    /// The positions as Kafka names them, with metadata about their logs.
    /// - Parameter releasedWallMillis: see `CommitMetadata.releasedWallMillis`.
    func named(_ positions: [CommitPosition], releasedWallMillis: Int64? = nil) -> [TopicPartitionOffset] {
        positions.map { position in
            var metadata = self.metadataStore.metadata(for: position)
            metadata.releasedWallMillis = releasedWallMillis
            return TopicPartitionOffset(
                topic: self.inputTopics[Int(position.topic)], partition: position.partition,
                offset: position.nextOffset, metadata: metadata.text)
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
            if let refused = result.refused.first(where: { $0.error.isRefusal }) {
                state.refusal = refused.error
            } else if result.isSuccess {
                state.refusal = nil
            }
            if result.isSuccess { state.commits += 1 } else { state.failures += 1 }
            let idle = state.idle
            state.idle = []
            let isBack = !wasHeld && state.queue.lease.isHeld(nowMillis: nowMillis)
            return (idle, isBack ? state.leaseReturned : [])
        }
        if let refusal = result.refused.first {
            // A group refuses commits while it waits for its members. This is normal in a rebalance.
            self.logger.log(
                level: refusal.error.code == .rebalanceInProgress ? .debug : .warning, "a commit was refused",
                metadata: [
                    "partitions": "\(result.refused.count)", "first": "\(refusal.position)",
                    "cause": "\(refusal.error)",
                ])
        }
        for body in returned { body() }
        for continuation in idle { continuation.resume() }
        // Refused positions are sent with the next batch. If they were sent at once, Kafka would probably refuse them
        // again.
        if result.isSuccess { self.sendNext() }
    }
}

public import PushEngine

/// Decides which offsets are committed next, one batch at a time. It also decides what the group's answers mean for the
/// lease. All shards of a worker share one queue.
///
/// A partition that leaves is removed first, and the answer to the current batch is awaited. So no commit of a
/// partition is sent or unanswered after its unassignment begins (contract: One owner).
public struct CommitQueue: Sendable {
    private struct Key: Hashable {
        var topic: UInt16
        var partition: Int32

        init(_ position: CommitPosition) {
            self.topic = position.topic
            self.partition = position.partition
        }
    }

    /// The time until which the partitions certainly belong to this worker. Each commit that the group confirms extends
    /// this time.
    public private(set) var lease: OwnershipLease
    private var waiting: [Key: Int64] = [:]
    private var underWay: Set<Key> = []
    /// Logs whose last commit the group refused. Their positions wait to be committed again.
    private var refusedLast: Set<Key> = []
    /// Numbers of the partitions whose positions may be committed.
    private var owned: Set<Int32> = []
    /// The newest position of each log that may be committed. At first it is where reading began.
    private var newest: [Key: Int64] = [:]
    /// When the current batch was sent, on the steady clock.
    private var sentAtMillis: Int64 = 0

    public init(lease: OwnershipLease) { self.lease = lease }

    /// Whether no batch waits for an answer.
    public var isIdle: Bool { self.underWay.isEmpty }

    /// Whether there is no partition whose positions may be committed.
    public var ownsNothing: Bool { self.owned.isEmpty }

    /// Adds partitions whose positions may be committed from now on.
    /// - Parameter partitions: the numbers of the partitions.
    /// - Parameter starts: where reading of each log begins. `ask` may commit this position again, until a log has a
    ///   newer one.
    public mutating func own(_ partitions: [Int32], starts: [CommitPosition]) {
        self.owned.formUnion(partitions)
        for start in starts { self.newest[Key(start)] = start.nextOffset }
    }

    /// The newest position of a log that may be committed. At first it is where reading began. `nil` if the partition
    /// is not owned.
    public func newest(of position: CommitPosition) -> Int64? { self.newest[Key(position)] }

    /// Asks the group whether this worker is a member, by committing a position again. Does nothing if a commit waits
    /// or has no answer yet, because that commit asks, too. A position that the group keeps refusing proves nothing, so
    /// another position is committed with it. Otherwise one topic that the worker may not commit would end the lease of
    /// all partitions.
    public mutating func ask() {
        guard self.underWay.isEmpty, self.waiting.keys.allSatisfy(self.refusedLast.contains) else { return }
        let owned = self.newest.filter { self.owned.contains($0.key.partition) }
        guard let some = owned.first(where: { !self.refusedLast.contains($0.key) }) ?? owned.first else { return }
        self.waiting[some.key] = some.value
    }

    /// Adds positions to commit soon. A newer position of a log replaces an older one.
    public mutating func add(_ positions: [CommitPosition]) {
        for position in positions where self.owned.contains(position.partition) {
            self.waiting[Key(position)] = position.nextOffset
            self.newest[Key(position)] = position.nextOffset
        }
    }

    /// Removes partitions and returns their waiting positions. Nothing is sent for these partitions from now on.
    public mutating func take(_ partitions: [Int32]) -> [CommitPosition] {
        self.owned.subtract(partitions)
        self.newest = self.newest.filter { !partitions.contains($0.key.partition) }
        self.refusedLast = self.refusedLast.filter { !partitions.contains($0.partition) }
        let taken = self.waiting.filter { partitions.contains($0.key.partition) }
        for key in taken.keys { self.waiting[key] = nil }
        return Self.positions(taken)
    }

    /// The next batch, for the caller to send; empty if nothing may be sent now.
    /// - Parameter isJoining: whether the consumer is joining the group again. The group would refuse a commit, and the
    ///   worker would lose all partitions. A later call tries again within a second.
    /// - Parameter nowMillis: the time on the steady clock. If the group confirms the batch, the lease is counted from
    ///   this time.
    public mutating func takeBatch(nowMillis: Int64, isJoining: Bool) -> [CommitPosition] {
        guard self.underWay.isEmpty, !self.waiting.isEmpty, !isJoining else { return [] }
        let batch = Self.positions(self.waiting)
        self.underWay = Set(self.waiting.keys)
        self.waiting = [:]
        self.sentAtMillis = nowMillis
        return batch
    }

    /// Takes the answer to the current batch.
    public mutating func took(committed: [CommitPosition], refused: [CommitPosition]) {
        self.underWay = []
        // The group checks the member first, then each partition. So one accepted position proves the membership.
        if !committed.isEmpty { self.lease.confirmed(askedAtMillis: self.sentAtMillis) }
        for position in committed { self.refusedLast.remove(Key(position)) }
        for refusal in refused where self.owned.contains(refusal.partition) { self.refusedLast.insert(Key(refusal)) }
        // The position waits again, no matter why it was refused. In a rebalance, the group refuses commits of the
        // former generation, even if the partition stays here. An older position is dropped: it is from an earlier
        // ownership, or a newer one waits.
        for refusal in refused where self.owned.contains(refusal.partition) {
            guard let newest = self.newest[Key(refusal)], refusal.nextOffset >= newest else { continue }
            self.waiting[Key(refusal)] = newest
        }
    }

    private static func positions(_ offsets: [Key: Int64]) -> [CommitPosition] {
        offsets.map { CommitPosition(topic: $0.key.topic, partition: $0.key.partition, nextOffset: $0.value) }
            .sorted { ($0.partition, $0.topic) < ($1.partition, $1.topic) }
    }
}

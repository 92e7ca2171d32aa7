public import PushEngine

/// What a shard gets with a partition.
public struct PartitionGrant: Sendable {
    /// The number of the partition, from 0. It is equal in every topic.
    public var number: Int32
    /// The offset at which reading begins, by topic index.
    public var starts: [CommitPosition]
    /// The offset after the last record at assignment, by topic index.
    public var logEnds: [CommitPosition]
    /// When the former owner stopped sending, by its wall clock; `nil` if unknown.
    public var releasedWallMillis: Int64?
    /// Whether the partition was added after `state` had been written. Its records are forwarded (`InletGate`).
    public var isInlet: Bool
    /// The offset of `state` up to which Kafka acknowledged records of earlier owners, from the group's commits; `nil`
    /// if `state` may be empty.
    public var stateEnd: Int64?
    /// Whether a person has moved the group into another log. The positions in `state` do not apply to that log.
    public var isOfNewLog: Bool
    /// Why the partition cannot be consumed; `nil` if it can.
    public var haltReason: String?

    public init(
        number: Int32, starts: [CommitPosition], logEnds: [CommitPosition], releasedWallMillis: Int64? = nil,
        stateEnd: Int64? = nil, isOfNewLog: Bool = false, isInlet: Bool = false, haltReason: String? = nil
    ) {
        self.isInlet = isInlet
        self.number = number
        self.starts = starts
        self.logEnds = logEnds
        self.releasedWallMillis = releasedWallMillis
        self.stateEnd = stateEnd
        self.isOfNewLog = isOfNewLog
        self.haltReason = haltReason
    }
}

/// One partition of a shard.
struct OwnedPartition {
    let grant: PartitionGrant
    private(set) var life: PartitionLife
    /// Whether the queue of a topic may have records, by topic index.
    private(set) var isReadable: [Bool]
    /// Whether at least one of the queues may have records. In most turns, most partitions have none.
    private(set) var mayBeReadable = true
    /// The offset below which records of an inlet may be forwarded, by topic index.
    var letInUpTo: [Int64]
    /// The part of `state` that is being read during a restore.
    var section: (any StateSection)?
    /// Whether the last read of the section stopped at its limit.
    var sectionMayHaveMore = false
    var restore = RestoreProgress()
    private(set) var haltReason = ""

    var number: Int32 { self.grant.number }

    init(_ grant: PartitionGrant, topicCount: Int) {
        self.grant = grant
        self.life = grant.haltReason != nil ? .haltedUnrestored : grant.isInlet ? .inlet : .claiming
        self.letInUpTo = Array(repeating: 0, count: topicCount)
        self.haltReason = grant.haltReason ?? ""
        self.isReadable = Array(repeating: true, count: topicCount)
    }

    /// Sets whether the queue of a topic may have records, by the topic's index.
    mutating func setReadable(_ topic: Int, _ isReadable: Bool) {
        self.isReadable[topic] = isReadable
        self.mayBeReadable = isReadable || self.isReadable.contains(true)
    }

    mutating func move(to next: PartitionLife) {
        assert(self.life.followers.contains(next), "partition \(self.number): \(next) after \(self.life)")
        self.life = next
        guard next != .restoring else { return }
        self.section?.close()
        self.section = nil
    }

    /// Halts the partition, after the caller has dropped what was known of it. Nothing is written when the partition
    /// leaves.
    mutating func forsake(_ reason: String) {
        self.move(to: .haltedUnrestored)
        self.haltReason = reason
    }

    mutating func halt(_ reason: String) {
        self.move(to: self.life.hasRun ? .halted : .haltedUnrestored)
        self.haltReason = reason
    }
}

/// The progress of a restore.
struct RestoreProgress {
    var recordCount: Int64 = 0
    /// Maximum number of records to read.
    var recordCountMax: Int64 = 0
    /// When the restore began, on the steady clock.
    var beganMillis: Int64 = 0
}

/// The state of a partition, for reports.
public struct PartitionReport: Sendable, Equatable {
    /// The number of the partition, from 0.
    public var number: Int32
    /// The phase of the partition's life.
    public var life: PartitionLife
    /// Number of records of `state` read so far.
    public var restoredRecords: Int64
    /// Maximum number of records of `state` to read.
    public var restoreRecordsMax: Int64
    /// Why the partition is halted; empty otherwise.
    public var haltReason: String

    init(_ partition: OwnedPartition) {
        self.number = partition.number
        self.life = partition.life
        self.restoredRecords = partition.restore.recordCount
        self.restoreRecordsMax = partition.restore.recordCountMax
        self.haltReason = partition.haltReason
    }
}

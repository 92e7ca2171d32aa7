public import PushEngine

/// What a shard is told when it gets a partition.
public struct PartitionGrant: Sendable {
    /// The number of the partition, from 0; the same in every topic.
    public var number: Int32
    /// By topic index: where reading begins, and where the log ended at assignment.
    public var starts: [CommitPosition]
    /// By topic index: the offset after the last record at assignment.
    public var logEnds: [CommitPosition]
    /// When the former owner had stopped sending, by its wall clock; `nil`: not known.
    public var releasedWallMillis: Int64?
    /// It lies beyond the partitions that `state` was written for: its records are forwarded (`InletGate`).
    public var isInlet: Bool
    /// How far `state` was acknowledged to owners at work, as the group's commits say; `nil`: it may be empty.
    public var stateEnd: Int64?
    /// A person has moved the group into another log: positions that `state` knows mean nothing in it.
    public var isOfNewLog: Bool
    /// Why it cannot be consumed; `nil`: it can.
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
    /// By topic index: the queue has something, as far as known.
    private(set) var isReadable: [Bool]
    /// One of the queues may have something: most partitions of a turn have nothing.
    private(set) var mayBeReadable = true
    /// By topic index: of an inlet, what lies below may be forwarded.
    var letInUpTo: [Int64]
    /// The part of `state` being read; while it is restored.
    var section: (any StateSection)?
    /// The last read of the section stopped at its limit.
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

    /// Sets what is known of the queue of a topic, by its index.
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

    /// It is halted, and what was known of it is let go of: nothing is written down when it leaves.
    mutating func forsake(_ reason: String) {
        self.move(to: .haltedUnrestored)
        self.haltReason = reason
    }

    mutating func halt(_ reason: String) {
        self.move(to: self.life.hasRun ? .halted : .haltedUnrestored)
        self.haltReason = reason
    }
}

/// How far a restore is.
struct RestoreProgress {
    var recordCount: Int64 = 0
    /// How many there are at most.
    var recordCountMax: Int64 = 0
    /// Steady.
    var beganMillis: Int64 = 0
}

/// How a partition stands, for reports.
public struct PartitionReport: Sendable, Equatable {
    /// The number of the partition, from 0.
    public var number: Int32
    /// Where it stands.
    public var life: PartitionLife
    /// Records of `state` read so far, and how many there are to read at most.
    public var restoredRecords: Int64
    /// Records of `state` that there are to read at most.
    public var restoreRecordsMax: Int64
    /// Why it is halted; empty otherwise.
    public var haltReason: String

    init(_ partition: OwnedPartition) {
        self.number = partition.number
        self.life = partition.life
        self.restoredRecords = partition.restore.recordCount
        self.restoreRecordsMax = partition.restore.recordCountMax
        self.haltReason = partition.haltReason
    }
}

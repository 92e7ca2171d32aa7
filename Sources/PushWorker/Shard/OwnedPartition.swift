import KafkaLog
import PushEngine

/// What a shard is told when it gets a partition.
struct PartitionGrant: Sendable {
    var number: Int32
    /// By topic index: the inputs, then the routed topic.
    var readers: [PartitionReader]
    /// By topic index: where reading begins, and where the log ended at assignment.
    var starts: [CommitPosition]
    var logEnds: [CommitPosition]
    /// When the former owner had stopped sending, by its wall clock; `nil`: not known.
    var releasedWallMillis: Int64?
    /// Why it cannot be consumed; `nil`: it can.
    var haltReason: String?
}

/// One partition of a shard: its queues, and where it stands between assignment and leaving.
struct OwnedPartition {
    let number: Int32
    var phase: WorkerSnapshot.PartitionPhase = .claiming
    var inputs: [Input]
    var starts: [CommitPosition]
    var logEnds: [CommitPosition]
    /// The part of `state` being restored.
    var section: LogSection?
    let isSectionReadable = ReadableFlag()
    var restoredRecords: Int64 = 0
    var restoreRecordsMax: Int64 = 0
    var restoreBeganMillis: Int64 = 0
    /// It has been restored; records were taken.
    var hasRun = false
    var haltReason = ""

    /// One topic's queue of the partition.
    struct Input {
        let reader: PartitionReader
        let isReadable = ReadableFlag()
        /// The last read stopped at its limit: no wake-up comes for what waits already.
        var mayHaveMore = true

        mutating func takeReadable() -> Bool {
            let isReadable = self.isReadable.take() || self.mayHaveMore
            self.mayHaveMore = false
            return isReadable
        }
    }

    init(_ grant: PartitionGrant) {
        self.number = grant.number
        self.inputs = grant.readers.map { Input(reader: $0) }
        self.starts = grant.starts
        self.logEnds = grant.logEnds
    }

    var report: WorkerSnapshot.Partition {
        WorkerSnapshot.Partition(
            number: self.number, shard: 0, phase: self.phase, restoredRecords: self.restoredRecords,
            restoreRecordsMax: self.restoreRecordsMax, reason: self.haltReason)
    }
}

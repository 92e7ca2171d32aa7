public import PushEngine

/// A request from another thread to a shard's loop. It is a value that waits until the loop takes it, between two
/// turns.
public enum ShardCommand: Sendable {
    /// The group has assigned these partitions.
    case assign([PartitionGrant])
    /// Records of inlets below these offsets may be forwarded; see `InletGate`.
    case letIn([CommitPosition])
    /// These partitions must leave. Nothing more is taken for them, and answers are awaited within `times`. The release
    /// ends with `ShardNews.released` of the same number. `forget` follows after the last commit.
    case release(number: Int, [Int32], times: ReleaseTimes)
    /// These partitions belong to another worker. Everything about them is dropped, including work that is not
    /// committed.
    case forget([Int32])
    /// No more records are taken, because the worker stops.
    case stopReading
    /// Topics have these size limits from now on.
    case limit(RecordLimits)
}

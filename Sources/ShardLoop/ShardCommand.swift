public import PushEngine

/// What other threads ask of a shard's loop. Each is a value that waits until the loop takes it, between two turns.
public enum ShardCommand: Sendable {
    /// The group has given these partitions.
    case assign([PartitionGrant])
    /// Records of inlets below these offsets may be forwarded; see `InletGate`.
    case letIn([CommitPosition])
    /// These are to leave. Nothing more is taken for them; answers are awaited, and everything together takes so long at
    /// most. Ends with `ShardNews.released` of the same number; `forget` comes after the last commit.
    case release(number: Int, [Int32], times: ReleaseTimes)
    /// These are somebody else's: everything about them leaves memory, uncommitted work included.
    case forget([Int32])
    /// Nothing more is taken in: the worker stops.
    case stopReading
    /// Topics take so much from here on.
    case limit(RecordLimits)
}

/// A stretch of a partition's `state`, between records of this owner, that another writer wrote. That writer has lost
/// the partition without knowing it.
public struct StateGap: Sendable, Equatable {
    /// Number of the partition whose `state` has the gap, from 0.
    public var partition: Int32
    /// Offsets of the gap in `state`. They may include a record of this owner, if Kafka stored the record and its
    /// answer was lost.
    public var offsets: Range<Int64>
}

/// What was done about one record of a `StateGap`.
public enum StateRepair: Sendable, Equatable {
    /// The owner's own record of the key is written again, behind the other writer's record.
    case overwritten
    /// The owner knows nothing about the key, so a tombstone is written behind the record.
    case removed
    /// Nothing was done: no owner reads records with such a key, or the partition does not run.
    case ignored
    /// The record is a newer owner's marker, or a marker that cannot be read: the partition belongs to another worker.
    /// The loop drops the partition without a commit.
    case succeeded
}

/// A stretch of the partition's `state` between records of this owner, which did not write it. The writer has lost the
/// partition and does not know it.
public struct StateGap: Sendable, Equatable {
    /// The partition whose `state` it is, from 0.
    public var partition: Int32
    /// Offsets of `state`. They may include records of this owner, if Kafka took one and its answer was lost.
    public var offsets: Range<Int64>
}

/// What was done about one record of a `StateGap`.
public enum StateRepair: Sendable, Equatable {
    /// The owner's own record of that key is written again, behind the foreign one.
    case overwritten
    /// The owner knows no such slot, so a tombstone is written behind the record.
    case removed
    /// The record is nothing that this owner reads.
    case ignored
    /// A newer owner's marker: the partition belongs to somebody else. The loop drops it, uncommitted.
    case succeeded
}

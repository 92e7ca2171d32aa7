/// A stretch of the partition's `state` that this owner did not write, between records that it did: somebody who has lost the partition
/// and does not know it wrote there.
public struct StateGap: Sendable, Equatable {
    /// The partition whose `state` it is, from 0.
    public var partition: Int32
    /// Offsets of `state`. May hold records of this owner's own, if Kafka took one and its answer was lost.
    public var offsets: Range<Int64>
}

/// What was done about one record of a `StateGap`.
public enum StateRepair: Sendable, Equatable {
    /// The owner's own record of that key is written again, behind it.
    case overwritten
    /// The owner knows no such slot: a tombstone is written behind it.
    case removed
    /// Nothing this owner reads.
    case ignored
    /// A newer owner's marker: the partition belongs to somebody else. The loop drops it, uncommitted.
    case succeeded
}

/// A record that its producer's client put on a partition to which the record's key does not belong (contract:
/// Placement).
public struct Misplacement: Sendable, Hashable {
    /// Index of the input topic.
    public var topic: UInt16
    /// The partition of the record.
    public var partition: Int32
    /// The record's offset in that partition.
    public var offset: Int64
    /// The partition that the record's key belongs to.
    public var properPartition: Int32

    public init(topic: UInt16, partition: Int32, offset: Int64, properPartition: Int32) {
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.properPartition = properPartition
    }
}

import ChannelKeeping

/// The records of `state` about channels that are kept for audiences (fan-out, §4), by partition. This release keeps none itself: it remembers what
/// a release wrote that does, so that nothing of it is lost while workers of both own partitions, one after the other.
struct KeptRecords {
    /// As many as `state` has: nothing that it says is left out. Whoever writes them keeps to `KeeperSettings.keptMax`.
    private var channels: [PartitionIndex: [KeptChannelKey: KeptChannel]] = [:]

    subscript(key: KeptChannelKey, partition: PartitionIndex) -> KeptChannel? {
        get { self.channels[partition]?[key] }
        set { self.channels[partition, default: [:]][key] = newValue }
    }
    mutating func forget(partition: PartitionIndex) { self.channels[partition] = nil }
}

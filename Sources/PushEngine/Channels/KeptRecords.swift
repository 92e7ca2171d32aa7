import ChannelKeeping
import PushModel

/// The records of `state` about channels that are kept for audiences (fan-out, §4), by partition: what `state` says, or will once Kafka has what was
/// written. Keepers begin with them, and what others write over them is mended by them.
struct KeptRecords {
    /// As many as `state` has: nothing that it says is left out. Whoever writes them keeps to `KeeperSettings.keptMax`.
    private var channels: [PartitionIndex: [KeptChannelKey: KeptChannel]] = [:]

    subscript(key: KeptChannelKey, partition: PartitionIndex) -> KeptChannel? {
        get { self.channels[partition]?[key] }
        set { self.channels[partition, default: [:]][key] = newValue }
    }
    mutating func forget(partition: PartitionIndex) { self.channels[partition] = nil }

    func hasRecords(of partition: PartitionIndex, bundleID: String, environment: PushEnvironment) -> Bool {
        self.channels[partition]?.keys.contains { $0.bundleID == bundleID && $0.environment == environment } ?? false
    }
    /// Those of an app and environment, in ascending order of their numbers.
    func records(
        of partition: PartitionIndex, bundleID: String, environment: PushEnvironment
    ) -> [(number: Int64, channel: KeptChannel)] {
        (self.channels[partition] ?? [:]).filter { $0.key.bundleID == bundleID && $0.key.environment == environment }
            .map { ($0.key.number, $0.value) }.sorted { $0.number < $1.number }
    }
}

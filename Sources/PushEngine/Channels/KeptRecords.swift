import ChannelKeeping
import PushModel

/// Records of `state` about channels that are kept for audiences, by partition (fan-out contract: A channel kept for an
/// audience). They include records that Kafka has not acknowledged yet. A keeper begins with its records. If another
/// writer writes over a record, it is written again from here.
struct KeptRecords {
    /// All channels in `state`; none is left out. Keepers write no more than `KeeperSettings.keptMax`.
    private var channels: [PartitionIndex: [KeptChannelKey: KeptChannel]] = [:]
    /// Keys of the channels that have an id.
    private var keys: [PartitionIndex: [Name: KeptChannelKey]] = [:]

    /// A channel's id with its app and environment. An id is unique only within these.
    private struct Name: Hashable {
        var bundleID: String
        var environment: PushEnvironment
        var id: [UInt8]
    }

    subscript(key: KeptChannelKey, partition: PartitionIndex) -> KeptChannel? {
        get { self.channels[partition]?[key] }
        set {
            func name(_ id: [UInt8]) -> Name { Name(bundleID: key.bundleID, environment: key.environment, id: id) }
            // By now the id may belong to another channel.
            if let old = self.channels[partition]?[key], self.keys[partition]?[name(old.id)] == key {
                self.keys[partition]?[name(old.id)] = nil
            }
            self.channels[partition, default: [:]][key] = newValue
            guard let id = newValue?.id, !id.isEmpty else { return }
            self.keys[partition, default: [:]][name(id)] = key
        }
    }
    mutating func forget(partition: PartitionIndex) {
        self.channels[partition] = nil
        self.keys[partition] = nil
    }

    /// The keeper's channel with this id, from its creation by Apple until Apple's list no longer shows it. `nil`: the
    /// keeper has no such channel. A channel in phase `possiblyOurs` is not returned, because somebody else may use it.
    func channel(
        id: [UInt8], of partition: PartitionIndex, bundleID: String, environment: PushEnvironment
    ) -> KeptChannel? {
        guard let key = self.keys[partition]?[Name(bundleID: bundleID, environment: environment, id: id)],
            let channel = self.channels[partition]?[key], channel.phase != .possiblyOurs
        else { return nil }
        return channel
    }

    func hasRecords(of partition: PartitionIndex, bundleID: String, environment: PushEnvironment) -> Bool {
        self.channels[partition]?.keys.contains { $0.bundleID == bundleID && $0.environment == environment } ?? false
    }
    /// Channels of an app and environment, in ascending order of their numbers.
    func records(
        of partition: PartitionIndex, bundleID: String, environment: PushEnvironment
    ) -> [(number: Int64, channel: KeptChannel)] {
        (self.channels[partition] ?? [:]).filter { $0.key.bundleID == bundleID && $0.key.environment == environment }
            .map { ($0.key.number, $0.value) }.sorted { $0.number < $1.number }
    }
}

import ChannelKeeping
import PushModel

/// Restores records about kept channels after a takeover, and writes them again when another writer has written over
/// them.
extension KeeperHost {
    /// Reads the key of a kept channel's record.
    /// - Returns: the key; `nil`: the key is of another kind.
    /// - Throws: `StateError.malformed` if the key begins like a kept channel's key and the rest is invalid.
    private static func keptKey(ofState key: Span<UInt8>) throws(StateError) -> KeptChannelKey? {
        guard key.count > 2, key[0] == UInt8(ascii: "k"), key[1] == UInt8(ascii: "/") else { return nil }
        var bytes: [UInt8] = []
        bytes.append(copying: key)
        return try KeptChannelKey(bytes)
    }

    /// Restores the record of a kept channel.
    /// - Returns: the result; `nil`: the record was written by an owner that had already lost the partition.
    mutating func restoreKept(
        key: Span<UInt8>, reader: inout StateReader, partition: PartitionIndex, in core: inout ShardCore
    ) throws(StateError) -> RestoreResult? {
        guard let key = try Self.keptKey(ofState: key) else {
            throw .malformed("a kept channel under a key that names none")
        }
        let read = try KeptChannelCodec.read(&reader)
        guard core.memory.isBelieved(read.epoch, partition: partition) else { return nil }
        self.kept[key, partition] = read.channel
        return .restored
    }
    /// Takes the tombstone of a kept channel.
    /// - Returns: `false`: the key is about something else.
    mutating func restoreKeptTombstone(_ key: Span<UInt8>, partition: PartitionIndex) -> Bool {
        guard let key = try? Self.keptKey(ofState: key) else { return false }
        self.kept[key, partition] = nil
        return true
    }
    /// Repairs another writer's record about a kept channel, found in a gap.
    /// - Returns: what was done; `nil`: the key is about something else.
    mutating func repairKept(partition: PartitionIndex, key: Span<UInt8>, in core: inout ShardCore) -> StateRepair? {
        guard let key = try? Self.keptKey(ofState: key) else { return nil }
        core.memory.counters.stateRecordsForeign += 1
        let channel = self.kept[key, partition]
        let acknowledgement = core.journal.open(.logState(.none), partition: partition, in: &core.memory)
        core.journal.writeKept(
            key, channel: channel, of: partition, acknowledgement: acknowledgement, in: &core.memory)
        return channel == nil ? .removed : .overwritten
    }
}

extension Journal {
    /// Writes the record of a kept channel.
    /// - Parameter channel: `nil`: a tombstone is written.
    mutating func writeKept(
        _ key: KeptChannelKey, channel: KeptChannel?, of partition: PartitionIndex, acknowledgement: UInt64,
        in memory: inout ShardMemory
    ) {
        let keyRange = self.batch.append(key.bytes.span)
        guard let channel else {
            return self.writeTombstone(key: keyRange, of: partition, acknowledgement: acknowledgement, in: &memory)
        }
        let epoch = memory.partitions[partition].epoch
        let value = self.appendValue { KeptChannelCodec.write(channel, epoch: epoch, to: &$0) }
        memory.counters.stateRecords += 1
        self.batch.append(
            .state, partition: memory.partitions[partition].number, key: keyRange,
            value: value,
            acknowledgement: acknowledgement)
    }
}

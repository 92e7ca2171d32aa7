public import PushModel

/// Repairs `state` where others wrote to it (contract: One owner). The topic has one writer per partition, so the
/// offsets that Kafka acknowledges have no gaps. A gap holds a record of another writer.
extension ShardEngine {
    /// Ends a repair: the whole gap reported last for the partition has been given to `repair`.
    public mutating func stateGapRepaired(partition: Int32, now: EngineTime) {
        guard let partition = self.core.memory.partitions.index(of: partition) else { return }
        self.core.memory.partitions[partition].gapRepaired()
        self.beginPushing(partition, now: now)
    }

    /// Takes a record found in a gap. What this owner knows of the record's key is written again, so that a restore, or
    /// compaction, keeps this owner's record.
    ///
    /// - Parameters:
    ///   - number: the number of the partition whose `state` has the gap.
    ///   - key: the record's key.
    ///   - value: a marker's value. The value of any other record is not read.
    ///   - offset: the record's offset in `state`.
    ///   - now: when the record is read.
    public mutating func repair(
        partition number: Int32, key: Span<UInt8>, value: Span<UInt8>, offset: Int64, now: EngineTime
    ) -> StateRepair {
        guard let partition = self.core.memory.partitions.index(of: number),
            self.core.memory.partitions[partition].phase == .running
        else { return .ignored }
        let markerKey = MarkerRecord.key
        if key.holdsSameBytes(as: markerKey.span) {
            var reader = StateReader(value)
            // A marker of a later release is taken into account, too: it may be a newer owner's.
            guard let kind = try? StateCodec.readKind(&reader), kind == .marker,
                let marker = try? MarkerRecord(&reader)
            else { return .succeeded }
            // A first marker in a gap is a former owner's, and was written late: repairs continue only while the group
            // confirms this owner. A further marker with a newer epoch shows that a successor runs.
            if marker.epoch > self.core.memory.partitions[partition].epoch { return .succeeded }
            self.core.memory.counters.stateRecordsForeign += 1
            self.writeMarker(partition, saysTakeovers: true, now: now)
            return .overwritten
        }
        if let done = self.keeperHost.repairKept(partition: partition, key: key, in: &self.core) { return done }
        if let done = self.fanOut.repairAudience(partition: partition, key: key, in: &self.core, now: now) {
            return done
        }
        guard let slotKey = self.core.journal.texts.slotKey(ofState: key) else { return .ignored }
        self.core.memory.counters.stateRecordsForeign += 1
        if let slot = self.core.memory.slots.find(slotKey, partition: partition) {
            if self.core.memory.partitions[partition].mayPush {
                self.core.journal.markDirty(slot, in: &self.core.memory, now: now)
            } else {
                self.core.journal.requireStateRecord(slot, in: &self.core.memory, now: now)
            }
            return .overwritten
        }
        self.core.journal.writeTombstone(key: key, of: partition, in: &self.core.memory)
        return .removed
    }
}

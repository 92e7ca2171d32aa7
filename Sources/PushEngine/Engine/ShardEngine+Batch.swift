public import PushModel

extension ShardEngine {
    /// Number of records between two steps of prefetching. Meanwhile memory has time to deliver.
    private static var lead: Int { 4 }

    /// Takes the records of the batch one after the other, as `consume(_:key:value:traceparent:now:)` would, and
    /// empties it.
    ///
    /// Meanwhile it prefetches what later records will need. It begins with the entry of the index, and continues with
    /// the slot, with its id and its pending update, and with the update's bytes. Each iteration of the loop does one
    /// step for each of four different records. The last step is for the record that is taken soonest. The slots found
    /// here are only used for prefetching.
    public mutating func consume(_ batch: inout InputBatch, now: EngineTime) {
        guard !batch.isEmpty else { return }
        // The batch stays unchanged until all records are taken.
        let bytes = unsafe batch.bytes.span
        let count = batch.count
        var step = 0
        while step < count + 4 * Self.lead {
            if step < count { self.prefetchIndex(&batch, step, bytes) }
            let second = step &- Self.lead
            if second >= 0, second < count { self.prefetchSlot(&batch, second) }
            let third = second &- Self.lead
            if third >= 0, third < count { self.prefetchPending(of: batch[third].slot) }
            let fourth = third &- Self.lead
            if fourth >= 0, fourth < count { self.prefetchBytes(of: batch[fourth].slot) }
            let index = fourth &- Self.lead
            step &+= 1
            guard index >= 0 else { continue }
            let valueStart = Int(batch[index].start) + Int(batch[index].keyByteCount)
            let valueEnd = valueStart + Int(batch[index].valueByteCount)
            self.consume(
                batch[index].record, key: bytes.extracting(Int(batch[index].start)..<valueStart),
                hash: batch[index].hash, hint: batch[index].slot, value: bytes.extracting(valueStart..<valueEnd),
                traceparent: bytes.extracting(valueEnd..<valueEnd + Int(batch[index].traceparentByteCount)), now: now)
        }
        batch.removeAll()
        self.advanceCatchUps(now: now)
    }

    @inline(__always) private func prefetchIndex(_ batch: inout InputBatch, _ index: Int, _ bytes: Span<UInt8>) {
        let start = Int(batch[index].start)
        let hash = self.core.memory.slots.hash(
            id: bytes.extracting(start..<start + Int(batch[index].keyByteCount)))
        batch[index].hash = hash
        self.core.memory.slots.prefetchIndex(hash: hash)
    }

    @inline(__always) private func prefetchSlot(_ batch: inout InputBatch, _ index: Int) {
        let slot = self.core.memory.slots.probable(hash: batch[index].hash)
        batch[index].slot = slot
        if slot.isSome { self.core.memory.slots.prefetch(slot, byteCount: Slot.ofEachEventByteCount) }
    }

    @inline(__always) private func prefetchPending(of slot: SlotID) {
        guard slot.isSome else { return }
        self.core.memory.slots.prefetchIdentity(slot, idOnly: true)
        let pending = self.core.memory.slots[slot].pending
        if pending.isSome { self.core.memory.updates.prefetch(pending) }
    }

    @inline(__always) private func prefetchBytes(of slot: SlotID) {
        guard slot.isSome else { return }
        let pending = self.core.memory.slots[slot].pending
        if pending.isSome { self.core.memory.updates.prefetchBlob(pending) }
    }
}

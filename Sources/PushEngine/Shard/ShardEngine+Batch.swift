import PushModel

extension ShardEngine {
    /// Takes the records of the batch one after the other, as `consume(_:key:value:traceparent:now:)` would, and empties it.
    public mutating func consume(_ batch: inout InputBatch, now: EngineTime) {
        guard !batch.isEmpty else { return }
        self.fetchAhead(&batch)
        // The batch stays as it is until all are taken.
        let bytes = unsafe batch.bytes.span
        for index in 0..<batch.count {
            let valueStart = Int(batch[index].start) + Int(batch[index].keyByteCount)
            let valueEnd = valueStart + Int(batch[index].valueByteCount)
            self.consume(
                batch[index].record, key: bytes.extracting(Int(batch[index].start)..<valueStart),
                hash: batch[index].hash, hint: batch[index].slot, value: bytes.extracting(valueStart..<valueEnd),
                traceparent: bytes.extracting(valueEnd..<valueEnd + Int(batch[index].traceparentByteCount)), now: now)
        }
        batch.removeAll()
    }

    /// Reads a little of everything the records will need, step by step for all of them: reads that do not depend on each other overlap.
    /// What is read decides nothing; the sum only keeps the reads from being optimised away.
    private mutating func fetchAhead(_ batch: inout InputBatch) {
        var sum: UInt64 = 0
        let bytes = unsafe batch.bytes.span
        for index in 0..<batch.count {
            let start = Int(batch[index].start)
            let hash = self.index.hash(
                kind: SlotKind.activity.rawValue,
                id: bytes.extracting(start..<start + Int(batch[index].keyByteCount)))
            batch[index].hash = hash
            sum &+= UInt64(self.index.home(of: hash))
        }
        for index in 0..<batch.count {
            let slot = self.index.first(hash: batch[index].hash).map { self.index.slot(at: $0) } ?? Slot.none
            batch[index].slot = slot
            if slot >= 0 { sum &+= self.slots[Int(slot)].fetched }
        }
        for index in 0..<batch.count where batch[index].slot >= 0 {
            let slot = Int(batch[index].slot)
            sum &+= self.identities.firstByte(of: self.slots[slot].identity)
            let pending = self.slots[slot].pending
            if pending >= 0 { sum &+= self.updates[pending].fetched }
        }
        for index in 0..<batch.count where batch[index].slot >= 0 {
            let pending = self.slots[Int(batch[index].slot)].pending
            if pending >= 0 { sum &+= self.updates[pending].top.fetchedBlob }
        }
        self.fetchedSum &+= sum
    }
}

import PushModel

/// Decides what is written to Kafka, in which order, and which offsets become resolved by that (contract: Order of
/// acknowledgement).
///
/// There are two rules. First, an outcome or a dead letter is acknowledged before the next state record of its slot is
/// written. If the record need not wait, the slot's open ledger entry waits for the acknowledgement. Second, the state
/// record that covers an entry's events settles the entry. `Consequence` says what an acknowledgement means for other
/// parts of the engine.
///
/// Only the journal writes the fields of slots that these rules need (its row in the table of `Slot`).
struct Journal: ~Copyable {
    /// Records to be produced, in order. The loop empties the batch.
    var batch = RecordBatch()
    var ledger = OffsetLedger()
    var acknowledgements = AcknowledgementStore()
    /// Slots whose state record will be written at `stateFlushAtMillis`.
    var dirtySlots: [SlotID] = []
    /// When dirty slots are written (steady clock); `nil`: none is due.
    var stateFlushAtMillis: Int64?
    /// Slots whose tombstone has been written. The engine takes them out of this list, and removes them from memory.
    var forgottenSlots: [SlotID] = []
    /// Hashes of the input topics' names, by topic index. A written position names its topic by the hash.
    let topicHashes: [UInt32]
    private(set) var texts: RecordTexts
    /// Scratch space, reused from record to record.
    var scratchBytes: [UInt8] = []
    private let addressOnly = AddressOnly()

    init(_ configuration: borrowing EngineConfiguration) {
        self.topicHashes = configuration.inputTopics.map { StateCodec.topicHash($0) }
        self.texts = RecordTexts(configuration)
    }

    /// Follows a changed configuration, because records about new apps may have to be written from now on.
    mutating func follow(_ configuration: borrowing EngineConfiguration) { self.texts = RecordTexts(configuration) }

    /// Adds the value of a record to the batch, and returns its range.
    @inline(__always) mutating func appendValue(_ write: (inout ByteCursor) -> Void) -> Range<Int> {
        let start = self.batch.bytes.count
        self.batch.bytes.append(using: &self.scratchBytes, write)
        return start..<self.batch.bytes.count
    }

    /// Whether the partition has nothing left to write, and Kafka has everything that was written.
    func isSettled(_ partition: PartitionIndex, in memory: borrowing ShardMemory) -> Bool {
        guard memory.partitions[partition].unacknowledged == 0 else { return false }
        return !self.dirtySlots.contains { memory.slots[$0].isLive && memory.slots[$0].partition == partition }
    }
}

import PushModel

@testable import PushEngine

/// Runs the journal alone. The test takes events and ends them by hand, and says what Kafka acknowledges.
final class JournalBench: PartBench {
    var journal: Journal
    private var intake: Intake
    /// Stays empty, because no activity takes units of its budget.
    private let budgets = BudgetStore()
    private(set) var nextOffset: Int64 = 0

    init(partitionCount: Int32 = 1, _ configure: (inout EngineConfiguration) -> Void = { _ in }) {
        let configuration = Self.configuration(partitionCount: partitionCount, configure)
        self.journal = Journal(configuration)
        self.intake = Intake(configuration)
        super.init(configuration)
        for partition in self.memory.partitions.identifiers {
            let logs = (0..<2 as Range<UInt16>).map {
                self.journal.ledger.openLog(topic: $0, partition: Int32(partition.index), startOffset: 0)
            }
            self.memory.partitions[partition].restored(logs: logs, replayEnds: [0, 0], isOfNewLog: false)
        }
    }

    /// Begins the next record of a log, as the engine does. Returns its offset.
    @discardableResult
    func begin(partition: PartitionIndex = 0, topic: UInt16 = 0) -> Int64 {
        let offset = self.nextOffset
        self.nextOffset += 1
        let log = self.memory.partitions[partition].logs[Int(topic)]
        self.journal.ledger.consumed(log: log, offset: offset)
        let record = InputRecord(
            topic: topic, partition: Int32(partition.index), offset: offset, timestampMillis: self.now.wallMillis,
            hasKey: true, hasValue: true, origin: nil)
        self.intake.begin(
            record, partition: partition, log: log, traceparent: [UInt8]().span, now: self.now)
        return offset
    }

    /// Takes an event of the slot and returns its offset. The slot holds that offset open from here on.
    @discardableResult
    func take(_ slot: SlotID, topic: UInt16 = 0) -> Int64 {
        let offset = self.begin(partition: self[slot].partition, topic: topic)
        self.journal.openEntry(
            for: self.intake, slot: slot, budgets: self.budgets, in: &self.memory, now: self.now)
        return offset
    }

    /// Gives a waiting event of the slot its outcome.
    func finish(_ slot: SlotID, offset: Int64, _ outcome: Outcome = .expired, isWritten: Bool = false) {
        self.memory.counters.pending += 1
        var layer = Layer()
        layer.source = SourcePosition(topic: 0, partition: 0, offset: offset)
        layer.isWritten = isWritten
        self.journal.finish(
            Coalescer.Ending(layer, slot: slot, outcome: outcome, cause: .none), in: &self.memory)
    }

    /// Gives the begun record its outcome at once, so that it does not wait in a slot.
    func finishAtOnce(_ slot: SlotID?, _ outcome: Outcome) {
        self.journal.finishEvent(
            self.intake, slot: slot, outcome: outcome, details: OutcomeDetails(),
            key: [0x61].span, in: &self.memory)
    }

    /// Dead-letters the begun record.
    func refuse() {
        self.journal.deadLetter(
            self.intake, key: [0x61].span, value: [0x7b].span,
            refusal: EventRejection(field: "value", reason: "is no JSON"), in: &self.memory)
    }

    /// Forwards the begun record. It goes to another partition.
    func forward() {
        self.journal.forward(self.intake, to: 3, key: [0x61].span, value: [0x7b].span, in: &self.memory)
    }

    func markDirty(_ slot: SlotID) { self.journal.markDirty(slot, in: &self.memory, now: self.now) }
    func requireStateRecord(_ slot: SlotID) {
        self.journal.requireStateRecord(slot, in: &self.memory, now: self.now)
    }
    func flush() { self.journal.flushStates(budgets: self.budgets, in: &self.memory, now: self.now) }
    func writeState(_ slot: SlotID) {
        self.journal.writeState(slot, budgets: self.budgets, in: &self.memory, now: self.now)
    }
    func writeMarker(_ partition: PartitionIndex = 0) { self.journal.writeMarker(partition, in: &self.memory) }

    /// Takes the records written since the last call.
    func takeWritten() -> [EngineRecord] {
        defer { self.journal.batch.removeAll() }
        return self.journal.batch.records
    }

    /// What an acknowledgement means for other parts of the engine.
    enum Follows: Equatable { case nothing, marker(PartitionIndex), push(SlotID) }

    @discardableResult
    func acknowledge(_ record: EngineRecord, at offset: Int64 = 0) -> Follows {
        switch self.journal.acknowledged(record.acknowledgement, offset: offset, in: &self.memory, now: self.now) {
        case .none: .nothing
        case .marker(let partition, _): .marker(partition)
        case .pushMayFollow(let slot): .push(slot)
        case .versionAcknowledged(let slot, _): .push(slot)
        case .crowd, .keeper: .nothing
        }
    }

    /// The offset that may be committed.
    func watermark(partition: PartitionIndex = 0, topic: Int = 0) -> Int64 {
        self.journal.ledger.watermark(log: self.memory.partitions[partition].logs[topic])
    }

    /// Milliseconds until the next state records are due; `nil` if none is.
    var flushAfterMillis: Int64? { self.journal.stateFlushAtMillis.map { $0 - self.now.steadyMillis } }
    var openCount: Int { self.journal.acknowledgements.openCount }
    var forgottenSlots: [SlotID] { self.journal.forgottenSlots }
    var isUrgent: Bool { self.journal.batch.isUrgent }
    func isSettled(_ partition: PartitionIndex) -> Bool { self.journal.isSettled(partition, in: self.memory) }
    func isBehind(_ partition: PartitionIndex) -> Bool { self.journal.isBehind(partition, in: self.memory) }
    func isAwaited(_ record: EngineRecord) -> Bool {
        self.journal.isAwaited(record.acknowledgement, in: self.memory)
    }
}

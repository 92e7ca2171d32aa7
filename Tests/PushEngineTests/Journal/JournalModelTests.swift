import PushModel
import Testing

@testable import PushEngine

/// Compares the journal with a model. Events arrive, end and are written down, and Kafka acknowledges in any order.
@Suite struct JournalModelTests {
    /// A model of the events and of the state records that cover them. It knows which outcomes must come before a state
    /// record.
    private struct Model {
        /// Events by offset: their slot, and whether Kafka has a state record that was made after they were taken.
        var events: [Int64: (slot: SlotID, isCovered: Bool)] = [:]
        /// Unacknowledged records: their slot, and the offsets that a state record covers.
        var underWay: [(record: EngineRecord, slot: SlotID, covers: [Int64])] = []

        /// Adds the records that were just made to the model.
        mutating func written(_ bench: JournalBench) {
            for record in bench.takeWritten() {
                let slot = bench.journal.acknowledgements.slot(of: record.acknowledgement)
                var covers: [Int64] = []
                if record.topic == .state {
                    let isEarly = self.underWay.contains { $0.slot == slot && $0.record.topic == .outcomes }
                    #expect(!isEarly, "an outcome of the slot is on its way")
                    covers = self.events.filter { $0.value.slot == slot }.map(\.key)
                }
                self.underWay.append((record, slot, covers))
            }
        }

        mutating func acknowledge(_ index: Int, _ bench: JournalBench) {
            let (record, _, covers) = self.underWay.remove(at: index)
            for offset in covers { self.events[offset]?.isCovered = true }
            bench.acknowledge(record)
        }
    }

    /// Each committed offset is covered by a state record in Kafka. No state record of a slot is made while an outcome
    /// of that slot is unacknowledged. When Kafka has everything, everything is committed.
    @Test(arguments: 1...60 as ClosedRange<UInt64>)
    func nothingIsCommittedBeforeKafkaHasIt(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let bench = JournalBench()
        let slots = (0..<4).map { bench.makeSlot("a\($0)") }
        var model = Model()
        var open: [(slot: SlotID, offset: Int64)] = []
        for _ in 0..<600 {
            let slot = slots[Int.random(in: 0..<slots.count, using: &random)]
            switch Int.random(in: 0..<7, using: &random) {
            case 0, 1:
                let offset = bench.take(slot)
                model.events[offset] = (slot, false)
                open.append((slot, offset))
            case 2, 3:
                guard !open.isEmpty else { break }
                let event = open.remove(at: Int.random(in: 0..<open.count, using: &random))
                bench.finish(event.slot, offset: event.offset, .delivered)
                bench.markDirty(event.slot)
            case 4: bench.markDirty(slot)
            case 5: bench.flush()
            default:
                guard !model.underWay.isEmpty else { break }
                model.acknowledge(Int.random(in: 0..<model.underWay.count, using: &random), bench)
            }
            model.written(bench)
            let uncovered = model.events.filter { !$0.value.isCovered }.keys.min() ?? bench.nextOffset
            #expect(bench.watermark() <= uncovered)
        }
        for _ in 0..<3 {
            for slot in slots { bench.markDirty(slot) }
            bench.flush()
            model.written(bench)
            while !model.underWay.isEmpty { model.acknowledge(0, bench) }
        }
        #expect(bench.watermark() == bench.nextOffset && bench.openCount == 0 && bench.isSettled(0))
    }
}

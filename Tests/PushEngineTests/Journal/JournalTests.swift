import PushModel
import Testing

@testable import PushEngine

/// Tests the journal alone: what is written in which order, and which offset may be committed after which
/// acknowledgement.
@Suite struct JournalTests {
    private static let flushMillis = EngineSettings().stateFlushMillis

    // MARK: An outcome, then the state record

    /// A state record that says that an event is done is written after Kafka has the event's outcome. The event's
    /// offset waits for both records.
    @Test func theStateRecordWaitsForTheOutcome() {
        let bench = JournalBench()
        let slot = bench.makeSlot("a")
        let offset = bench.take(slot)
        bench.finish(slot, offset: offset)
        bench.markDirty(slot)
        #expect(bench.flushAfterMillis == nil, "there is nothing to be written yet")
        bench.flush()
        let outcomes = bench.takeWritten()
        #expect(outcomes.map(\.topic) == [.outcomes] && bench.watermark() == offset)
        #expect(bench.acknowledge(outcomes[0]) == .nothing)
        #expect(bench.flushAfterMillis == 0, "it was to be written long ago")
        bench.flush()
        let states = bench.takeWritten()
        #expect(states.map(\.topic) == [.state] && bench.watermark() == offset)
        for state in states { bench.acknowledge(state) }
        #expect(bench.watermark() == offset + 1 && bench.openCount == 0)
    }

    /// A state record is scheduled. If an outcome is written before the record is due, the record waits until the
    /// outcome is acknowledged.
    @Test func whatIsDueWaitsForAnOutcomeThatComesMeanwhile() {
        let bench = JournalBench()
        let slot = bench.makeSlot("a")
        let offset = bench.take(slot)
        bench.markDirty(slot)
        #expect(bench.flushAfterMillis == Self.flushMillis)
        bench.finish(slot, offset: offset)
        bench.flush()
        #expect(bench.takeWritten().map(\.topic) == [.outcomes])
        #expect(bench[slot].isDirty && bench.flushAfterMillis == nil)
    }

    /// The state record waits for the last of several outcomes.
    @Test func theLastOutcomeCounts() {
        let bench = JournalBench()
        let slot = bench.makeSlot("a")
        let offsets = (0..<3).map { _ in bench.take(slot) }
        for offset in offsets { bench.finish(slot, offset: offset) }
        bench.markDirty(slot)
        let outcomes = bench.takeWritten()
        for outcome in [outcomes[2], outcomes[0]] {
            bench.acknowledge(outcome)
            #expect(bench.flushAfterMillis == nil)
            bench.flush()
            #expect(bench.takeWritten().isEmpty)
        }
        bench.acknowledge(outcomes[1])
        bench.flush()
        #expect(bench.takeWritten().count == 1)
    }

    /// The state record does not wait for an outcome that is not published.
    @Test func whatIsNotPublishedIsNotWaitedFor() {
        let bench = JournalBench { $0.settings.outcomePublication = .failures }
        let slot = bench.makeSlot("a")
        let offset = bench.take(slot)
        bench.finish(slot, offset: offset, .delivered)
        bench.markDirty(slot)
        bench.flush()
        let written = bench.takeWritten()
        #expect(written.map(\.topic) == [.state] && bench.counters.count(.delivered) == 1)
        bench.acknowledge(written[0])
        #expect(bench.watermark() == offset + 1)
    }

    /// Events of an activity keep coming, and are superseded. The activity's state record waits for a limited number of
    /// their outcomes. Beyond that number the offset waits for the outcome instead.
    @Test func aStateRecordDoesNotWaitForEver() {
        let bench = JournalBench()
        let slot = bench.makeSlot("a")
        let offset = bench.take(slot)
        bench.markDirty(slot)
        let waited = Int(Journal.stateWaitExtensionsMax)
        for _ in 0..<waited { bench.finish(slot, offset: offset, .superseded) }
        let extending = bench.takeWritten()
        #expect(Int(bench[slot].unguardedRecords) == waited)
        bench.finish(slot, offset: offset, .superseded)
        let last = bench.takeWritten()[0]
        #expect(Int(bench[slot].unguardedRecords) == waited, "this one is not waited for")
        for outcome in extending { bench.acknowledge(outcome) }
        bench.flush()
        let states = bench.takeWritten()
        #expect(states.map(\.topic) == [.state])
        for state in states { bench.acknowledge(state) }
        #expect(bench.watermark() == offset, "the outcome that was not waited for is not in Kafka")
        bench.acknowledge(last)
        #expect(bench.watermark() == offset + 1)
    }

    /// No ledger entry guards an event that is already in `state`. So the next state record waits for that event's
    /// outcome, even beyond `stateWaitExtensionsMax`.
    @Test func whatStandsInStateIsWaitedFor() {
        let bench = JournalBench()
        let slot = bench.makeSlot("a")
        let offset = bench.take(slot)
        bench.markDirty(slot)
        for _ in 0..<Journal.stateWaitExtensionsMax { bench.finish(slot, offset: offset, .superseded) }
        bench.finish(slot, offset: offset, .superseded, isWritten: true)
        #expect(bench[slot].unguardedRecords == UInt32(Journal.stateWaitExtensionsMax) + 1)
    }

    // MARK: Entries

    /// A slot holds the offset of an event open until Kafka acknowledges a state record that was made after the event.
    @Test func whatComesAfterARecordIsNotCoveredByIt() {
        let bench = JournalBench()
        let slot = bench.makeSlot("a")
        bench.take(slot)
        bench.take(slot)
        bench.writeState(slot)
        let later = bench.take(slot)
        let first = bench.takeWritten()[0]
        bench.acknowledge(first)
        #expect(bench.watermark() == later)
        bench.writeState(slot)
        bench.acknowledge(bench.takeWritten()[0])
        #expect(bench.watermark() == bench.nextOffset)
    }

    /// Events come from two input topics. Before the slot holds an offset of the second topic, a state record is
    /// written that covers the event of the first topic.
    @Test func anotherTopicTakesThePlaceOfTheEntry() {
        let bench = JournalBench {
            $0.inputTopics = ["events", "more", "routed"]; $0.routedTopicIndex = 2
        }
        let slot = bench.makeSlot("a")
        let first = bench.take(slot)
        #expect(bench.takeWritten().isEmpty)
        bench.take(slot, topic: 1)
        let written = bench.takeWritten()
        #expect(written.map(\.topic) == [.state] && bench.watermark() == first)
        for record in written { bench.acknowledge(record) }
        #expect(bench.watermark() == first + 1 && bench.watermark(topic: 1) == first + 1)
    }

    /// An event of the routed topic has an entry of its own. One state record covers it and the slot's other entry.
    @Test func theRoutedTopicHasItsOwnEntry() {
        let bench = JournalBench()
        let slot = bench.makeSlot("a")
        let direct = bench.take(slot)
        let routed = bench.take(slot, topic: 1)
        #expect(bench.takeWritten().isEmpty)
        #expect(bench.watermark() == direct && bench.watermark(topic: 1) == routed)
        bench.writeState(slot)
        bench.acknowledge(bench.takeWritten()[0])
        #expect(bench.watermark() == direct + 1 && bench.watermark(topic: 1) == routed + 1)
    }

    /// A record that is finished at once, refused or forwarded holds its own offset open. The offset waits for no state
    /// record.
    @Test func aRecordWithoutASlotHoldsItsOwnOffset() {
        let bench = JournalBench()
        for (finish, topics) in [
            ({ bench.finishAtOnce(nil, .applied) }, [.outcomes]), ({ bench.refuse() }, [.deadLetters, .outcomes]),
            ({ bench.forward() }, [.routed]),
        ] as [(() -> Void, [EngineRecord.Topic])] {
            let offset = bench.begin()
            finish()
            let written = bench.takeWritten()
            #expect(written.map(\.topic) == topics)
            for record in written.reversed() {
                #expect(bench.watermark() == offset)
                bench.acknowledge(record)
            }
            #expect(bench.watermark() == offset + 1)
        }
    }

    /// An event of a slot is finished at once. Its ledger entry still waits for both its outcome and a state record.
    @Test(arguments: [false, true])
    func anEventThatIsFinishedAtOnceNeedsBoth(stateComesLast: Bool) {
        let bench = JournalBench()
        let slot = bench.makeSlot("a")
        let offset = bench.take(slot)
        bench.finishAtOnce(slot, .duplicate)
        bench.writeState(slot)
        let written = bench.takeWritten()
        #expect(written.map(\.topic) == [.outcomes, .state])
        bench.acknowledge(written[stateComesLast ? 0 : 1])
        #expect(bench.watermark() == offset)
        bench.acknowledge(written[stateComesLast ? 1 : 0])
        #expect(bench.watermark() == offset + 1)
    }
}

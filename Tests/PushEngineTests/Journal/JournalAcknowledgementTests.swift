import PushModel
import Testing

@testable import PushEngine

/// Tests the journal alone: what an acknowledgement leads to, and which acknowledgements change nothing.
@Suite struct JournalAcknowledgementTests {
    // MARK: What a push waits for

    /// The next push waits for a state record that is made after `requireStateRecord`. The acknowledgement of an older
    /// record does not let the push leave.
    @Test func anOlderRecordLetsNoPushLeave() {
        let bench = JournalBench()
        let slot = bench.makeSlot("a")
        bench.writeState(slot)
        bench.requireStateRecord(slot)
        let older = bench.takeWritten()[0]
        #expect(bench.acknowledge(older) == .nothing && bench[slot].awaitsStateRecord)
        bench.flush()
        let newer = bench.takeWritten()[0]
        #expect(bench.acknowledge(newer) == .push(slot) && !bench[slot].awaitsStateRecord)
        bench.writeState(slot)
        #expect(bench.acknowledge(bench.takeWritten()[0]) == .nothing, "nothing waits for it")
    }

    /// Two records are made after `requireStateRecord`. The acknowledgement of the second lets the push leave, even if
    /// it comes first.
    @Test func aNewerRecordLetsThePushLeave() {
        let bench = JournalBench()
        let slot = bench.makeSlot("a")
        bench.requireStateRecord(slot)
        bench.flush()
        bench.writeState(slot)
        let written = bench.takeWritten()
        #expect(bench.acknowledge(written[1]) == .push(slot))
        #expect(bench.acknowledge(written[0]) == .nothing)
    }

    /// A slot that is marked twice is written once. All marked slots are due `stateFlushMillis` after the first mark.
    @Test func recordsGatherUntilTheFirstIsDue() {
        let bench = JournalBench()
        let flushMillis = bench.configuration.settings.stateFlushMillis
        let slots = [bench.makeSlot("a"), bench.makeSlot("b")]
        bench.markDirty(slots[0])
        bench.advance(20)
        bench.markDirty(slots[1])
        bench.markDirty(slots[0])
        #expect(bench.flushAfterMillis == flushMillis - 20)
        bench.flush()
        #expect(bench.takeWritten().count == 2 && bench.flushAfterMillis == nil)
        bench.flush()
        #expect(bench.takeWritten().isEmpty && !bench[slots[0]].isDirty)
        bench.markDirty(slots[0])
        bench.journal.flushNow(now: bench.now)
        #expect(bench.flushAfterMillis == 0)
    }

    // MARK: Acknowledgements that mean nothing

    @Test func anAcknowledgementThatComesTwiceCountsOnce() {
        let bench = JournalBench()
        bench.writeState(bench.makeSlot("a"))
        let record = bench.takeWritten()[0]
        bench.acknowledge(record)
        #expect(bench.acknowledge(record) == .nothing)
        #expect(bench.counters.unacknowledged == 0 && bench.memory.partitions[0].unacknowledged == 0)
    }

    /// A slot leaves memory, and a new slot gets its number. Acknowledgements of the first slot's records change
    /// nothing for the new slot.
    @Test func theNextUserOfAPlaceIsNotMeant() {
        let bench = JournalBench()
        let first = bench.makeSlot("a")
        let offset = bench.take(first)
        bench.finish(first, offset: offset)
        bench.writeState(first)
        let written = bench.takeWritten()
        bench.memory.removeSlot(first)
        let second = bench.makeSlot("b")
        #expect(second == first)
        bench.requireStateRecord(second)
        bench.finish(second, offset: bench.take(second))
        #expect(written.map { bench.acknowledge($0) } == [.nothing, .nothing])
        #expect(bench[second].unguardedRecords == 1 && bench[second].awaitsStateRecord)
        #expect(bench.watermark() == offset + 1, "the offset does not depend on that")
    }

    /// A partition leaves before its records are acknowledged. The acknowledgements change nothing, even if the
    /// partition has come back with the same index.
    @Test(arguments: [false, true])
    func aPartitionThatHasLeftIsNotMeant(comesBack: Bool) {
        let bench = JournalBench()
        let slot = bench.makeSlot("a")
        bench.writeMarker()
        bench.requireStateRecord(slot)
        bench.flush()
        let written = bench.takeWritten()
        #expect(written.map { bench.isAwaited($0) } == [true, true])
        bench.memory.partitions.remove(0)
        if comesBack {
            _ = bench.memory.partitions.add(number: 0)
            for _ in 0..<5 { bench.memory.partitions[0].recordLeft() }
        }
        #expect(written.map { bench.isAwaited($0) } == [false, false])
        #expect(written.map { bench.acknowledge($0) } == [.nothing, .nothing])
        #expect(bench.memory.partitions[0].unacknowledged == (comesBack ? 5 : 2))
        #expect(bench.counters.unacknowledged == 0 && bench.openCount == 0 && bench.counters.stateGaps == 0)
    }

    // MARK: Records of `state`

    /// A gap between the offsets of markers and state records shows that somebody else wrote to `state`. Outcomes are
    /// in another topic, so their offsets do not count.
    @Test func whatOthersWroteIsNoticed() {
        let bench = JournalBench()
        let slot = bench.makeSlot("a")
        bench.writeMarker()
        bench.finish(slot, offset: bench.take(slot))
        bench.writeState(slot)
        bench.writeMarker()
        let written = bench.takeWritten()
        #expect(written.map(\.topic) == [.state, .outcomes, .state, .state])
        #expect(bench.acknowledge(written[0], at: 10) == .marker(0))
        bench.acknowledge(written[1], at: 900)
        bench.acknowledge(written[2], at: 11)
        #expect(bench.counters.stateGaps == 0)
        #expect(bench.acknowledge(written[3], at: 14) == .marker(0))
        #expect(bench.counters.stateGaps == 1 && bench.memory.partitions[0].gaps == [12..<14])
    }

    /// A slot whose life is over is forgotten by a tombstone with the owner's epoch. While the slot has something to
    /// send, an ordinary record is written instead.
    @Test func aTombstoneIsWrittenForWhatIsOver() {
        let bench = JournalBench()
        let slot = bench.makeSlot("a")
        bench.memory.partitions[0].begin(epoch: 42)
        bench.memory.beginLeaving(slot)
        bench[slot].pending = bench.memory.updates.make(slot: slot)
        bench.writeState(slot)
        bench[slot].pending = .none
        bench.writeState(slot)
        bench.memory.stay(slot)
        bench.writeState(slot)
        #expect(bench.journal.batch.records.map(\.isTombstone) == [false, true, false])
        let headers = bench.journal.batch.records.map { $0.headers.count }
        #expect(headers == [0, 1, 0] && bench.forgottenSlots == [slot])
        let value = bench.journal.batch.headers[0].value
        #expect(String(decoding: bench.journal.batch.bytes[value], as: UTF8.self) == "42")
    }

    /// Markers, forwarded events and the announcement of a start are urgent, because somebody waits for them. Other
    /// records are not.
    @Test func whatIsWaitedForIsUrgent() {
        func isUrgent(_ write: (JournalBench, SlotID) -> Void) -> Bool {
            let bench = JournalBench()
            write(bench, bench.makeSlot("a"))
            #expect(bench.journal.batch.records.count == 1)
            return bench.isUrgent
        }
        #expect(isUrgent { bench, _ in bench.writeMarker() })
        #expect(
            isUrgent { bench, _ in
                bench.begin()
                bench.forward()
            })
        #expect(
            isUrgent { bench, slot in
                bench[slot].pending = bench.memory.updates.make(slot: slot)
                bench[bench[slot].pending].isAnnounced = true
                bench.writeState(slot)
            })
        #expect(!isUrgent { bench, slot in bench.writeState(slot) })
        #expect(!isUrgent { bench, slot in bench.finish(slot, offset: bench.take(slot)) })
    }

    /// Events in a state record are marked as written. No ledger entry guards them from then on.
    @Test func whatIsWrittenIsNoted() {
        let bench = JournalBench()
        let slot = bench.makeSlot("a")
        let ids = (0..<3).map { _ in bench.memory.updates.make(slot: slot) }
        bench[ids[1]].under = [Layer()]
        bench[slot].inFlight = ids[0]
        bench[slot].pending = ids[1]
        bench[slot].behind = ids[2]
        bench.writeState(slot)
        #expect(ids.map { bench[$0].top.isWritten } == [true, true, true] && bench[ids[1]].under[0].isWritten)
        #expect(bench[slot].stateVersion == 1 && bench[slot].lastStateWriteMillis == bench.now.steadyMillis)
    }

    // MARK: A partition as a whole

    @Test func aPartitionIsSettledWhenKafkaHasEverything() {
        let bench = JournalBench(partitionCount: 2)
        let slot = bench.makeSlot("a", partition: 1)
        #expect(bench.isSettled(1))
        bench.markDirty(slot)
        #expect(!bench.isSettled(1) && bench.isSettled(0))
        bench.flush()
        #expect(!bench.isSettled(1) && bench.isSettled(0))
        bench.acknowledge(bench.takeWritten()[0])
        #expect(bench.isSettled(1))
        bench.markDirty(slot)
        bench.memory.removeSlot(slot)
        #expect(bench.isSettled(1), "what was to be written has left memory")
    }

    /// A partition is behind until each of its logs has been read as far as the former owner may have read it.
    @Test(arguments: [0, 1])
    func aPartitionIsBehindUntilTheReplayIsRead(topic: UInt16) {
        let bench = JournalBench()
        #expect(!bench.isBehind(0))
        let ends: [Int64] = topic == 0 ? [2, 0] : [0, 2]
        bench.memory.partitions[0].restored(
            logs: bench.memory.partitions[0].logs, replayEnds: ends, isOfNewLog: false)
        bench.begin(topic: topic)
        #expect(bench.isBehind(0))
        bench.begin(topic: topic)
        #expect(!bench.isBehind(0))
    }
}

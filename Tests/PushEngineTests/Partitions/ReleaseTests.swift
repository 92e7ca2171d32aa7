import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Tests how a partition is released: take nothing more, await answers, write the rest down, commit, forget
/// (contract: One owner).
@Suite struct ReleaseTests {
    private static func alive() -> EngineHarness {
        let h = EngineHarness()
        h.register()
        h.advance(1_000)
        return h
    }

    @Test func pendingEventsAreWrittenDownAndCommitted() {
        let h = Self.alive()
        let offset = h.update(1, priority: 10, alert: "!")
        h.acknowledgesAtOnce = false
        h.engine.beginRelease(partition: 0, now: h.now)
        #expect(h.take() == nil, "nothing more is sent")
        #expect(h.isQuiet)
        h.engine.finishRelease(partition: 0, now: h.now)
        h.step()
        #expect(!h.isReleased)
        #expect(h.committed[0] == offset)
        h.acknowledgeAll()
        h.acknowledgesAtOnce = true
        #expect(h.isReleased)
        #expect(h.isCommitted())
        h.engine.forget(partition: 0)
        h.step()
        #expect(h.counters.handedOver == 1)
        #expect(h.counters.pending == 0)
        #expect(h.counters.slots == 0)
        h.crash()
        h.advance(2_000)
        #expect(h.deliver()?.alert == "!")
    }

    /// The release marker is the partition's last record. Kafka has all others before it is written.
    @Test func theReleaseMarkerComesLast() throws {
        let h = Self.alive()
        h.update(1, priority: 10)
        h.acknowledgesAtOnce = false
        func markers() -> Int { h.written.count { $0.headers[RecordHeader.released.text] != nil } }
        h.engine.beginRelease(partition: 0, now: h.now)
        h.engine.finishRelease(partition: 0, now: h.now)
        h.step()
        #expect(!h.isReleased && markers() == 0 && !h.outstanding.isEmpty)
        h.acknowledgeAll()
        #expect(!h.isReleased && markers() == 1, "it is not acknowledged")
        h.acknowledgeAll()
        #expect(h.isReleased && markers() == 1)
        let last = try #require(h.stateLog.last)
        #expect(last.key == [UInt8(ascii: "m")])
        #expect(last.headers[RecordHeader.released.text] == "\(h.now.wallMillis)")
    }

    @Test func aRecordOfALeavingPartitionIsNotTaken() {
        let h = Self.alive()
        h.engine.beginRelease(partition: 0, now: h.now)
        let consumed = h.counters.consumed
        let offset = h.update(1)
        #expect(h.counters.consumed == consumed)
        #expect(h.committed[0] == offset)
    }

    @Test func answersStillCount() {
        let h = Self.alive()
        let offset = h.update(1, priority: 10)
        let push = h.take()!
        h.engine.beginRelease(partition: 0, now: h.now)
        #expect(!h.isQuiet)
        h.answer(push, .accepted)
        #expect(h.isQuiet)
        h.engine.finishRelease(partition: 0, now: h.now)
        h.step()
        #expect(h.isReleased)
        #expect(h.isCommitted())
        #expect(h.outcomes(of: offset) == ["delivered"])
        h.engine.forget(partition: 0)
        #expect(h.counters.handedOver == 0)
    }

    /// The release's deadline comes before APNs' answer. The push is written down as one with an unknown answer.
    @Test func anUnansweredPushIsHandedOver() {
        let h = Self.alive()
        let offset = h.update(1, at: 0, priority: 10)
        let push = h.take()!
        h.update(2, at: 0)
        h.engine.beginRelease(partition: 0, now: h.now)
        h.engine.finishRelease(partition: 0, now: h.now)
        h.step()
        #expect(h.isReleased)
        h.engine.forget(partition: 0)
        h.step()
        #expect(h.counters.inFlight == 0)
        #expect(h.counters.handedOver == 2)
        h.answer(push, .accepted)  // too late: nobody waits for it
        #expect(h.counters.pushesAccepted == 0)
        h.crash()
        h.advance(5_000)
        let next = h.deliver()
        #expect(next?.n == 2)
        #expect(next!.stamp > push.stamp)
        #expect(h.outcomes(of: offset) == ["superseded"])
    }

    @Test func anAnswerAfterTheLastStepIsStillWrittenDown() {
        let h = Self.alive()
        let offset = h.update(1, priority: 10)
        let push = h.take()!
        h.engine.beginRelease(partition: 0, now: h.now)
        h.engine.finishRelease(partition: 0, now: h.now)
        h.step()
        h.answer(push, .accepted)
        h.advance(200)
        #expect(h.isReleased)
        #expect(h.outcomes(of: offset) == ["delivered"])
        h.engine.forget(partition: 0)
        h.crash()
        #expect(h.counters.restored == 0)
    }

    @Test func aLostPartitionIsForgottenUncommitted() {
        let h = Self.alive()
        let offset = h.update(1, priority: 10)
        _ = h.take()
        h.update(2)
        h.engine.forget(partition: 0)
        h.step()
        #expect(h.counters.handedOver == 2)
        #expect(h.counters.inFlight == 0)
        #expect(h.counters.slotsPending == 0)
        #expect(h.committed[0] == offset)
        #expect(!h.hasReady())
    }

    /// Records of an earlier assignment are acknowledged after the partition was assigned again. They settle nothing of
    /// the new assignment.
    @Test func acknowledgementsOfAnEarlierStayChangeNothing() {
        let h = Self.alive()
        h.acknowledgesAtOnce = false
        h.update(1, priority: 10)
        h.deliver()
        h.advance(100)
        let late = h.outstanding
        #expect(!late.isEmpty)
        h.engine.forget(partition: 0)
        h.assignAgain()
        let offset = h.update(2, priority: 10)
        for record in late { h.engine.acknowledged(record.acknowledgement, offset: 99, now: h.now) }
        h.step()
        #expect(h.committed[0] == offset)
        // Only the marker that is written after the restore is still outstanding.
        #expect(h.outstanding.map(\.keyText) == ["m"])
        #expect(h.counters.unacknowledged == 1)
    }

    // MARK: Leaving before it ever ran

    /// A partition is released when half of its `state` has been read. Its owner writes nothing, because what it knows
    /// may be older than the records that it has not read.
    @Test func aPartitionReleasedWhileRestoringWritesNothing() {
        let h = Self.alive()
        h.update(1, priority: 10)
        h.advance(2_000)
        h.update(2, priority: 10)
        h.advance(2_000)
        let records = h.stateLog
        var engine = RestoredEngine.make()
        let now = h.now
        engine.partitionAssigned(0, now: now)
        engine.acknowledged(engine.batch.records[0].acknowledgement, offset: Int64(records.count), now: now)
        engine.batch.removeAll()
        let half = records.last { $0.key.count > 1 && !$0.isNull }!
        let result = engine.restore(
            partition: 0, key: half.key.span, value: half.value.span, isTombstone: false, offset: 1, now: now)
        #expect(result == .restored)
        engine.beginRelease(partition: 0, now: now)
        engine.finishRelease(partition: 0, now: now)
        engine.advance(now: EngineTime(steadyMillis: now.steadyMillis + 5_000, wallMillis: now.wallMillis + 5_000))
        let isEmpty = engine.batch.isEmpty
        var told: [PartitionAction] = []
        engine.takeActions(into: &told, now: now)
        #expect(isEmpty && engine.batch.isEmpty, "it writes no release marker either")
        #expect(told == [.takeLastCommit(partition: 0)])
        engine.forget(partition: 0)
        let counters = engine.counters
        #expect(counters.isConserved)
        #expect(counters.restored == 1 && counters.handedOver == 1)
    }

    @Test func aPartitionReleasedBeforeItsMarkerIsAcknowledged() {
        var engine = RestoredEngine.make()
        let now = EngineTime(steadyMillis: 0, wallMillis: 1_700_000_000_000)
        engine.partitionAssigned(3, now: now)
        let marker = engine.batch.records[0]
        #expect(marker.topic == .state && marker.partition == 3)
        engine.beginRelease(partition: 3, now: now)
        engine.finishRelease(partition: 3, now: now)
        var told: [PartitionAction] = []
        engine.takeActions(into: &told, now: now)
        #expect(told == [])
        engine.acknowledged(marker.acknowledgement, offset: 12, now: now)
        engine.takeActions(into: &told, now: now)
        #expect(told == [.takeLastCommit(partition: 3)])
        engine.forget(partition: 3)
        engine.partitionAssigned(3, now: now)
    }

    /// The runner is told once when the partition is ready for the next step of its release.
    @Test func stepsAreToldOnce() {
        let h = Self.alive()
        h.update(1, priority: 10)
        let push = h.take()
        h.engine.beginRelease(partition: 0, now: h.now)
        var told: [PartitionAction] = []
        h.engine.takeActions(into: &told, now: h.now)
        #expect(told == [], "a push is in flight")
        if let push { h.answer(push, .accepted) }
        h.engine.takeActions(into: &told, now: h.now)
        h.engine.takeActions(into: &told, now: h.now)
        #expect(told == [.finishRelease(partition: 0)])
        h.acknowledgesAtOnce = false
        h.engine.finishRelease(partition: 0, now: h.now)
        h.step()
        h.engine.takeActions(into: &told, now: h.now)
        #expect(told.count == 1, "Kafka has not acknowledged what is left")
        h.acknowledgeAll()
        h.engine.takeActions(into: &told, now: h.now)
        h.step()
        #expect(told.count == 1, "the release marker is not acknowledged")
        h.acknowledgeAll()
        h.engine.takeActions(into: &told, now: h.now)
        h.engine.takeActions(into: &told, now: h.now)
        #expect(told == [.finishRelease(partition: 0), .takeLastCommit(partition: 0)])
    }

    /// Kafka may store a marker without reporting its offset, for example when a batch is sent twice. The owner then
    /// writes another marker, because it does not know how far to read.
    @Test func aMarkerWithoutAnOffsetIsWrittenAgain() {
        var engine = RestoredEngine.make()
        let now = EngineTime(steadyMillis: 0, wallMillis: 1_700_000_000_000)
        engine.partitionAssigned(3, now: now)
        let first = engine.batch.records[0].acknowledgement
        engine.batch.removeAll()
        engine.acknowledged(first, offset: -1_001, now: now)
        var told: [PartitionAction] = []
        engine.takeActions(into: &told, now: now)
        #expect(told == [])
        let again = engine.batch.records.map(\.acknowledgement)
        #expect(again.count == 1)
        engine.acknowledged(again[0], offset: 7, now: now)
        engine.takeActions(into: &told, now: now)
        #expect(told == [.restore(partition: 3, markerOffset: 7)])
    }

    /// An answer arrives after everything was written down. The partition is settled again when Kafka has acknowledged
    /// the records that follow.
    @Test func aLateAnswerUnsettlesWhatWasSettled() throws {
        let h = Self.alive()
        h.update(1, priority: 10)
        let push = try #require(h.take())
        h.engine.beginRelease(partition: 0, now: h.now)
        h.engine.finishRelease(partition: 0, now: h.now)
        h.step()
        h.acknowledgeAll()
        #expect(h.isReleased)
        #expect(h.isSettled)
        h.acknowledgesAtOnce = false
        h.answer(push, .accepted)
        h.step()
        #expect(!h.isSettled)
        for _ in 0..<4 {
            h.acknowledgeAll()
            h.advance(1_000)
        }
        #expect(h.isSettled)
    }

    /// A runner that has forgotten a partition must not be asked to do something about it.
    @Test func nothingIsToldOfAForgottenPartition() {
        var engine = RestoredEngine.make()
        let now = EngineTime(steadyMillis: 0, wallMillis: 1_700_000_000_000)
        engine.partitionAssigned(3, now: now)
        let marker = engine.batch.records[0]
        engine.forget(partition: 3)
        engine.beginRelease(partition: 3, now: now)
        engine.acknowledged(marker.acknowledgement, offset: 12, now: now)
        var told: [PartitionAction] = []
        engine.takeActions(into: &told, now: now)
        #expect(told == [])
    }
}

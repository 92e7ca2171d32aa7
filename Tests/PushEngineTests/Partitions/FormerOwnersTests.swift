import PushModel
import Testing

@testable import PushEngine

/// Tests what a restore learns of former owners, from the markers and records that it reads.
@Suite struct FormerOwnersTests {
    private final class Bench: PartBench {
        /// Offset of this owner's first marker.
        static let ownEpoch: Int64 = 100

        init(partitionCount: Int32 = 2) {
            super.init(Self.configuration(partitionCount: partitionCount))
            for partition in self.memory.partitions.identifiers {
                self.memory.partitions[partition].assigned(
                    wallMillis: self.now.wallMillis, formerOwnerQuietSinceMillis: 0)
                self.memory.partitions[partition].begin(epoch: Self.ownEpoch)
            }
        }

        /// Reads a marker. An `epoch` of -1 stands for an owner's first marker.
        @discardableResult
        func readMarker(
            at offset: Int64, epoch: Int64 = -1, takenOverMillis: Int64 = 1_000, partitionCount: Int32 = 2,
            cluster: String = "ours", voidBefore: Int64 = -1, header: StateHeader? = nil
        ) -> RestoreResult {
            self.memory.takeMarker(
                MarkerRecord(
                    epoch: epoch, takenOverWallMillis: takenOverMillis, partitionCount: partitionCount,
                    clusterID: Array(cluster.utf8), voidBefore: voidBefore),
                header: header, partition: 0, offset: offset, clusterID: Array("ours".utf8))
        }

        /// A slot whose record has just been read. `owners` is the number of owners that have run since it was written.
        func restored(_ id: String, owners: UInt8 = 0, partition: PartitionIndex = 0) -> SlotID {
            let slot = self.makeSlot(id, partition: partition)
            self[slot].ownersSinceRecord = owners
            return slot
        }

        func couldHaveUnrecordedPush(_ slot: SlotID) -> Bool { self.memory.couldHaveUnrecordedPush(slot) }
        func couldBeSent(_ slot: SlotID) -> Bool { self.memory.couldBeSent(slot) }
        func settleVoid(isOfNewLog: Bool) {
            self.memory.partitions[0].restored(logs: [], replayEnds: [], isOfNewLog: isOfNewLog)
        }
        var partition: PartitionState { self.memory.partitions[0] }
        var former: FormerOwners { self.partition.former }
    }

    @Test func withoutAnOwnerBeforeNothingCanHaveBeenSent() {
        let bench = Bench()
        let slot = bench.makeSlot("a")
        #expect(!bench.couldHaveUnrecordedPush(slot))
        bench.readMarker(at: Bench.ownEpoch)
        #expect(!bench.couldHaveUnrecordedPush(slot), "the own marker is nobody else's")
        bench.readMarker(at: 10)
        #expect(bench.couldHaveUnrecordedPush(slot))
        #expect(!bench.couldHaveUnrecordedPush(bench.makeSlot("b", partition: 1)), "another partition")
    }

    /// After a release in good order nothing can have been sent without a record. An owner that came later may have sent
    /// something, and so may owners of a `state` that has lost records.
    @Test(arguments: ["record", "first marker", "later marker", "acceptance"])
    func aReleaseIsDoubtedAfterAnotherOwner(shownBy: String) {
        let bench = Bench()
        bench.readMarker(at: 10)
        bench.readMarker(at: 11, epoch: 10)
        let slot = bench.restored("a")
        #expect(bench.couldHaveUnrecordedPush(slot))
        bench.readMarker(at: 12, epoch: 10, header: .released)
        let new = bench.makeSlot("new")
        #expect(!bench.couldHaveUnrecordedPush(slot) && !bench.couldHaveUnrecordedPush(new))
        bench.readMarker(at: Bench.ownEpoch)
        #expect(!bench.couldHaveUnrecordedPush(slot), "the own marker is nobody else's")
        switch shownBy {
        case "record": bench.memory.takeEpoch(20, partition: 0)
        case "first marker": bench.readMarker(at: 20)
        case "later marker": bench.readMarker(at: 21, epoch: 20)
        default: bench.memory.noteAcceptance(at: 20, partitionCount: 2)
        }
        #expect(bench.couldHaveUnrecordedPush(slot) && bench.couldHaveUnrecordedPush(new))
    }

    /// An owner's release marker is stored behind records of its successor. The marker says nothing about the
    /// successor, which may have pushed without a record.
    @Test func aDelayedReleaseSaysNothingAboutTheSuccessor() {
        for shownByRecord in [false, true] {
            let bench = Bench()
            bench.readMarker(at: 10)
            bench.readMarker(at: 11, epoch: 10)
            bench.readMarker(at: 12)
            if shownByRecord { bench.memory.takeEpoch(12, partition: 0) }
            bench.readMarker(at: 14, epoch: 10, header: .released)
            #expect(bench.couldHaveUnrecordedPush(bench.restored("a")))
        }
    }

    /// A start is announced in `state` before it leaves. A start without an announcement has not left.
    @Test func aStartThatWasNotAnnouncedHasNotLeft() {
        let bench = Bench()
        bench.readMarker(at: 10)
        let slot = bench.restored("a")
        #expect(bench.couldBeSent(slot))
        bench[slot].life = .starting
        #expect(!bench.couldBeSent(slot) && bench.couldHaveUnrecordedPush(slot))
    }

    /// Each former owner whose records are read counts once, and only for slots that were read before.
    @Test func ownersSinceARecordAreCounted() {
        let bench = Bench()
        let slot = bench.restored("a")
        let elsewhere = bench.restored("b", partition: 1)
        for epoch in [5, 5, 9, 7, 9] as [Int64] { bench.memory.takeEpoch(epoch, partition: 0) }
        let later = bench.restored("c")
        #expect(bench[slot].ownersSinceRecord == 2 && bench.former.newestEpochRead == 9)
        #expect(bench[later].ownersSinceRecord == 0 && bench[elsewhere].ownersSinceRecord == 0)
        for epoch in 10..<200 as Range<Int64> { bench.memory.takeEpoch(epoch, partition: 0) }
        #expect(bench[slot].ownersSinceRecord == FormerOwners.countMax, "it does not wrap around")
        #expect(bench.former.wallMillis.count == Int(FormerOwners.countMax))
        #expect(bench[bench.makeSlot("new")].ownersSinceRecord == FormerOwners.countMax)
    }

    /// An owner's first marker has the time of its takeover. If compaction has removed the first marker, a later marker
    /// of the owner has that time.
    @Test func whenAnOwnerTookOverIsReadFromItsMarkers() {
        let bench = Bench()
        bench.readMarker(at: 10, takenOverMillis: 111)
        bench.memory.takeEpoch(10, partition: 0)
        #expect(bench.former.wallMillis == [111])
        bench.memory.takeEpoch(20, partition: 0)
        #expect(bench.former.wallMillis == [111, 0], "its first marker is gone")
        bench.readMarker(at: 24, epoch: 10, takenOverMillis: 444)
        #expect(bench.former.wallMillis == [111, 0], "one of an older owner, come late")
        bench.readMarker(at: 25, epoch: 20, takenOverMillis: 222)
        bench.readMarker(at: 26, epoch: 20, takenOverMillis: 333)
        #expect(bench.former.wallMillis == [111, 222])
    }

    @Test func takeoversAreCountedUpToALimit() {
        let bench = Bench()
        for offset in 0..<3 as Range<Int64> { bench.readMarker(at: offset) }
        bench.readMarker(at: 4, epoch: 2)
        #expect(bench.former.takeoversRead == 3 && bench.former.newestTakeoverRead == 2)
        bench.readMarker(at: Bench.ownEpoch)
        #expect(bench.former.takeoversRead == 4 && bench.former.newestTakeoverRead == 2)
        for _ in 0..<700 { bench.readMarker(at: 5) }
        #expect(bench.former.takeoversRead == FormerOwners.takeoversMax)
        #expect(bench.former.takeovers.count == Int(FormerOwners.countMax))
    }

    /// A new owner's stamps begin behind those of every former owner. An owner whose clock was too far ahead counts
    /// only up to a limit.
    @Test(
        arguments: [
            (-60_000, -59_000), (10_000, 11_000), (300_000, 301_000), (9_000_000, 301_000),
        ] as [(Int64, Int64)])
    func stampsBeginBehindEveryOwner(aheadMillis: Int64, baseAheadMillis: Int64) {
        let bench = Bench()
        bench.readMarker(at: 10, takenOverMillis: bench.now.wallMillis + aheadMillis)
        #expect(bench.former.stampBaseMillis == bench.now.wallMillis + baseAheadMillis)
        bench.readMarker(at: 11, takenOverMillis: 0)
        #expect(bench.former.stampBaseMillis == bench.now.wallMillis + baseAheadMillis, "the latest counts")
        bench.readMarker(at: Bench.ownEpoch, takenOverMillis: bench.now.wallMillis + 200_000_000)
        #expect(bench.former.stampBaseMillis == bench.now.wallMillis + baseAheadMillis, "the own does not")
    }

    /// Owners crash one after the other, each after an unrecorded push. Some owners gave up events that may have left.
    /// Clocks do not move, and the recorded stamp or the event's time is ahead of them. Each owner's stamp is still
    /// newer than the stamp of the owner before.
    @Test(arguments: [0, 1, 5], [0, 1_000] as [Int64])
    func eachOwnerStepsOnceHoweverMuchItGivesUp(givenUp: Int, aheadSeconds: Int64) {
        var stamps: [Int64] = []
        for owner in 0..<20 as Range<Int64> {
            let bench = Bench()
            for offset in 0...owner { bench.readMarker(at: offset) }
            let slot = bench.restored("a")
            let seconds = bench.now.wallMillis / 1_000
            bench[slot].lastStampSeconds = seconds + 2_000 - aheadSeconds
            // Only every second owner gives events up.
            for _ in 0..<(owner % 2 == 0 ? givenUp : 0) {
                bench.memory.passUnrecordedStamp(slot, floorSeconds: seconds + 1_500)
            }
            let update = bench.memory.updates.make(slot: slot)
            bench[update].containsReplay = true
            bench[update].top.stampFloorSeconds = seconds + 1_000 + aheadSeconds
            bench.memory.giveStampForAttempt(update, of: slot)
            let stamp = bench[update].stampSeconds
            // APNs did not process the push, so the next attempt may have its stamp.
            bench.memory.takeStampBack(update)
            bench.memory.giveStampForAttempt(update, of: slot)
            #expect(bench[update].stampSeconds == stamp)
            stamps.append(stamp ?? 0)
        }
        #expect(stamps == stamps.sorted() && Set(stamps).count == stamps.count, "\(stamps)")
    }

    /// A restore notices `state` of another cluster, whose offsets mean nothing in this cluster. The restore also
    /// notices another number of partitions, which moves activities to other partitions.
    @Test func stateOfAnotherLogIsNoticed() {
        let bench = Bench()
        let theirs = VoidCause.cluster("theirs")
        #expect(bench.readMarker(at: 1, cluster: "theirs") == .ignored)
        #expect(bench.partition.voids.cause == theirs)
        bench.readMarker(at: 2, cluster: "ours")
        #expect(bench.partition.voids.cause == theirs, "a first marker forgets nothing")
        bench.readMarker(at: Bench.ownEpoch, cluster: "ours")
        #expect(bench.partition.voids.cause == theirs, "the own marker is no former owner's")
        bench.readMarker(at: 3, epoch: 0, cluster: "ours")
        #expect(bench.partition.voids.cause == theirs, "an owner from before does not know of it")
        bench.readMarker(at: 3, epoch: 2, cluster: "")
        #expect(bench.partition.voids.cause == theirs, "one without a name knows nothing")
        bench.readMarker(at: 3, epoch: 2, cluster: "ours", voidBefore: 2)
        #expect(bench.partition.voids.cause == nil && bench.partition.voids.before == 2, "one that has run says it")
        guard case .refused(let text) = bench.readMarker(at: 4, partitionCount: 3) else {
            Issue.record("state of 3 partitions is taken for that of 2")
            return
        }
        #expect(text.contains("3 partitions") && text.contains("have 2"))
    }

    /// `state` came from another cluster. Positions are void below this cluster's first marker after that cluster's
    /// markers, even if no marker says so.
    @Test func whatFollowsTheFirstClaimIsNotVoid() {
        let bench = Bench()
        bench.readMarker(at: 10)
        bench.readMarker(at: 20, cluster: "theirs")
        bench.readMarker(at: 30, cluster: "")
        bench.readMarker(at: 40)
        bench.readMarker(at: 50)
        bench.readMarker(at: Bench.ownEpoch)
        bench.settleVoid(isOfNewLog: false)
        #expect(bench.partition.voids.before == 40)
    }

    /// An owner's marker says which positions are void, and its successors' markers repeat it. If more positions become
    /// void, the new bound counts.
    @Test func whatIsVoidIsHandedOn() {
        let bench = Bench()
        bench.readMarker(at: 20, epoch: 10, voidBefore: 10)
        bench.settleVoid(isOfNewLog: false)
        #expect(bench.partition.voids.cause == nil && bench.partition.voids.before == 10)
        bench.readMarker(at: 30, epoch: 25)
        #expect(bench.partition.voids.before == 10, "one of a release that does not say it")
        bench.settleVoid(isOfNewLog: true)
        #expect(bench.partition.voids.cause == .newLog && bench.partition.voids.before == Bench.ownEpoch)
    }

    /// A person accepts a loss, which voids the positions before it. This lasts until a later owner's marker says which
    /// positions are void. Other records of that owner do not end it, because the owner may have died before it wrote
    /// the marker.
    @Test func anAcceptedLossVoidsUntilAnOwnerSaysSo() {
        let bench = Bench()
        bench.readMarker(at: 10, epoch: 5)
        bench.memory.noteAcceptance(at: 20, partitionCount: 2)
        #expect(bench.partition.voids.cause == .accepted && bench.partition.acceptedStateEnd == 900)
        bench.memory.takeEpoch(30, partition: 0)
        bench.readMarker(at: 40, epoch: 5)
        #expect(bench.partition.voids.cause == .accepted)
        bench.readMarker(at: 41, epoch: 30, voidBefore: 30)
        #expect(bench.partition.voids.cause == nil && bench.partition.voids.before == 30)
    }

    /// The earliest due time of all partitions is the next deadline. It is computed again on each walk through all
    /// partitions.
    @Test func theEarliestOfAllIsDue() {
        var ownership = Ownership()
        #expect(ownership.nextDeadlineMillis == .max && !ownership.isCatchingUp)
        for due in [70, 50, 90] as [Int64] { ownership.scheduleMarker(due) }
        #expect(ownership.nextDeadlineMillis == 50 && ownership.nextMarkerMillis == 50)
        for ends in [60, 40, 80] as [Int64] { ownership.scheduleCatchUpEnd(ends) }
        #expect(ownership.nextDeadlineMillis == 40 && ownership.isCatchingUp)
        ownership.beginCatchUpRound()
        #expect(ownership.nextDeadlineMillis == 50 && !ownership.isCatchingUp)
        ownership.beginMarkerRound()
        #expect(ownership.nextDeadlineMillis == .max)
    }
}

extension ShardMemory {
    /// A person accepts that `state` is lost. Its acknowledged records ended before offset 900.
    fileprivate mutating func noteAcceptance(at offset: Int64, partitionCount: Int32) {
        let marker = MarkerRecord(
            epoch: -1, takenOverWallMillis: 1, partitionCount: partitionCount, clusterID: Array("ours".utf8))
        _ = self.takeMarker(
            marker, header: .acceptedEnd(900), partition: 0, offset: offset, clusterID: Array("ours".utf8))
    }
}

import APNSProtocol
@testable import PushEngine
import PushModel
import Testing

/// A phone that comes from another audience may have used its pushes of priority 10 there. For an hour the phone gets
/// none in the new audience.
@Suite struct MovedMemberTests {
    private static let hourMillis: Int64 = 3_600_000

    @Test(arguments: [false, true])
    func theMarkIsForgottenAfterAnHour(isRestored: Bool) {
        let h = AudienceTests.harness()
        h.join(1, of: "match")
        h.audienceUpdate(1, of: "match")
        #expect(h.deliverAll().map(\.priority) == [10])
        h.join(1, of: "other")
        h.audienceUpdate(2, of: "other")
        h.advance(2_000)
        #expect(h.deliverAll().map(\.priority) == [5])
        h.advance(Self.hourMillis - 12_000)
        h.audienceUpdate(3, of: "other")
        #expect(h.deliverAll().map(\.priority) == [5])
        if isRestored {
            h.crash()
            h.carryBus()
            h.advance(3_000)
            h.deliverAll()
        }
        h.advance(12_000)
        h.audienceUpdate(4, of: "other")
        h.advance(1_000)
        #expect(h.deliverAll().last?.priority == 10)
    }

    @Test func whoLeavesAndJoinsElsewhereIsMarked() {
        let h = AudienceTests.harness()
        h.join(1, of: "match")
        h.audienceUpdate(1, of: "match")
        h.deliverAll()
        h.leave(1)
        h.advance(60_000)
        h.join(1, of: "other")
        h.join(2, of: "other")
        h.audienceUpdate(2, of: "other")
        let pushes = h.deliverAll()
        #expect(pushes.first { $0.token == EngineHarness.memberToken(1) }?.priority == 5)
        #expect(pushes.first { $0.token == EngineHarness.memberToken(2) }?.priority == 10, "nobody else is")
        h.advance(Self.hourMillis + 2_000)
        h.audienceUpdate(3, of: "other")
        #expect(h.deliverAll().map(\.priority) == [10, 10])
    }

    /// The next owner of the partition also knows which members have left, and for how long that counts.
    @Test(arguments: [(Int64(60_000), 5), (Self.hourMillis + 2_000, 10)])
    func whoHasLeftIsMarkedByTheNextOwnerToo(laterMillis: Int64, priority: Int) {
        let h = AudienceTests.harness()
        h.join(1, of: "match")
        h.join(3, of: "match")
        h.audienceUpdate(1, of: "match")
        h.deliverAll()
        h.leave(1)
        h.advance(1_000)
        h.compactState()
        h.crash()
        h.advance(laterMillis)
        h.join(1, of: "other")
        h.join(2, of: "other")
        h.audienceUpdate(2, of: "other")
        h.advance(1_000)
        let pushes = h.deliverAll()
        #expect(pushes.first { $0.token == EngineHarness.memberToken(1) }?.priority == priority)
        #expect(pushes.first { $0.token == EngineHarness.memberToken(2) }?.priority == 10, "nobody else is")
    }

    /// The record about a member that has left is removed from `state` after an hour. Any owner of the partition does
    /// that, unless the member is back.
    @Test(arguments: [false, true], [false, true]) func whatIsRememberedLeavesState(isRestored: Bool, isBack: Bool) {
        let h = AudienceTests.harness()
        h.join(1)
        h.join(3)
        h.audienceUpdate(1)
        h.deliverAll()
        h.leave(1)
        func newest() -> WrittenRecord? {
            h.stateLog.last { $0.key.first == MemberRecord.keyMark && $0.key.last == 1 }
        }
        #expect(newest()?.isNull == false)
        if isBack { h.join(1) }
        if isRestored { h.crash() }
        h.advance(Self.hourMillis + 2_000)
        #expect(newest()?.isNull == !isBack)
        #expect(h.counters.membersHeld == (isBack ? 2 : 1))
    }

    @Test func whoLeavesAndComesBackIsNot() {
        let h = AudienceTests.harness()
        h.join(1)
        h.audienceUpdate(1)
        h.deliverAll()
        h.leave(1)
        h.advance(2_000)
        h.join(1)
        h.deliverAll()
        h.advance(2_000)
        h.audienceUpdate(2)
        #expect(h.deliverAll().map(\.priority) == [10])
    }

    /// A member moves to a second audience, leaves it, and joins it again. The member still counts as moved.
    @Test func whoWasMovedIsMovedWhereverItGoes() {
        let h = AudienceTests.harness()
        h.join(1, of: "first")
        h.audienceUpdate(1, of: "first")
        h.deliverAll()
        h.join(1, of: "second")
        h.leave(1)
        h.join(1, of: "second")
        h.audienceUpdate(2, of: "second")
        h.advance(2_000)
        #expect(h.deliverAll().map(\.priority) == [5])
    }

    /// A member leaves an audience that sent nothing at priority 10. The member may get priority 10 in the next
    /// audience at once.
    @Test func whoLeavesAQuietAudienceIsNot() {
        let h = AudienceTests.harness()
        h.join(1, of: "match")
        h.audienceUpdate(1, of: "match", priority: 5)
        h.advance(2_000)
        h.deliverAll()
        h.leave(1)
        h.advance(2_000)
        h.join(1, of: "other")
        h.audienceUpdate(2, of: "other")
        #expect(h.deliverAll().map(\.priority) == [10])
    }

    /// The members of an ended audience leave when the retention is over. By default that is after an hour, so they may
    /// get priority 10 in another audience. After a shorter retention they count as moved and get priority 5.
    @Test(arguments: [(Int64(600_000), 5), (Self.hourMillis, 10)])
    func whoseAudienceIsOverHasAnHourToo(retentionMillis: Int64, priority: Int) {
        let h = AudienceTests.harness { $0.apps[0].retentionAfterEndMillis = retentionMillis }
        h.join(1, of: "match")
        h.audienceUpdate(1, of: "match")
        h.deliverAll()
        h.advance(1_000)
        h.audienceEnd(2, of: "match")
        h.advance(1_000)
        h.deliverAll()
        for _ in 0..<200 where h.counters.membersHeld > 0 {
            h.advance(60_000)
            h.carryBus()
        }
        h.join(1, of: "other")
        h.audienceUpdate(3, of: "other")
        #expect(h.deliverAll().map(\.priority) == [priority])
    }

    /// A restore reads more former members than there is room for, and forgets some. If a forgotten member had pushes
    /// of priority 10, every member that joins within that member's hour counts as moved.
    @Test(arguments: [false, true]) func whoHasNoRoomInARestoreIsNotForgottenSilently(hadTens: Bool) {
        var leavers = RecentLeavers()
        func key(_ position: Int) -> FanOut.DepartedKey {
            FanOut.DepartedKey(partition: PartitionIndex(0), position: UInt64(position))
        }
        for position in 0...RecentLeavers.countMax {
            leavers.restore(
                RecentLeavers.Trace(token: [1], reference: 1, hadTens: hadTens, untilMillis: 1_000), of: key(position))
        }
        leavers.settle(PartitionIndex(0))
        #expect(leavers.comesFromAnother(key(RecentLeavers.countMax), to: 2, nowMillis: 999) == hadTens)
        #expect(!leavers.comesFromAnother(key(RecentLeavers.countMax), to: 2, nowMillis: 1_000))
    }
}

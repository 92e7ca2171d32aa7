import PushModel
import Testing

@testable import PushEngine

/// Tests members that are served apart from the round: retries and late joins.
@Suite struct MembersApartTests {
    static let distanceMillis: Int64 = 1_000

    /// A ring whose round is halfway: some members are ahead of it.
    private final class Scene {
        var table = MemberTable(seed: 1)
        var course = PassCourse(versionCount: 0)
        var apart = MembersApart()
        /// Members in the order of their positions.
        var members: [MemberID] = []

        init() {
            let ring = self.table.makeRing(of: .update)
            for number in 0..<40 as Range<UInt8> {
                let token = Array(repeating: number, count: 32)
                self.members.append(self.table.insert(token.span, in: ring, joinedSeconds: 0))
            }
            self.members = self.table.members(of: ring).map(\.member)
            self.course.restore(
                position: Int64(self.table.position(of: self.members[20])), untils: [PassCourse.circle],
                aloneUntil: nil,
                alertUntil: PassCourse.circle, highUntil: PassCourse.circle, frequentHighUntil: 0, horizon: 0)
        }
        /// A member that the round still comes to.
        var ahead: MemberID { self.members[25] }
        /// A member that the round has passed.
        var behind: MemberID { self.members[5] }

        func retry(nowMillis: Int64, alertGoesAlone: Bool = false) -> (MemberServing?, ServingEffects) {
            var effects = ServingEffects()
            let serving = self.apart.nextRetry(
                hasAlert: true, alertGoesAlone: alertGoesAlone, nowMillis: nowMillis, self.course, in: self.table,
                effects: &effects)
            return (serving, effects)
        }
        @discardableResult func fail(_ member: MemberID, _ failure: MemberFailure) -> Bool {
            self.apart.failed(member, failure, self.course, in: self.table)
        }
        func late(nowMillis: Int64) -> MemberServing? {
            self.apart.nextLate(
                distanceMillis: MembersApartTests.distanceMillis, nowMillis: nowMillis, self.course, in: &self.table)
        }
        func join(_ member: MemberID, notBeforeMillis: Int64 = .min, hasVersions: Bool = true) -> UInt32? {
            self.apart.joined(
                member, isAhead: self.course.isAhead(self.table.position(of: member)),
                notBeforeMillis: notBeforeMillis, distanceMillis: MembersApartTests.distanceMillis, nowMillis: 0,
                hasVersions: hasVersions, self.course, in: &self.table)
        }
    }

    /// Very many members move into a ring that serves them, while its round goes. The round skips as many as a record
    /// may list, and reaches the others again.
    @Test func noMoreAreSkippedThanARecordMayList() {
        let scene = Scene()
        let ring = scene.table.makeRing(of: .update)
        let members = (0..<5_000 as Range<UInt32>).map { number in
            let token = (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) } + Array(repeating: 9, count: 28)
            return scene.table.insert(token.span, in: ring, joinedSeconds: 0)
        }
        for member in members {
            scene.apart.joinedServed(
                member, isAhead: true, notBeforeMillis: .min, distanceMillis: Self.distanceMillis, nowMillis: 0,
                scene.course, in: scene.table)
        }
        #expect(scene.apart.skipped == Set(members.prefix(MembersApart.skippedMax)))
        // A member that joins late waits, because it would have to be skipped, too.
        _ = scene.join(scene.ahead)
        #expect(scene.late(nowMillis: 0) == nil)
        scene.apart.forgetSkip(members[0])
        #expect(scene.late(nowMillis: 0)?.member == scene.ahead)
        #expect(scene.apart.skipped.count == MembersApart.skippedMax)
    }

    // MARK: Failed pushes
    /// A member whose push failed is owed a retry if the round does not come to it. So is a member whose push had the
    /// newest alert alone. Another failure does not count the member twice.
    @Test(arguments: [false, true], [false, true])
    func whatFailedIsOwedWhereNoRoundComes(isAhead: Bool, isNewestAlone: Bool) {
        let scene = Scene()
        let member = isAhead ? scene.ahead : scene.behind
        let failure = MemberFailure(
            notBeforeMillis: 70, failures: FailureStreak(count: 3), isNewestAlone: isNewestAlone, owesAlert: true,
            alertsMissedSinceSeconds: 9, mayBeHigh: true)
        let isOwed = !isAhead || isNewestAlone
        let isCounted = scene.fail(member, failure)
        #expect(isCounted == isOwed)
        #expect(scene.apart.owedCount == (isOwed ? 1 : 0))
        // The second failure does not raise the number of owed members. The member is counted already, or the round
        // comes to it.
        let isNew = scene.fail(member, MemberFailure(notBeforeMillis: 90, failures: FailureStreak(count: 4)))
        #expect(!isNew)
        let entry = scene.apart.retries[member]
        #expect(entry?.notBeforeMillis == 90 && entry?.failures.count == 4)
        #expect(entry?.owesAlert == true && entry?.mayBeHigh == true && entry?.alertsMissedSinceSeconds == 9)
        #expect(scene.apart.owedCount == (isOwed ? 1 : 0))
    }
    @Test func whoWaitsIsTriedAgainWhenItsTimeHasCome() {
        let scene = Scene()
        scene.fail(scene.behind, MemberFailure(notBeforeMillis: 70, failures: FailureStreak(count: 3), owesAlert: true))
        #expect(scene.retry(nowMillis: 69).0 == nil)
        let (serving, effects) = scene.retry(nowMillis: 70)
        #expect(serving == MemberServing(member: scene.behind, hasAlert: true, failures: FailureStreak(count: 3)))
        #expect(effects.isEmpty && scene.apart.owedCount == 0)
    }
    @Test func whoHasNoAnswerWaitsForIt() {
        let scene = Scene()
        let member = scene.behind
        scene.fail(member, MemberFailure(notBeforeMillis: 0, failures: FailureStreak(count: 1)))
        scene.table.insertFlag(.isInFlight, of: member)
        #expect(scene.retry(nowMillis: 10).0 == nil)
        #expect(scene.apart.retries[member]?.notBeforeMillis == .max)
        scene.table.removeFlag(.isInFlight, of: member)
        let woken = [member, member, scene.ahead].map { scene.apart.wake($0, restedMillis: 500) }
        #expect(woken == [true, false, false])
        #expect(scene.retry(nowMillis: 500).0?.member == member)
    }
    /// The round still comes to the member. The member's failure is remembered only if the member is owed an alert.
    @Test(arguments: [false, true])
    func whomTheRoundComesToIsNotTriedApart(owesAlert: Bool) {
        let scene = Scene()
        let failure = MemberFailure(notBeforeMillis: 0, failures: FailureStreak(count: 1), owesAlert: owesAlert)
        scene.fail(scene.ahead, failure)
        #expect(scene.retry(nowMillis: 10).0 == nil)
        #expect(scene.apart.retries[scene.ahead]?.notBeforeMillis == (owesAlert ? .max : nil))
    }
    @Test(arguments: [false, true])
    func anAlertAloneIsFollowedByTheNewest(isAhead: Bool) {
        let scene = Scene()
        let member = isAhead ? scene.ahead : scene.behind
        let failure = MemberFailure(
            notBeforeMillis: 0, failures: FailureStreak(count: 1), isNewestAlone: true, owesAlert: true)
        scene.fail(member, failure)
        let (serving, effects) = scene.retry(nowMillis: 10, alertGoesAlone: true)
        #expect(serving?.isAlone == true && serving?.hasAlert == true)
        #expect(effects.isAloneReturned && effects.owesNewestBeside == !isAhead && !effects.isEmpty)
        #expect(scene.apart.owedCount == (isAhead ? 0 : 1))
    }
    @Test func anAlertThatHasComeIsNotOwed() {
        let scene = Scene()
        scene.apart.failedBesideChannel(scene.behind, notBeforeMillis: 5)
        #expect(scene.apart.retries[scene.behind]?.owesAlert == true)
        scene.apart.alertCame(to: scene.behind)
        scene.apart.alertCame(to: scene.ahead)
        #expect(scene.apart.retries[scene.behind]?.owesAlert == false && scene.apart.retries[scene.ahead] == nil)
    }

    // MARK: Late joins
    @Test func whoJoinsLateIsServedInTheOrderOfTheJoins() {
        let scene = Scene()
        let (first, second) = (scene.behind, scene.ahead)
        #expect(scene.join(first) == 0 && scene.join(second) == 1)
        #expect(scene.apart.owedCount == 1 && scene.apart.quiet == [second])
        #expect(scene.table.flags(of: first).contains(.isLate))
        #expect(scene.late(nowMillis: 0) == MemberServing(member: first))
        #expect(scene.late(nowMillis: 0) == MemberServing(member: second))
        #expect(scene.late(nowMillis: 0) == nil)
        // The round skips the second member, because that member has just been served.
        #expect(scene.apart.skipped == [second] && scene.apart.owedCount == 0)
        let comesRound = scene.apart.comesRound(to: second, scene.course, in: scene.table)
        #expect(!comesRound)
        let wasSkipped = scene.apart.forgetSkip(second)
        #expect(wasSkipped && !scene.table.flags(of: first).contains(.isLate))
    }
    /// A member joins after an alert and before a newer one. If the newer alert expires, the older alert still is not
    /// for that member.
    @Test(arguments: [false, true])
    func anAlertThatIsOwedAgainIsNotForWhoJoinedAfterIt(waits: Bool) {
        func alert(_ stampSeconds: Int64) -> Version {
            var version = Version()
            version.stampSeconds = stampSeconds
            version.layer.alert = ByteRange(start: 0, count: 2)
            return version
        }
        let scene = Scene()
        scene.apart.versionCame(alert(100), in: scene.table)
        _ = scene.join(scene.ahead)
        #expect(scene.apart.quiet == [scene.ahead])
        scene.apart.versionCame(alert(200), in: scene.table)
        scene.apart.roundBegan(keepsOlder: true, in: &scene.table)
        #expect(scene.apart.quiet.isEmpty)
        if waits {
            scene.fail(
                scene.ahead, MemberFailure(notBeforeMillis: 0, failures: FailureStreak(count: 1), owesAlert: true))
        }
        scene.apart.returnToAlert(ofVersionAt: 0, stampSeconds: 100, scene.course, in: scene.table)
        #expect(scene.apart.quiet == [scene.ahead] && scene.apart.retries[scene.ahead]?.owesAlert != true)
        // If the round keeps no older version, no older alert can be owed again.
        scene.apart.versionCame(alert(300), in: scene.table)
        scene.apart.roundBegan(keepsOlder: false, in: &scene.table)
        scene.apart.returnToAlert(ofVersionAt: 0, stampSeconds: 100, scene.course, in: scene.table)
        #expect(scene.apart.quiet.isEmpty)
    }
    @Test func whoWasPushedToAMomentAgoIsLateNoMoreAndWaits() {
        let scene = Scene()
        #expect(scene.join(scene.behind, notBeforeMillis: 300) == nil)
        #expect(scene.apart.retries[scene.behind]?.notBeforeMillis == 300 && scene.apart.owedCount == 1)
        #expect(scene.join(scene.ahead, notBeforeMillis: 300) == 0)
        #expect(scene.late(nowMillis: 0) == nil)
        #expect(scene.apart.retries[scene.ahead]?.notBeforeMillis == 300 && scene.apart.owedCount == 2)
    }
    @Test func nobodyIsLateWhereThereIsNoVersion() {
        let scene = Scene()
        #expect(scene.join(scene.behind, notBeforeMillis: 300, hasVersions: false) == nil)
        #expect(scene.apart.owedCount == 0 && scene.apart.retries[scene.behind] == nil)
        let rested = scene.apart.restedMillis(scene.behind, distanceMillis: Self.distanceMillis, nowMillis: 0)
        #expect(rested == 300)
    }
    @Test func whoLeavesLeavesNothingBehind() {
        let scene = Scene()
        for member in [scene.ahead, scene.behind] {
            _ = scene.join(member)
            let isAhead = scene.course.isAhead(scene.table.position(of: member))
            scene.apart.left(member, isAhead: isAhead, in: &scene.table)
            #expect(!scene.table.flags(of: member).contains(.isLate))
        }
        #expect(scene.apart.owedCount == 0 && scene.apart.late.count == 0 && scene.late(nowMillis: 0) == nil)
    }
    @Test func aRoundThatBeginsComesToAllThatWait() {
        let scene = Scene()
        _ = scene.join(scene.behind)
        scene.fail(scene.members[6], MemberFailure(notBeforeMillis: 0, failures: FailureStreak(count: 1)))
        #expect(scene.apart.owedCount == 2)
        scene.apart.roundBegan(keepsOlder: true, in: &scene.table)
        #expect(scene.apart.owedCount == 0 && scene.apart.late.count == 0)
        // These members are owed the older version again if the newest version expires before the round comes to them.
        #expect(scene.apart.retries.members.count == 2)
        scene.apart.roundShortened(scene.course, in: scene.table)
        #expect(scene.apart.owedCount == 2)
        scene.apart.end(in: &scene.table)
        #expect(scene.apart.owedCount == 0 && scene.apart.retries.count == 0)
    }

    // MARK: Members that the round meets
    @Test func whoCannotBeServedInItsTurnWaitsForTheNewest() {
        let scene = Scene()
        let serving = MemberServing(member: scene.ahead, hasAlert: true, mayBeHigh: true)
        let hadWaited = scene.apart.metUnserved(serving, untilMillis: .max)
        #expect(!hadWaited && scene.apart.retries[scene.ahead]?.notBeforeMillis == .max)
        let waitsNow = scene.apart.metUnserved(MemberServing(member: scene.ahead), untilMillis: 80)
        #expect(waitsNow)
        let entry = scene.apart.retries[scene.ahead]
        #expect(entry?.notBeforeMillis == 80 && entry?.owesAlert == true && entry?.mayBeHigh == true)
        #expect(scene.apart.owedCount == 1)
    }
    @Test func anAlertThatTheChannelDoesNotBringIsKept() {
        let scene = Scene()
        for (member, owesAlert) in [(scene.ahead, true), (scene.behind, false)] {
            let failure = MemberFailure(
                notBeforeMillis: 40, failures: FailureStreak(count: 1), isNewestAlone: true, owesAlert: owesAlert)
            scene.fail(member, failure)
        }
        scene.apart.leftToChannel(keepingAlertsSinceSeconds: .min, in: &scene.table)
        #expect(scene.apart.retries.members == [scene.ahead] && scene.apart.owedCount == 1)
        scene.apart.leftToChannel(keepingAlertsSinceSeconds: .max, in: &scene.table)
        #expect(scene.apart.retries.count == 0)
    }
}

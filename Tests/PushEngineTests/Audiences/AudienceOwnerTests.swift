import APNSProtocol
import ChannelKeeping
import PushModel
import Testing

@testable import PushEngine

/// Tests an audience's owner without an engine around it: versions, questions, reports and starts.
@Suite struct AudienceOwnerTests {
    /// No partition is sent a version before `state` has the version. The version's event gets its outcome when Kafka
    /// has the version for all partitions that have asked.
    @Test func aVersionGoesFromStateToEveryPartition() {
        let play = OwnerPlay()
        for partition in [6, 2] as [Int32] { play.ask(partition) }
        #expect(play.takeKinds() == [.write, .write] && play.owner.asked == [2, 6])
        play.publish()
        #expect(play.take().isEmpty && play.owner.newest == nil && play.owner.openCount == 1)
        play.stateIsWritten()
        #expect(play.takeKinds() == [.scheduleRollUps, .send])
        #expect(play.owner.publications.map(\.outstanding) == [2] && play.owner.openCount == 1)
        play.acknowledge(play.stampSeconds)
        play.acknowledge(17)
        #expect(play.take().isEmpty, "one partition has it not, and the other is none of ours")
        play.acknowledge(play.stampSeconds)
        #expect(play.takeKinds() == [.fannedOut, .write, .reschedule])
        #expect(play.owner.openCount == 0 && play.owner.publications.count == 1, "it stays, to answer whoever asks")
        play.stateIsWritten()
        play.acknowledge(play.stampSeconds)
        #expect(play.take().isEmpty, "once")
    }
    @Test func aVersionThatNobodyAskedForIsToldAtOnce() {
        let play = OwnerPlay()
        play.publishToAll()
        #expect(play.takeKinds() == [.scheduleRollUps, .fannedOut, .write, .reschedule])
        play.publish()
        #expect(play.owner.publications.count == 2, "the newest that may be told stays beside it")
        play.stateIsWritten()
        #expect(play.owner.publications.count == 1)
    }
    /// A partition that asks is sent the newest version. The version's alert is included only while the version is on
    /// its way to partitions.
    @Test(arguments: [false, true]) func whoAsksGetsTheNewest(isUnderWay: Bool) throws {
        let play = OwnerPlay()
        play.ask(0)
        play.publish(hasAlert: true)
        play.ask(1)
        #expect(play.takeKinds() == [.write, .write], "it may not be told yet")
        play.stateIsWritten()
        if !isUnderWay { for _ in 0..<2 { play.acknowledge(play.stampSeconds) } }
        _ = play.take()
        play.ask(5)
        let effects = play.take()
        guard effects.count == 3, case .answer(let versions, let partition) = effects[1] else {
            Issue.record("\(effects)")
            return
        }
        #expect(partition == 5 && versions.map(\.stampSeconds) == [play.stampSeconds])
        #expect(versions.allSatisfy { $0.hasAlert == isUnderWay && !$0.isHigh && $0.life == play.owner.life })
    }
    /// A join's question may reach the owner long after an event. The answer has the event's alert if the partition's
    /// newest member joined before the event, or in the same second.
    @Test(arguments: [(-3_600, true), (0, true), (1, false), (3_600, false)] as [(Int64, Bool)])
    func aQuestionThatComesLateIsAnsweredByTheTimeOfTheJoin(joinedAfterSeconds: Int64, hasAlert: Bool) throws {
        let play = OwnerPlay()
        play.publishToAll(hasAlert: true)
        let joined = play.now.wallSeconds + joinedAfterSeconds
        play.advance(60_000)
        _ = play.take()
        play.ask(0, lastJoinSeconds: joined)
        let answers = play.take().compactMap { effect -> [Version]? in
            guard case .answer(let versions, 0) = effect else { return nil }
            return versions
        }
        let answer = try #require(answers.first)
        #expect(answers.count == 1 && answer.map(\.stampSeconds) == [play.stampSeconds])
        #expect(answer.allSatisfy { $0.hasAlert == hasAlert && !$0.isHigh && !$0.isFrequentHigh })
    }

    // MARK: Lives

    @Test func aLifeIsNewerThanAnyThatAPartitionKnows() {
        let ahead: Int64 = 1_800_000_000
        let first = OwnerPlay()
        first.ask(0, life: ahead)
        #expect(first.owner.life == ahead + 1)
        // No partition has been sent the audience's version. That version moves to the new life.
        let second = OwnerPlay()
        second.publishToAll()
        #expect(second.owner.life == second.now.wallSeconds)
        _ = second.take()
        second.ask(0, life: ahead)
        #expect(second.owner.life == ahead + 1 && second.owner.newestVersion?.life == ahead + 1)
        #expect(second.owner.rollUps.all.map(\.version.life) == [ahead + 1])
        // Partitions have been sent this version, so it keeps its life. Only the next version belongs to the new life.
        second.ask(1, life: ahead + 7)
        #expect(second.owner.life == ahead + 8 && second.owner.newestVersion?.life == ahead + 1)
    }
    @Test func whatComesAfterAnEndIsOfANewLife() {
        let play = OwnerPlay()
        play.publishToAll()
        let life = play.owner.life
        play.publishToAll(isEnd: true)
        #expect(play.owner.life == life)
        play.publishToAll(isEnd: true)
        #expect(play.owner.life == life, "a second end ends the same")
        play.publishToAll()
        #expect(play.owner.life == life + 1 && play.owner.newestVersion?.life == life + 1)
        play.advance(5_000)
        play.owner.forgotten(by: play.rules, into: &play.effects)
        guard case .sendVoid(let told, let partitions) = play.take().last else {
            Issue.record("nobody is told")
            return
        }
        #expect(told == life + 1 && partitions.isEmpty)
    }
    /// A new owner sends a version to partitions again in two cases: the former owner had not finished with it, or the
    /// version is new.
    @Test(
        arguments: [(true, 0, true), (true, 300_000, true), (false, 0, true), (false, 300_000, false)]
            as [(Bool, Int64, Bool)])
    func aNewOwnerTellsTheVerySame(isOpen: Bool, ageMillis: Int64, isToldAgain: Bool) {
        let play = OwnerPlay()
        var version = Version(life: 5, stampSeconds: 6, layer: Layer())
        version.layer.recordMillis = play.now.wallMillis - ageMillis
        play.owner = AudienceOwner(
            life: 5, asked: [(3, 0)],
            publications: [AudienceOwner.Publication(version: version, status: isOpen ? .sent : .done)])
        play.owner.takenOver(sinceMillis: 0, by: play.rules, now: play.now, into: &play.effects)
        #expect(play.takeKinds() == (isToldAgain ? [.scheduleRollUps, .send] : []))
        play.acknowledge(6)
        #expect(play.takeKinds() == (isOpen ? [.fannedOut, .write, .reschedule] : []))
    }

    // MARK: Priority 10

    @Test func aUnitComesBackAnHourAfterTheLastReport() {
        let play = OwnerPlay()
        play.rules.app.budgetReserve = 0
        play.rules.app.budgetAudiencePerHour = 1
        for partition in 0..<2 as Range<Int32> { play.ask(partition) }
        func isHigh() -> Bool? {
            play.publishToAll()
            return play.owner.newestVersion?.isHigh
        }
        let first = isHigh()
        let stamp = play.stampSeconds
        let second = isHigh()
        #expect(first == true && second == false)
        play.report(0, stampSeconds: stamp)
        play.advance(3_600_000)
        #expect(isHigh() == false, "one partition may send it with priority 10 still")
        play.report(1, stampSeconds: stamp)
        play.advance(3_599_999)
        #expect(isHigh() == false)
        play.advance(1)
        #expect(isHigh() == true)
    }

    // MARK: Roll-ups

    @Test func whatWasToldIsSaidWhenAllHaveFinished() {
        let play = OwnerPlay()
        for partition in 0..<2 as Range<Int32> { play.ask(partition) }
        play.publishToAll()
        let stamp = play.stampSeconds
        _ = play.take()
        play.report(0, stampSeconds: stamp)
        play.passTime()
        #expect(play.takeKinds() == [.scheduleRollUps, .scheduleRollUps])
        play.report(1, stampSeconds: stamp, refusal: "PayloadTooLarge")
        play.passTime()
        #expect(play.takeKinds() == [.deadLetter, .scheduleRollUps, .record, .scheduleRollUps])
        #expect(play.owner.rollUps.nextMillis == .max)
        play.report(1, stampSeconds: stamp, refusal: "PayloadTooLarge")
        #expect(play.takeKinds() == [.scheduleRollUps], "it is handed back once for a reason")
        #expect(play.owner.rollUps.nextMillis == play.now.steadyMillis + RollUp.rewriteMillis)
        play.report(4, stampSeconds: 3)
        #expect(play.takeKinds() == [.write], "of a version that nobody sums, by one who has not asked here")
    }
    /// Members may still be joining when a version is made. The version's summary waits for partitions that ask later.
    @Test func whoAsksLaterIsWaitedFor() {
        let play = OwnerPlay()
        play.publishToAll()
        play.passTime()
        _ = play.take()
        play.ask(3)
        #expect(play.takeKinds() == [.write, .answer, .scheduleRollUps])
        play.report(3, stampSeconds: play.stampSeconds)
        play.passTime()
        #expect(play.takeKinds() == [.scheduleRollUps, .scheduleRollUps], "another may be about to ask")
        play.advance(RollUp.askingMillis)
        play.passTime()
        guard case .record(let rollUp) = play.take().first else {
            Issue.record("nothing is said")
            return
        }
        #expect(rollUp.asked == [3] && rollUp.isComplete)
    }
    @Test func whatIsMissingIsSaidAfterAMinute() {
        let play = OwnerPlay()
        play.ask(0)
        play.publishToAll()
        _ = play.take()
        play.advance(RollUp.patienceMillis - 1)
        play.passTime()
        #expect(play.takeKinds() == [.scheduleRollUps])
        play.advance(1)
        play.passTime()
        guard case .record(let rollUp) = play.take().first else {
            Issue.record("nothing is said")
            return
        }
        #expect(rollUp.missing == [0] && !rollUp.isComplete)
    }
    /// When there are too many versions, the summary of the oldest version stops counting. That summary is written
    /// then, unless it has been written before.
    @Test func soManyVersionsAreSummed() {
        let play = OwnerPlay()
        play.ask(0)
        for _ in 0..<RollUps.countMax { play.publishToAll() }
        _ = play.take()
        play.publishToAll()
        #expect(play.takeKinds().first == .record && play.owner.rollUps.all.count == RollUps.countMax)
    }

    // MARK: Starts

    private static func order(expiresSeconds: Int64 = .max) -> StartOrder {
        var order = StartOrder()
        order.expiresSeconds = expiresSeconds
        return order
    }
    @Test func aStartGoesOutWithTheNextVersion() {
        let play = OwnerPlay()
        play.owner.startCame(Self.order())
        #expect(play.owner.hasWaitingStart)
        let effect = play.publish()
        #expect(effect == .leaves && !play.owner.hasWaitingStart)
        #expect(play.owner.newestVersion?.start?.stampSeconds == play.stampSeconds)
        let next = play.publish()
        let carried = play.owner.newestVersion?.start?.stampSeconds
        #expect(next == .nothing && carried == play.stampSeconds - 1, "it goes on")
        let end = play.publish(isEnd: true)
        #expect(end == .nothing && play.owner.newestVersion?.start == nil)
    }
    @Test func anEndCancelsAStartAndALateOneDoesNotLeave() {
        let play = OwnerPlay()
        play.owner.startCame(Self.order())
        let end = play.publish(isEnd: true)
        #expect(end == .nothing && !play.owner.hasWaitingStart && play.owner.newestVersion?.start == nil)
        play.owner.startCame(Self.order(expiresSeconds: play.now.wallSeconds))
        let late = play.publish()
        #expect(late == .expired && play.owner.newestVersion?.start == nil)
    }
    @Test(arguments: [(0, Int64.max, true), (1, .max, false), (1, 0, true)] as [(Int64, Int64, Bool)])
    func aStartThatIsTooOldMakesRoom(leftSeconds: Int64, staleInSeconds: Int64, isDropped: Bool) {
        let play = OwnerPlay()
        play.owner.startCame(Self.order(expiresSeconds: play.now.wallSeconds + leftSeconds))
        let stale = staleInSeconds == .max ? Int64.max : play.now.wallSeconds + staleInSeconds
        let dropped = play.owner.dropExpiredStart(staleSeconds: stale, now: play.now)
        #expect(dropped == isDropped && play.owner.hasWaitingStart != isDropped)
    }
}

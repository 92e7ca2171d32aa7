import DeviceModel
import Foundation
import KafkaLog
import PushModel
import Testing
import Upstream

@testable import ChaosTesting

/// Tests of the judge of members: right runs pass, and each broken promise is found.
struct MemberAuditTests {
    private static let app = "com.example.pizza"
    private static let (token, audience) = ("0a0b", "match")

    /// The log of one audience, its one member, and the pushes to it that APNs took. Times are in seconds.
    private struct Scene {
        var publications: [Publication] = []
        var logs = ChaosAudit.Logs()
        var phone = Device()
        var audiences = ChaosAudit.AudienceScene(
            members: ChaosMembers(distanceMillis: 1_000), budgetPerHour: 2, frequentBudgetPerHour: 4)

        init() { self.audiences.members.know(token: MemberAuditTests.token) }

        mutating func add(_ publication: Publication, at seconds: Int64, outcome: String) {
            let offset = Int64(self.publications.count)
            func record(_ value: [UInt8]) -> OwnedRecord {
                OwnedRecord(
                    partition: 3, offset: offset, timestampMillis: seconds * 1_000,
                    key: Array(publication.activity.utf8), value: value)
            }
            self.publications.append(publication)
            self.logs.events.append(record(publication.value))
            let json = "{\"outcome\":\"\(outcome)\",\"topic\":\"events\",\"partition\":3,\"offset\":\(offset)}"
            self.logs.outcomes.append(record(Array(json.utf8)))
        }

        mutating func join(_ audience: String = MemberAuditTests.audience, at seconds: Int64) {
            var join = StoryMembership.join(audience, app: MemberAuditTests.app, token: MemberAuditTests.token)
            join.id = "\(seconds)"
            self.add(Publication(join), at: seconds, outcome: "applied")
        }

        mutating func listen(_ channel: String?, at seconds: Int64) {
            var join = StoryMembership.join(
                MemberAuditTests.audience, app: MemberAuditTests.app, token: MemberAuditTests.token)
            join.id = "\(seconds)"
            join.channel = channel
            self.add(Publication(join), at: seconds, outcome: "applied")
        }

        mutating func leave(at seconds: Int64) {
            self.add(
                Publication(.leave(nil, app: MemberAuditTests.app, token: MemberAuditTests.token)), at: seconds,
                outcome: "applied")
        }

        /// Publishes an event of the audience.
        /// - Returns: the event, to be pushed.
        mutating func publish(
            _ step: Int, at seconds: Int64, _ kind: StoryEvent.Kind = .update, alert: String? = nil,
            audience: String = MemberAuditTests.audience, withdraws: Bool = false
        ) -> StoryEvent {
            var event = StoryEvent(kind, app: MemberAuditTests.app, contentState: "{\"step\":\(step)}")
            event.alert = alert.map { "{\"title\":\"\($0)\",\"body\":\"\"}" }
            event.audience = audience
            event.withdrawsAlert = withdraws
            self.add(Publication(audience, event), at: seconds, outcome: "fanned-out")
            return event
        }

        mutating func push(_ event: StoryEvent, at seconds: Double, stamp: Int64, priority: Int = 5) throws {
            let body = event.payload(recordMillis: stamp * 1_000)
            let reaction = try self.phone.push(body: body, priority: priority, nowMillis: Int64(seconds * 1_000))
            let isMember = self.audiences.members.take(
                token: MemberAuditTests.token, atMillis: Int64(seconds * 1_000), body: body, reaction: reaction)
            #expect(isMember)
        }

        func audit() throws -> ChaosAudit {
            try ChaosAudit(
                self.logs, publications: self.publications, acknowledgedCount: self.publications.count,
                topic: "events", budgetPerHour: 6, audiences: self.audiences,
                phone: { $0 == MemberAuditTests.token ? self.phone : nil })
        }
    }

    @Test func whatIsRightPasses() throws {
        var scene = Scene()
        scene.join(at: 1)
        let goal = scene.publish(1, at: 20, alert: "Goal")
        try scene.push(goal, at: 20, stamp: 20, priority: 10)
        let end = scene.publish(2, at: 40, .end)
        try scene.push(end, at: 40, stamp: 40)
        let audit = try scene.audit()
        #expect(audit.faults == [])
        #expect(audit.memberCounts.checked == 1 && audit.memberCounts.equivalent == 1)
        #expect(audit.memberCounts.pushes == 2 && audit.memberCounts.repeats == 0)
        #expect(audit.memberCounts.held == 1...1)
        #expect(audit.devicesChecked == 0, "it is no activity")
    }

    @Test func aMemberThatWasLeftOutIsFound() throws {
        var scene = Scene()
        scene.join(at: 1)
        let goal = scene.publish(1, at: 20)
        _ = scene.publish(2, at: 30)
        try scene.push(goal, at: 20, stamp: 20)
        let audit = try scene.audit()
        #expect(audit.memberCounts.checked == 1 && audit.memberCounts.equivalent == 0)
        #expect(audit.faults.count == 1 && audit.faults[0].contains("content-state is {\"step\":1}"))
    }

    /// The alert of an event after the join is due unless it was withdrawn. The alert of an event before the join is
    /// not due.
    @Test(arguments: [(1, false, 1), (1, true, 0), (60, false, 0)])
    func anAlertThatIsMissingIsFound(joinSeconds: Int64, isWithdrawn: Bool, faultCount: Int) throws {
        var scene = Scene()
        scene.join(at: joinSeconds)
        _ = scene.publish(1, at: 20, alert: "Goal")
        let newest = scene.publish(2, at: 21, withdraws: isWithdrawn)
        try scene.push(newest, at: 70, stamp: 21)
        let audit = try scene.audit()
        #expect(audit.faults.count == faultCount)
        #expect(audit.faults.allSatisfy { $0.contains("its newest alert is none") })
    }

    @Test func twoPushesThatAreTooCloseAreFoundUnlessAWorkerWasPaused() throws {
        var scene = Scene()
        scene.join(at: 1)
        let events = [scene.publish(1, at: 20), scene.publish(2, at: 21)]
        try scene.push(events[0], at: 20, stamp: 20)
        try scene.push(events[1], at: 20.4, stamp: 21)
        #expect(try scene.audit().faults == ["member 0a0b…: two pushes are 400 ms apart, the second at 20400"])
        #expect(try scene.audit().memberCounts.tooClose == 1)
        scene.audiences.resumedMillis = [19_000]
        #expect(try scene.audit().faults == [] && scene.audit().memberCounts.excused == 1)
    }

    /// A push in a long turn counts as sent at the turn's beginning, so the next push may come too soon. If the first
    /// of two such pushes came after the turn, that is a fault.
    @Test(arguments: [(20_000, 0), (19_600, 1)])
    func aLongTurnExcusesWhatLeftInIt(endedMillis: Int64, faultCount: Int) throws {
        var scene = Scene()
        scene.join(at: 1)
        let events = [scene.publish(1, at: 20), scene.publish(2, at: 21)]
        try scene.push(events[0], at: 20, stamp: 20)
        try scene.push(events[1], at: 20.4, stamp: 21)
        scene.audiences.stalls = [
            try #require(WorkerStall(line: "ended-ms=\(endedMillis) ms=560 [PushWorker] a turn took long"))
        ]
        let audit = try scene.audit()
        #expect(audit.faults.count == faultCount && audit.memberCounts.stalled == 1 - faultCount)
    }

    @Test func aPushThatCameTwiceIsCountedAndWithoutDisturbanceAFault() throws {
        var scene = Scene()
        scene.join(at: 1)
        let goal = scene.publish(1, at: 20, alert: "Goal")
        try scene.push(goal, at: 20, stamp: 20)
        try scene.push(goal, at: 22, stamp: 21)
        #expect(try scene.audit().faults == [])
        #expect(try scene.audit().memberCounts.repeats == 1 && scene.audit().memberCounts.alertRepeats == 1)
        scene.audiences.isUndisturbed = true
        #expect(try scene.audit().faults == ["member 0a0b…: 1 pushes came twice, and nothing was disturbed"])
        // A phone that comes back is shown the newest version again.
        scene.leave(at: 23)
        scene.join(at: 24)
        #expect(try scene.audit().faults == [])
    }

    @Test func aBudgetThatIsExceededIsFound() throws {
        var scene = Scene()
        scene.join(at: 1)
        for step in 1...3 {
            let event = scene.publish(step, at: 20 * Int64(step))
            try scene.push(event, at: Double(20 * step), stamp: Int64(20 * step), priority: 10)
        }
        #expect(try scene.audit().faults == ["member 0a0b…: 3 high-priority pushes in an hour, the budget is 2"])
    }

    @Test(arguments: [(30, 0), (60, 1)])
    func whoHasLeftIsLeftAlone(pushedSeconds: Int64, faultCount: Int) throws {
        var scene = Scene()
        scene.join(at: 1)
        scene.leave(at: 25)
        let event = scene.publish(1, at: 20)
        try scene.push(event, at: Double(pushedSeconds), stamp: 20)
        let audit = try scene.audit()
        #expect(audit.faults.count == faultCount && audit.memberCounts.checked == 0)
        #expect(audit.memberCounts.held == 0...0)
    }

    /// A phone ignores a push whose stamp is older than what it shows. The judge still requires the push.
    @Test(arguments: [true, false])
    func whoHasMovedMayShowWhatWasStampedLater(isPushed: Bool) throws {
        var scene = Scene()
        scene.join("other", at: 1)
        let former = scene.publish(1, at: 30, audience: "other")
        try scene.push(former, at: 30, stamp: 31)
        let newest = scene.publish(2, at: 29)
        scene.join(at: 40)
        if isPushed { try scene.push(newest, at: 40, stamp: 29) }
        let audit = try scene.audit()
        #expect(audit.faults.isEmpty == isPushed)
        #expect(audit.memberCounts.moved == 1 && audit.memberCounts.equivalent == (isPushed ? 1 : 0))
    }

    @Test func tokensThatAPNsCallsDeadAreNotJudged() throws {
        var scene = Scene()
        scene.join(at: 1)
        _ = scene.publish(1, at: 20)
        scene.audiences.dead = [Self.token]
        let audit = try scene.audit()
        #expect(audit.faults == [] && audit.memberCounts.checked == 0 && audit.memberCounts.held == 0...1)
    }

    /// A record about a single member counts as that member's failure, and not as an outcome of the event. It is a
    /// fault unless the member's token is dead.
    @Test(arguments: [("Unregistered", 0), ("PayloadTooLarge", 1)])
    func whoWasNotReachedIsCounted(reason: String, faultCount: Int) throws {
        var scene = Scene()
        let event = scene.publish(1, at: 20)
        let json =
            "{\"outcome\":\"rejected\",\"topic\":\"events\",\"partition\":3,\"offset\":0,\"reason\":\"\(reason)\","
            + "\"audience\":\"match\",\"token-hash\":\"1f\"}"
        scene.logs.outcomes.append(
            OwnedRecord(partition: 3, offset: 9, timestampMillis: 0, key: Array("1f".utf8), value: Array(json.utf8)))
        let audit = try scene.audit()
        #expect(audit.memberCounts.failures == [reason: 1] && audit.faults.count == faultCount)
        #expect(audit.outcomeCounts == ["fanned-out": 1] && event.audience == "match")
    }

    /// The outcome of a join or a leave is about its record, and is not a failure of a push to the member.
    @Test(arguments: ["applied", "duplicate"])
    func whatBecameOfAJoinIsNoFailure(outcome: String) throws {
        var scene = Scene()
        scene.join(at: 1)
        let json =
            "{\"outcome\":\"\(outcome)\",\"topic\":\"events\",\"partition\":3,\"offset\":0,\"reason\":\"replayed\","
            + "\"audience\":\"match\",\"token-hash\":\"1f\"}"
        scene.logs.outcomes.append(
            OwnedRecord(partition: 3, offset: 9, timestampMillis: 0, key: Array("1f".utf8), value: Array(json.utf8)))
        let audit = try scene.audit()
        #expect(audit.faults == [] && audit.memberCounts.failures.isEmpty)
    }

    /// When a phone begins or stops listening, it may get the newest version and its alert twice: over the channel and
    /// by push. Without faults it gets nothing else both ways.
    @Test(arguments: [(4, true), (5, false)]) func nothingComesBothWays(count: Int, isRight: Bool) throws {
        for isUndisturbed in [true, false] {
            var scene = Scene()
            scene.join(at: 1)
            scene.listen("AAAA", at: 2)
            scene.listen("AAAA", at: 3)
            scene.listen(nil, at: 4)
            scene.audiences.bothWays = [Self.token: count]
            scene.audiences.isUndisturbed = isUndisturbed
            let audit = try scene.audit()
            #expect(audit.memberCounts.bothWays == count && audit.memberCounts.waysSaid == 2)
            #expect(audit.memberCounts.listening == 0)
            #expect(audit.faults.isEmpty == (isRight || !isUndisturbed), "\(audit.faults)")
        }
    }
}

import KafkaLog
import PushModel
import Testing
import Upstream

@testable import ChaosTesting

/// Tests of the judge of start members: right runs pass, and each broken promise is found.
struct StartAuditTests {
    private static let (app, audience) = ("com.example.pizza", "kick-off")
    private static let (first, second) = ("0a0b", "0c0d")

    /// The log of an audience, its start members, and the pushes to them that APNs took. Times are in seconds.
    private struct Scene {
        var publications: [Publication] = []
        var logs = ChaosAudit.Logs()
        var starts = ChaosAudit.StartScene(perHour: 2)

        /// Adds a record with its outcome.
        /// - Returns: offset of the record.
        @discardableResult mutating func add(_ publication: Publication, at seconds: Int64, outcome: String) -> Int64 {
            let offset = Int64(self.publications.count)
            self.publications.append(publication)
            self.logs.events.append(
                OwnedRecord(
                    partition: 0, offset: offset, timestampMillis: seconds * 1_000,
                    key: Array(publication.activity.utf8), value: publication.value))
            self.say(
                "{\"outcome\":\"\(outcome)\",\"topic\":\"events\",\"partition\":0,\"offset\":\(offset),\"version\":\(seconds)}",
                at: seconds)
            return offset
        }

        mutating func say(_ json: String, key: String = "", at seconds: Int64) {
            self.logs.outcomes.append(
                OwnedRecord(
                    partition: 0, offset: Int64(self.logs.outcomes.count), timestampMillis: seconds * 1_000,
                    key: Array(key.utf8), value: Array(json.utf8)))
        }

        mutating func join(_ token: String, at seconds: Int64) {
            var join = StoryMembership.joinToBeStarted(
                StartAuditTests.audience, app: StartAuditTests.app, token: token)
            join.id = "\(seconds)"
            self.starts.starters.know(token: token)
            self.add(Publication(join), at: seconds, outcome: "applied")
        }

        mutating func leave(_ token: String, at seconds: Int64) {
            self.add(
                Publication(.leave(nil, app: StartAuditTests.app, token: token)), at: seconds, outcome: "applied")
        }

        mutating func publish(_ event: StoryEvent, at seconds: Int64, outcome: String = "fanned-out") -> Int64 {
            var event = event
            event.audience = StartAuditTests.audience
            let publication =
                outcome == "duplicate"
                ? Publication(StartAuditTests.audience, setAside: event.value, as: [outcome])
                : Publication(StartAuditTests.audience, event)
            return self.add(publication, at: seconds, outcome: outcome)
        }

        /// Puts up a card.
        mutating func show(_ event: StoryEvent, on token: String, at seconds: Int64) {
            let isTaken = self.starts.starters.take(
                token: token, atMillis: seconds * 1_000, body: event.payload(recordMillis: seconds * 1_000))
            #expect(isTaken)
        }

        /// Writes a record of the partition with these counts for the start of version `start`. Then writes a record of
        /// the audience's owner with the same counts.
        mutating func record(of start: Int64, _ counts: StartRecords.Counts) {
            self.recordPass(of: start, counts, at: 90)
            self.recordSum(of: start, counts, at: 90)
        }

        mutating func recordPass(of start: Int64, _ counts: StartRecords.Counts, at seconds: Int64) {
            self.say(
                "{\"outcome\":\"start-pass\",\(Self.head(start)),\"partition\":0,\(Self.numbers(counts))}",
                key: "start-pass/\(start)", at: seconds)
        }

        mutating func recordSum(of start: Int64, _ counts: StartRecords.Counts, at seconds: Int64) {
            self.say(
                "{\"outcome\":\"audience\",\(Self.head(start)),\"starts\":{\"partitions\":1,\(Self.numbers(counts))}}",
                key: "audience/\(start)", at: seconds)
        }

        private static func head(_ start: Int64) -> String {
            "\"audience\":\"\(StartAuditTests.audience)\",\"life\":1,\"version\":\(start)"
        }

        private static func numbers(_ counts: StartRecords.Counts) -> String {
            """
            "members":\(counts.members),"accepted":\(counts.accepted),"superseded":\(counts.superseded),\
            "expired":\(counts.expired),"gone":\(counts.gone),"failed":\(counts.failed),"unknown":\(counts.unknown),\
            "left":\(counts.left),"waiting":\(counts.waiting)
            """
        }

        func audit() throws -> ChaosAudit {
            try ChaosAudit(
                self.logs, publications: self.publications, acknowledgedCount: self.publications.count,
                topic: "events", budgetPerHour: 6, starts: self.starts, phone: { _ in nil })
        }
    }

    private static func start(_ number: Int) -> StoryEvent {
        var event = StoryEvent(.start, app: Self.app, contentState: "{\"step\":\(number)}")
        event.alert = "{\"title\":\"Kick-off\",\"body\":\"\"}"
        event.attributesType = "Match"
        event.attributes = "{\"order\":\(number)}"
        return event
    }

    /// Two phones that joined, and a start.
    private static func begun() -> Scene {
        var scene = Scene()
        scene.join(Self.first, at: 1)
        scene.join(Self.second, at: 2)
        _ = scene.publish(Self.start(1), at: 20)
        return scene
    }

    @Test func aCardOnEachPhoneIsWhatIsPromised() throws {
        var scene = Self.begun()
        for token in [Self.first, Self.second] { scene.show(Self.start(1), on: token, at: 21) }
        scene.record(of: 20, .init(members: 2, accepted: 2))
        let audit = try scene.audit()
        #expect(audit.faults == [])
        let counts = audit.startCounts
        #expect(counts.checked == 2 && counts.started == 2 && counts.accounted == 2 && counts.cards == 2)
        #expect(counts.passes == 1 && counts.passesAgreeing == 1 && counts.sums == 1 && counts.sumsAgreeing == 1)
        #expect(audit.memberCounts.held == 2...2)
    }

    @Test func aSecondCardOfOneStartIsFound() throws {
        var scene = Self.begun()
        for token in [Self.first, Self.second, Self.second] { scene.show(Self.start(1), on: token, at: 21) }
        scene.record(of: 20, .init(members: 2, accepted: 2))
        let audit = try scene.audit()
        #expect(audit.faults == ["start member 0c0d…: a second card of one start of kick-off, at 21000"])
        #expect(audit.startCounts.secondCards == 1)
    }

    /// Cases of a phone without a card: the counts of its partition's record, whether the audience has ended, and the
    /// number of faults.
    @Test(arguments: [
        (StartRecords.Counts(members: 2, accepted: 1, unknown: 1), false, 0),
        (StartRecords.Counts(members: 2, accepted: 1, superseded: 1), true, 0),
        (StartRecords.Counts(members: 2, accepted: 1, superseded: 1), false, 1),
        (StartRecords.Counts(members: 2, accepted: 1, waiting: 1), true, 0),
        (StartRecords.Counts(members: 1, accepted: 1), false, 1),
        (StartRecords.Counts(members: 2, accepted: 2), false, 2),
        (StartRecords.Counts(members: 3, accepted: 1, unknown: 1), false, 2),
    ])
    func aPhoneWithoutACardNeedsAReason(counts: StartRecords.Counts, hasEnded: Bool, faultCount: Int) throws {
        var scene = Self.begun()
        scene.show(Self.start(1), on: Self.first, at: 21)
        if hasEnded { _ = scene.publish(StoryEvent(.end, app: Self.app), at: 30) }
        scene.record(of: 20, counts)
        let audit = try scene.audit()
        #expect(audit.faults.count == faultCount, "\(audit.faults)")
        #expect(audit.startCounts.checked == 2 && audit.startCounts.started == 1)
    }

    /// A partition with cards needs a record. Only a start that has ended in a disturbed run may lack one, because its
    /// owner may have died.
    @Test(arguments: [(false, false, 1), (true, false, 0), (true, true, 1)])
    func cardsNeedARecord(hasEnded: Bool, isUndisturbed: Bool, faultCount: Int) throws {
        var scene = Self.begun()
        for token in [Self.first, Self.second] { scene.show(Self.start(1), on: token, at: 21) }
        if hasEnded { _ = scene.publish(StoryEvent(.end, app: Self.app), at: 30) }
        scene.starts.isUndisturbed = isUndisturbed
        #expect(try scene.audit().faults.count == faultCount)
        scene.record(of: 20, .init(members: 2, accepted: 2))
        #expect(try scene.audit().faults == [])
    }

    /// The record with the latest time counts. A record of 1 member that is stored last explains a phone without a card
    /// only if no newer one does.
    @Test(arguments: [(89, 0), (90, 1), (91, 1)] as [(Int64, Int)])
    func theNewestRecordCountsWhereverItIsStored(lastSeconds: Int64, faultCount: Int) throws {
        var scene = Self.begun()
        scene.show(Self.start(1), on: Self.first, at: 21)
        scene.record(of: 20, .init(members: 2, accepted: 1, unknown: 1))
        scene.recordPass(of: 20, .init(members: 1, accepted: 1), at: lastSeconds)
        let audit = try scene.audit()
        #expect(audit.faults.count == faultCount, "\(audit.faults)")
    }

    /// A start that arrives while the audience lives is set aside. The end cancels the first start. A card of the
    /// second start is a fault.
    @Test(arguments: [false, true]) func aStartThatIsSetAsideIsNone(hasCard: Bool) throws {
        var scene = Self.begun()
        _ = scene.publish(Self.start(2), at: 22, outcome: "duplicate")
        if hasCard { scene.show(Self.start(2), on: Self.first, at: 23) }
        _ = scene.publish(StoryEvent(.end, app: Self.app), at: 30)
        scene.record(of: 20, .init(members: 2, superseded: 2))
        let audit = try scene.audit()
        #expect(audit.faults == (hasCard ? ["start member 0a0b…: a card of no start that was published"] : []))
        let counts = audit.startCounts
        #expect(counts.orders == 1 && counts.checked == 2 && counts.calledOff == 2)
    }

    /// The end of the second life has the same bytes as the first end, and cancels the second start.
    @Test func theSecondEndCountsToo() throws {
        var scene = Self.begun()
        for token in [Self.first, Self.second] { scene.show(Self.start(1), on: token, at: 21) }
        _ = scene.publish(StoryEvent(.end, app: Self.app), at: 30)
        _ = scene.publish(Self.start(2), at: 60)
        _ = scene.publish(StoryEvent(.end, app: Self.app), at: 80)
        scene.record(of: 20, .init(members: 2, accepted: 2))
        scene.record(of: 60, .init(members: 2, superseded: 2))
        let audit = try scene.audit()
        #expect(audit.faults == [])
        let counts = audit.startCounts
        #expect(counts.orders == 2 && counts.started == 2 && counts.calledOff == 2)
    }

    /// The record about one phone names it by its token's hash, and explains no other phone.
    @Test(arguments: [(StartAuditTests.second, 0), (StartAuditTests.first, 1)])
    func aRecordOfOnePhoneIsItsReason(token: String, faultCount: Int) throws {
        var scene = Self.begun()
        scene.show(Self.start(1), on: Self.first, at: 21)
        let hash = ChaosAudit.tokenHash(token)
        scene.say(
            "{\"outcome\":\"unknown\",\"topic\":\"events\",\"partition\":0,\"offset\":2,\"audience\":\"kick-off\",\"token-hash\":\"\(hash)\"}",
            key: hash, at: 22)
        scene.record(of: 20, .init(members: 2, accepted: 1, unknown: 1))
        let audit = try scene.audit()
        #expect(audit.faults.count == faultCount, "\(audit.faults)")
        #expect(audit.startCounts.unknown == 1 - faultCount)
    }

    @Test func whatAPNsRefusesThoughTheTokenIsGoodIsFound() throws {
        var scene = Self.begun()
        scene.show(Self.start(1), on: Self.first, at: 21)
        let hash = ChaosAudit.tokenHash(Self.second)
        scene.say(
            "{\"outcome\":\"dead-lettered\",\"topic\":\"events\",\"partition\":0,\"offset\":2,\"reason\":\"PayloadTooLarge\","
                + "\"audience\":\"kick-off\",\"token-hash\":\"\(hash)\"}", key: hash, at: 22)
        scene.record(of: 20, .init(members: 2, accepted: 1, failed: 1))
        #expect(try scene.audit().faults.count == 1)
        scene.starts.dead = [Self.second]
        #expect(try scene.audit().faults == [])
    }

    /// A phone that left after the start must get no card long after its leave.
    @Test(arguments: [(21, 0), (60, 1)])
    func whoHasLeftIsLeftAlone(shownSeconds: Int64, faultCount: Int) throws {
        var scene = Self.begun()
        scene.leave(Self.second, at: 25)
        scene.show(Self.start(1), on: Self.first, at: 21)
        scene.show(Self.start(1), on: Self.second, at: shownSeconds)
        scene.record(of: 20, .init(members: 2, accepted: 2))
        let audit = try scene.audit()
        #expect(audit.faults.count == faultCount, "\(audit.faults)")
        #expect(audit.startCounts.checked == 1 && audit.memberCounts.held == 1...2)
    }

    /// After `start.per-hour` starts within an hour a phone may go without the next card, and must not get it.
    @Test(arguments: [false, true])
    func anHourHasItsStarts(isStarted: Bool) throws {
        var scene = Self.begun()
        for number in 1...3 {
            let seconds = Int64(100 * number)
            if number > 1 { _ = scene.publish(Self.start(number), at: seconds) }
            scene.show(Self.start(number), on: Self.first, at: seconds + 1)
            if number < 3 || isStarted { scene.show(Self.start(number), on: Self.second, at: seconds + 1) }
            _ = scene.publish(StoryEvent(.end, app: Self.app, contentState: "{\"end\":\(number)}"), at: seconds + 50)
        }
        let audit = try scene.audit()
        #expect(audit.faults.count == (isStarted ? 2 : 1), "\(audit.faults)")
        #expect(audit.faults.allSatisfy { $0.contains("3 starts in an hour, start.per-hour is 2") })
        #expect(audit.startCounts.heldBack == (isStarted ? 0 : 1))
    }

    @Test func aCardShowsWhatWasPublished() throws {
        var scene = Self.begun()
        _ = scene.publish(StoryEvent(.update, app: Self.app, contentState: "{\"step\":2}"), at: 21)
        for (step, token) in [(2, Self.first), (3, Self.second)] {
            var start = Self.start(1)
            start.contentState = "{\"step\":\(step)}"
            scene.show(start, on: token, at: 22)
        }
        scene.record(of: 20, .init(members: 2, accepted: 2))
        #expect(
            try scene.audit().faults == [
                "start member 0c0d…: its card of kick-off showed what was not published for it"
            ])
    }

    /// After a takeover an audience's record may say less than those of its partitions, but never more.
    @Test(arguments: [(1, false, 0), (1, true, 1), (3, false, 1)])
    func anAudiencesRecordSaysNoMoreThanItsPartitions(accepted: Int, isUndisturbed: Bool, faultCount: Int) throws {
        var scene = Self.begun()
        for token in [Self.first, Self.second] { scene.show(Self.start(1), on: token, at: 21) }
        scene.record(of: 20, .init(members: 2, accepted: 2))
        scene.recordSum(of: 20, .init(members: accepted, accepted: accepted), at: 91)
        scene.starts.isUndisturbed = isUndisturbed
        let audit = try scene.audit()
        #expect(audit.faults.count == faultCount, "\(audit.faults)")
        #expect(audit.startCounts.sumsAgreeing == 0)
    }

    /// A partition's next owner may report as unknown what the owner before it had reported as accepted.
    @Test func aPartitionMaySayLessThanItHasTold() throws {
        var scene = Self.begun()
        for token in [Self.first, Self.second] { scene.show(Self.start(1), on: token, at: 21) }
        scene.record(of: 20, .init(members: 2, accepted: 2))
        scene.recordPass(of: 20, .init(members: 2, unknown: 2), at: 91)
        let audit = try scene.audit()
        #expect(audit.faults.isEmpty, "\(audit.faults)")
        #expect(audit.startCounts.sums == 1 && audit.startCounts.sumsAgreeing == 0)
    }

    /// The audit finds pushes to start members that put up no card: updates, and starts without an alert.
    @Test func aPushThatPutsUpNoCardIsFound() throws {
        var scene = Self.begun()
        for token in [Self.first, Self.second] { scene.show(Self.start(1), on: token, at: 21) }
        var quiet = Self.start(1)
        quiet.alert = nil
        scene.show(quiet, on: Self.second, at: 22)
        scene.show(StoryEvent(.update, app: Self.app, contentState: "{\"step\":1}"), on: Self.first, at: 22)
        scene.record(of: 20, .init(members: 2, accepted: 2))
        #expect(try scene.audit().faults == ["2 pushes to push-to-start tokens put up no card"])
    }
}

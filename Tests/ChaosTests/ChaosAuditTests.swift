import DeviceModel
import Foundation
import KafkaLog
import PushModel
import Testing
import Upstream

@testable import ChaosTesting

/// Tests of the judge itself: right runs pass, and each broken promise is found.
struct ChaosAuditTests {
    private static let topic = "events"
    private static let token = "0a0b"

    /// A right run: the logs and the phone of one activity, and a broken record with its dead letter.
    private struct Scene {
        var publications: [Publication]
        var logs = ChaosAudit.Logs()
        var phone = Device()
        var acknowledgedCount: Int

        init() throws {
            let app = "com.example.pizza"
            var first = StoryEvent(.update, app: app, contentState: "{\"seq\":1}", priority: 10)
            first.timestampSeconds = 100
            var second = StoryEvent(
                .update, app: app, contentState: "{\"seq\":2}", alert: "{\"title\":\"t\",\"body\":\"b\"}")
            second.timestampSeconds = 101
            self.publications = [
                Publication("order", StoryRegistration(app: app, token: ChaosAuditTests.token)),
                Publication("order", first), Publication("order", second),
                Publication("broken", setAside: Array("nonsense".utf8), as: ["dead-lettered"]),
            ]
            self.acknowledgedCount = self.publications.count
            for (offset, publication) in self.publications.enumerated() {
                self.logs.events.append(
                    ChaosAuditTests.record(
                        offset: Int64(offset), key: publication.activity, value: publication.value))
            }
            for (offset, outcome) in ["applied", "superseded", "delivered", "dead-lettered"].enumerated() {
                self.logs.outcomes.append(ChaosAuditTests.outcome(outcome, offset: Int64(offset)))
            }
            var letter = ChaosAuditTests.record(offset: 0, key: "broken", value: Array("nonsense".utf8))
            letter.headers = [(RecordHeader.topic, "events"), (.partition, "3"), (.offset, "3")].map {
                OwnedRecord.Header(name: $0.0.text, value: Array($0.1.utf8))
            }
            self.logs.deadLetters = [letter]
            self.logs.positions = [
                PartitionPositions(
                    topicPartition: TopicPartition(topic: "events", partition: 3), committed: 4, lowOffset: 0,
                    endOffset: 4)
            ]
            try self.phone.push(body: second.payload(recordMillis: 0), priority: 5, nowMillis: 0)
        }

        func audit(budget: Int = 6) throws -> ChaosAudit {
            try ChaosAudit(
                self.logs, publications: self.publications, acknowledgedCount: self.acknowledgedCount,
                topic: ChaosAuditTests.topic, budgetPerHour: budget,
                phone: { $0 == ChaosAuditTests.token ? self.phone : nil })
        }
    }

    private static func record(offset: Int64, key: String, value: [UInt8]) -> OwnedRecord {
        OwnedRecord(partition: 3, offset: offset, timestampMillis: 100_000, key: Array(key.utf8), value: value)
    }

    private static func outcome(_ name: String, offset: Int64) -> OwnedRecord {
        let json = "{\"outcome\":\"\(name)\",\"topic\":\"events\",\"partition\":3,\"offset\":\(offset)}"
        return self.record(offset: offset, key: "order", value: Array(json.utf8))
    }

    @Test func whatIsRightPasses() throws {
        let audit = try Scene().audit()
        #expect(audit.faults == [])
        #expect(audit.eventsLost == 0)
        #expect(audit.devicesChecked == 1 && audit.devicesEquivalent == 1)
        #expect(audit.outcomeCounts == ["applied": 1, "superseded": 1, "delivered": 1, "dead-lettered": 1])
    }

    @Test func repeatsAgreeOrAreDuplicates() throws {
        var scene = try Scene()
        scene.logs.outcomes += [Self.outcome("duplicate", offset: 0), Self.outcome("delivered", offset: 1)]
        #expect(try scene.audit().faults == [])
        #expect(try scene.audit().repeatedOutcomes == 2)
        scene.logs.outcomes.append(Self.outcome("rejected", offset: 2))
        #expect(
            try scene.audit().faults == [
                "order (events[3]@2): delivered and rejected contradict each other",
                "order (events[3]@2): rejected, expected delivered or superseded",
            ])
    }

    /// Two owners may write different outcomes of one event, and the audit counts such events. A successor cannot know
    /// which push a former owner sent without writing it down.
    @Test func whatTwoOwnersSayDifferentlyIsCounted() throws {
        var scene = try Scene()
        scene.logs.outcomes.append(Self.outcome("superseded", offset: 2))
        let audit = try scene.audit()
        #expect(audit.faults == [] && audit.differingOutcomes == 1)
    }

    private static let sayings: [([String], OutcomeAgreement)] = [
        ([], .agree), (["delivered"], .agree), (["duplicate", "delivered", "delivered"], .agree),
        (["delivered", "superseded"], .counts("delivered")), (["unknown", "delivered"], .counts("delivered")),
        (["superseded", "unknown", "delivered"], .counts("delivered")), (["unknown", "expired"], .counts("expired")),
        (["superseded", "unknown"], .counts("superseded")), (["late", "superseded"], .counts("superseded")),
        (["expired", "delivered"], .counts("delivered")),
        (["delivered", "expired"], .contradict(["delivered", "expired"])),
        (["applied", "late"], .contradict(["applied", "late"])),
    ]

    @Test(arguments: Self.sayings)
    func outcomesAgreeOrOneCounts(names: [String], expected: OutcomeAgreement) {
        #expect(OutcomeAgreement(names) == expected)
    }

    @Test func aLostEventIsFound() throws {
        var scene = try Scene()
        scene.logs.outcomes.remove(at: 1)
        let audit = try scene.audit()
        #expect(audit.eventsLost == 1)
        #expect(audit.faults == ["order (events[3]@1): no outcome, expected delivered or superseded"])
    }

    @Test func aPhoneThatShowsSomethingElseIsFound() throws {
        var scene = try Scene()
        scene.phone = Device()
        let audit = try scene.audit()
        #expect(audit.devicesChecked == 1 && audit.devicesEquivalent == 0)
        #expect(audit.faults.count == 1 && audit.faults[0].hasPrefix("order: the device shows nothing, expected"))
    }

    @Test func aBudgetThatIsExceededIsFound() throws {
        var scene = try Scene()
        let update = Array("{\"aps\":{\"event\":\"update\",\"timestamp\":1,\"content-state\":{}}}".utf8)
        for _ in 0..<2 { try scene.phone.push(body: update, priority: 10, nowMillis: 1_000) }
        #expect(try scene.audit(budget: 2).budgetViolations == 0)
        #expect(try scene.audit(budget: 1).budgetViolations == 1)
    }

    @Test func aDeadLetterWithoutOutcomeIsFoundAndTheOtherWayRound() throws {
        var scene = try Scene()
        scene.logs.deadLetters = []
        #expect(try scene.audit().faults == ["events[3]@3: dead-lettered, but there is no dead letter"])
        scene = try Scene()
        scene.logs.outcomes.removeLast()
        #expect(try scene.audit().faults.contains("events[3]@3: a dead letter, but no outcome says so"))
    }

    @Test func whatIsNotCommittedIsFound() throws {
        var scene = try Scene()
        scene.logs.positions[0].committed = 3
        #expect(try scene.audit().faults == ["events[3] is committed up to 3, the log ends at 4"])
    }

    @Test func aRecordKafkaTookAndLostIsFound() throws {
        var scene = try Scene()
        scene.acknowledgedCount = 5
        #expect(try scene.audit().faults == ["5 records were acknowledged, but the log has only 4"])
    }

    /// A producer writes a record twice when the first acknowledgement is lost. The second copy may be a duplicate.
    @Test func aRecordWrittenTwiceMayBeADuplicate() throws {
        var scene = try Scene()
        scene.logs.events.append(Self.record(offset: 4, key: "order", value: scene.publications[0].value))
        scene.logs.outcomes.append(Self.outcome("duplicate", offset: 4))
        #expect(try scene.audit().faults == [])
    }

    /// The outcome is `unknown`, so the card may be up or not. A card that is up must show the right content.
    @Test(arguments: [false, true])
    func aStartWhoseAnswerWasLost(isUp: Bool) throws {
        var scene = try Scene()
        var start = StoryEvent(
            .start, app: "com.example.pizza", contentState: "{\"seq\":9}", alert: "{\"title\":\"t\",\"body\":\"b\"}")
        start.startToken = "0c"
        start.attributesType = "A"
        start.attributes = "{}"
        scene.publications = [Publication("started", start)]
        scene.publications[0].outcomes = ["delivered", "unknown"]
        scene.acknowledgedCount = 1
        scene.logs = ChaosAudit.Logs()
        scene.logs.events = [Self.record(offset: 0, key: "started", value: start.value)]
        scene.logs.outcomes = [Self.outcome("unknown", offset: 0)]
        var phone = Device()
        if isUp { try phone.push(body: start.payload(recordMillis: 100_000), priority: 10, nowMillis: 100_000) }
        let audit = try ChaosAudit(
            scene.logs, publications: scene.publications, acknowledgedCount: 1, topic: Self.topic, budgetPerHour: 6,
            phone: { _ in phone })
        #expect(audit.faults == [])
        #expect(audit.startsUnknown == 1)
        #expect(audit.devicesChecked == (isUp ? 1 : 0))
    }
}

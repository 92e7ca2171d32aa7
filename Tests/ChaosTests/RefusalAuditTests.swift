import DeviceModel
import Foundation
import KafkaLog
import PushModel
import Testing
import Upstream

@testable import ChaosTesting

/// Tests of the judge of records that Kafka refused for good. A loss that the contract allows passes. Without a refusal
/// that explains it, the loss is a fault.
struct RefusalAuditTests {
    private static let token = "0a0b"
    private static let routed = ChaosRefusal(topics: [.routed], way: .size, fromMillis: 100_000, toMillis: 110_000)
    private static let letters = ChaosRefusal(
        topics: [.deadLetters], way: .anything(code: 10, count: 4), fromMillis: 100_000)
    private static let outcomes = ChaosRefusal(
        topics: [.outcomes], way: .keyless, fromMillis: 100_000, toMillis: 110_000)

    /// A misplaced activity with two updates, and a bad record without a key. The newer update became a dead letter.
    private struct Scene {
        var publications: [Publication]
        var logs = ChaosAudit.Logs()
        var phone = Device()
        let second: StoryEvent
        var refusals = ChaosAudit.RefusalScene(refusals: [RefusalAuditTests.routed])

        init() throws {
            let app = "com.example.pizza"
            var first = StoryEvent(.update, app: app, contentState: "{\"seq\":1}", priority: 10)
            first.timestampSeconds = 100
            var second = StoryEvent(.update, app: app, contentState: "{\"seq\":2}", priority: 10)
            second.timestampSeconds = 101
            self.second = second
            self.publications = [
                Publication("order", StoryRegistration(app: app, token: RefusalAuditTests.token)),
                Publication("order", first, isMisplaced: true), Publication("order", second, isMisplaced: true),
                Publication("bad", setAside: Array("nonsense".utf8), as: ["dead-lettered"], key: .some(nil)),
            ]
            self.publications[0].isMisplaced = true
            for (offset, publication) in self.publications.enumerated() {
                self.logs.events.append(
                    OwnedRecord(
                        partition: 3, offset: Int64(offset), timestampMillis: 100_000, key: publication.recordKey,
                        value: publication.value))
            }
            for (offset, name) in ["applied", "delivered", "dead-lettered", "dead-lettered"].enumerated() {
                self.logs.outcomes.append(RefusalAuditTests.outcome(name, offset: Int64(offset)))
            }
            self.logs.deadLetters = [
                RefusalAuditTests.letter(2, "record: the routed topic does not take the record: size"),
                RefusalAuditTests.letter(3, "the record has no key"),
            ]
            try self.phone.push(body: first.payload(recordMillis: 0), priority: 10, nowMillis: 0)
        }

        func audit(partitionCount: Int32? = nil) throws -> ChaosAudit {
            try ChaosAudit(
                self.logs, publications: self.publications, acknowledgedCount: self.publications.count,
                topic: "events", partitionCount: partitionCount, budgetPerHour: 6, refusals: self.refusals,
                phone: { $0 == RefusalAuditTests.token ? self.phone : nil })
        }
    }

    private static func outcome(_ name: String, offset: Int64, reason: String? = nil) -> OwnedRecord {
        let why = reason.map { ",\"reason\":\"\($0)\"" } ?? ""
        let json = "{\"outcome\":\"\(name)\",\"topic\":\"events\",\"partition\":3,\"offset\":\(offset)\(why)}"
        return OwnedRecord(
            partition: 3, offset: offset, timestampMillis: 105_000, key: Array("order".utf8), value: Array(json.utf8))
    }

    private static func letter(_ offset: Int64, _ reason: String, atMillis: Int64 = 105_000) -> OwnedRecord {
        var letter = OwnedRecord(partition: 0, offset: offset, timestampMillis: atMillis, key: nil, value: [])
        letter.headers = [
            (RecordHeader.topic, "events"), (.partition, "3"), (.offset, "\(offset)"), (.reason, reason),
        ].map { OwnedRecord.Header(name: $0.0.text, value: Array($0.1.utf8)) }
        return letter
    }

    @Test func anEventThatRoutedRefusesMayBeADeadLetter() throws {
        let audit = try Scene().audit()
        #expect(audit.faults == [])
        #expect(audit.refusalCounts.eventsDeadLettered == 1 && audit.refusalCounts.eventsForwardedToo == 0)
        #expect(audit.devicesEquivalent == 1)
    }

    /// An event that became a dead letter may be forwarded, too. The next owner does so if the worker died before it
    /// committed the event's offset.
    @Test func itMayBeForwardedToo() throws {
        var scene = try Scene()
        scene.logs.outcomes.append(Self.outcome("delivered", offset: 2))
        try scene.phone.push(
            body: #require(scene.publications[2].event).payload(recordMillis: 0), priority: 10, nowMillis: 1_000)
        let audit = try scene.audit()
        #expect(audit.faults == [] && audit.refusalCounts.eventsForwardedToo == 1)
    }

    /// If neither `routed` nor `dead-letters` takes an event, its partition halts, and the next owner forwards the
    /// event.
    @Test func whereNeitherTopicTakesItItIsForwardedLater() throws {
        var scene = try Scene()
        scene.logs.deadLetters.removeFirst()
        let reason = "record: the routed topic does not take the record: size"
        scene.logs.outcomes[2] = Self.outcome("dead-lettered", offset: 2, reason: reason)
        scene.logs.outcomes.append(Self.outcome("delivered", offset: 2))
        try scene.phone.push(body: scene.second.payload(recordMillis: 0), priority: 10, nowMillis: 0)
        scene.refusals.refusals = [
            ChaosRefusal(topics: [.routed, .deadLetters], way: .size, fromMillis: 100_000, toMillis: 110_000)
        ]
        let audit = try scene.audit()
        #expect(audit.faults == [])
        #expect(audit.refusalCounts.eventsForwardedToo == 1)
        scene.refusals.refusals = [Self.routed]
        #expect(try !scene.audit().faults.isEmpty, "the dead letter could be written")
    }

    @Test func withoutSuchAFaultItIsFound() throws {
        var scene = try Scene()
        scene.refusals = ChaosAudit.RefusalScene(refusals: [Self.letters])
        #expect(
            try scene.audit().faults == ["order (events[3]@2): dead-lettered, expected delivered or superseded"])
    }

    @Test func longAfterTheFaultItIsFound() throws {
        var scene = try Scene()
        scene.logs.deadLetters[0] = Self.letter(
            2, "record: the routed topic does not take the record: size", atMillis: 200_000)
        #expect(try scene.audit().faults.count == 1)
    }

    @Test func forAnotherReasonItIsFound() throws {
        var scene = try Scene()
        scene.logs.deadLetters[0] = Self.letter(2, "'content-state' is missing")
        #expect(try scene.audit().faults.count == 1)
    }

    @Test func anEventOnItsOwnPartitionIsFound() throws {
        var scene = try Scene()
        scene.publications[2].isMisplaced = false
        #expect(try scene.audit().faults.count == 1)
        // With a partition count of 3, the record is on an added partition, so it is forwarded.
        #expect(try scene.audit(partitionCount: 3).faults == [])
    }

    /// The audit finds a phone that shows an event although the event became only a dead letter.
    @Test func aPhoneThatShowsItIsFound() throws {
        var scene = try Scene()
        try scene.phone.push(
            body: #require(scene.publications[2].event).payload(recordMillis: 0), priority: 10, nowMillis: 1_000)
        #expect(try scene.audit().devicesEquivalent == 0)
    }

    @Test func anOutcomeWithoutAKeyMayBeCountedOnly() throws {
        var scene = try Scene()
        scene.logs.outcomes.removeLast()
        scene.refusals = ChaosAudit.RefusalScene(refusals: [Self.routed, Self.outcomes], outcomesUnpublished: 1)
        let audit = try scene.audit()
        #expect(audit.faults == [] && audit.eventsLost == 0 && audit.refusalCounts.outcomesMissing == 1)
        scene.refusals.outcomesUnpublished = 0
        #expect(
            try scene.audit().faults == [
                "1 outcomes are missing, and workers counted 0 that Kafka refused"
            ])
        scene.refusals.countsAreWhole = false
        #expect(try scene.audit().faults == [])
    }

    @Test func anOutcomeThatNobodyRefusedIsFound() throws {
        var scene = try Scene()
        scene.logs.outcomes.removeLast()
        #expect(try scene.audit().eventsLost == 1)
        // A compacted topic refuses only records without a key.
        scene.refusals = ChaosAudit.RefusalScene(refusals: [Self.routed, Self.outcomes], outcomesUnpublished: 9)
        scene.logs.outcomes.remove(at: 1)
        #expect(try scene.audit().eventsLost == 1)
        // A bad record without its dead letter counts as lost, too.
        scene.logs.deadLetters.removeLast()
        #expect(try scene.audit().eventsLost == 2)
    }

    @Test func aDeadLetterMayBeGivenUpIfItIsCounted() throws {
        var scene = try Scene()
        scene.logs.deadLetters.removeLast()
        scene.refusals = ChaosAudit.RefusalScene(refusals: [Self.routed, Self.letters], lettersGivenUp: 1)
        let audit = try scene.audit()
        #expect(audit.faults == [] && audit.refusalCounts.lettersMissing == 1)
        scene.refusals.lettersGivenUp = 0
        #expect(
            try scene.audit().faults == [
                "1 dead letters are missing, and workers counted 0 that they gave up"
            ])
        scene.refusals = ChaosAudit.RefusalScene(refusals: [Self.routed], lettersGivenUp: 1)
        #expect(try scene.audit().faults == ["events[3]@3: dead-lettered, but there is no dead letter"])
    }

    /// A refusal of the embedded Kafka excuses a missing dead letter only until it ends, even if the workers' counts are
    /// not whole. The outcome is of 105 s.
    @Test(arguments: [(Int64(90_000), true), (60_000, false)])
    func aRefusalExcusesNothingAfterItsEnd(endMillis: Int64, isExcused: Bool) throws {
        var scene = try Scene()
        scene.logs.deadLetters.removeLast()
        var letters = Self.letters
        (letters.fromMillis, letters.toMillis) = (endMillis - 10_000, endMillis)
        scene.refusals = ChaosAudit.RefusalScene(refusals: [Self.routed, letters], countsAreWhole: false)
        let found = isExcused ? [] : ["events[3]@3: dead-lettered, but there is no dead letter"]
        #expect(try scene.audit().faults == found)
    }

    /// Workers never give up the dead letter of a good event, so the audit reports one that is missing.
    @Test func aGoodEventsDeadLetterThatIsMissingIsFound() throws {
        var scene = try Scene()
        scene.logs.deadLetters.removeFirst()
        scene.refusals = ChaosAudit.RefusalScene(refusals: [Self.routed, Self.letters], lettersGivenUp: 9)
        #expect(try scene.audit().faults.contains("events[3]@2: dead-lettered, but there is no dead letter"))
    }

    /// A Kafka that takes every change.
    private struct WillingKafka: RefusingKafka {
        var kafkaIsEmbedded: Bool
        func configure(_: [TopicRole], setting: String?, _: String) {}
        func fail(_: TopicRole, code: Int, count: Int) {}
    }

    /// A refusal is open until its end, also with the embedded Kafka.
    @Test(arguments: [false, true]) func everyRefusalEnds(kafkaIsEmbedded: Bool) async throws {
        let refusals = ChaosRefusals(kafka: WillingKafka(kafkaIsEmbedded: kafkaIsEmbedded))
        let hasBegun = try await refusals.begin(0)
        #expect(hasBegun && refusals.refusals.map(\.toMillis) == [.max])
        try await refusals.end()
        #expect(!refusals.isInForce && refusals.refusals.allSatisfy { $0.toMillis < .max })
    }

    @Test func countsOutliveWorkers() {
        var count = CountOverLives("refused_total")
        count.take("refused_total 3\n", of: "worker 1")
        count.take("refused_total 5\n", of: "worker 1")
        count.take("refused_total 2\n", of: "worker 2")
        count.hasEnded("worker 1")
        #expect(count.sum == 7)
        count.take("refused_total 1\n", of: "worker 1")
        #expect(count.sum == 8)
    }

    /// A real Kafka refuses records of `routed`, `dead-letters`, `state` or `outcomes`. The embedded Kafka refuses only
    /// records of `dead-letters` or `state`.
    @Test func everyWayIsDrawn() {
        let real = (0..<6).map { ChaosRefusal.drawn($0, kafkaIsEmbedded: false) }
        for topic in [TopicRole.routed, .deadLetters, .state, .outcomes] {
            #expect(real.contains { $0.topics.contains(topic) }, "\(topic)")
        }
        for choice in 0..<20 {
            let topics = ChaosRefusal.drawn(choice, kafkaIsEmbedded: true).topics
            #expect(topics == [.deadLetters] || topics == [.state])
        }
    }
}

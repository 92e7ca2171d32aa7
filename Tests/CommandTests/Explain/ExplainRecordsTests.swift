import Foundation
import KafkaLog
import PushEngine
import PushModel
import Testing

@testable import mailboat

/// Tests of what `mailboat explain` reads from records of the five topics.
struct ExplainRecordsTests {
    private static let nowMillis: Int64 = 1_795_632_000_000
    private static let records = ExplainRecords(key: Array("order-7".utf8), app: nil, nowMillis: nowMillis)

    private static func record(
        _ value: String?, key: String = "order-7", headers: [(RecordHeader, String)] = []
    ) -> OwnedRecord {
        OwnedRecord(
            partition: 1, offset: 9, timestampMillis: Self.nowMillis, key: Array(key.utf8),
            value: value.map { Array($0.utf8) },
            headers: headers.map { .init(name: $0.0.text, value: Array($0.1.utf8)) })
    }

    private static let cameFrom: [(RecordHeader, String)] = [(.topic, "events"), (.partition, "3"), (.offset, "44")]

    @Test func anEventIsRead() throws {
        let value =
            "{\"event\":\"update\",\"id\":\"order-7-ready\",\"app\":\"a.b\",\"content-state\":{\"eta\":1795632500},\"alert\":{\"title\":\"t\",\"body\":\"b\"},\"stale-date\":1795632001}"
        let event = try #require(Self.records.event(Self.record(value), topic: "events", isRouted: false))
        #expect(event.event == "update" && event.isForPhone && event.hasAlert && event.priority == 10)
        #expect(event.timestampSeconds == 1_795_632_000 && event.staleDateSeconds == 1_795_632_001)
        #expect(event.eventID == "order-7-ready")
        #expect(event.app == "a.b" && event.source == event.place.position)
        #expect(event.doubtfulDates == ["eta = 1795632500 (seconds since 1970; send 817325300)"])
        #expect(!event.bringsToken)
    }

    /// A start has its token in `to`.
    @Test func aStartIsRead() throws {
        let value =
            "{\"event\":\"start\",\"to\":{\"start-token\":\"ab\"},\"attributes-type\":\"P\",\"attributes\":{\"placed\":1795632500},\"content-state\":{},\"alert\":{\"title\":\"t\",\"body\":\"b\"}}"
        let event = try #require(Self.records.event(Self.record(value), topic: "events", isRouted: false))
        #expect(event.event == "start" && event.bringsToken)
    }

    /// Dates in the attributes of a start are found like those in its content.
    @Test func theAttributesOfAStartAreLookedAt() throws {
        let value =
            #"{"event":"start","to":{"start-token":"aabbccdd"},"attributes-type":"P","attributes":{"orderedAt":1795632500},"content-state":{"eta":817325300},"alert":{"title":"t","body":"b"}}"#
        let event = try #require(Self.records.event(Self.record(value), topic: "events", isRouted: false))
        #expect(event.doubtfulDates == ["attributes.orderedAt = 1795632500 (seconds since 1970; send 817325300)"])
        let facts = ExplainVerdictTests.facts(
            [event], ExplainVerdictTests.slot("started", token: nil),
            [ExplainVerdictTests.outcome("delivered") { $0.source = event.source }])
        let hints = ExplainVerdict.decide(facts).next
        #expect(hints.contains { $0.hasPrefix("In content-state and attributes, attributes.orderedAt") }, "\(hints)")
    }

    @Test func anEventThatWasSentBackNamesItsDeadLetter() throws {
        let record = Self.record("{\"event\":\"unregister\"}", headers: [(.republished, "3:17")])
        let event = try #require(Self.records.event(record, topic: "events", isRouted: false))
        #expect(event.republishedFrom == "3:17" && event.eventID == nil)
    }

    @Test func whatCannotBeReadSaysWhy() throws {
        let event = try #require(
            Self.records.event(Self.record("{\"event\":\"update\"}"), topic: "events", isRouted: false))
        #expect(event.fault?.hasPrefix("content-state: is missing") == true)
        let empty = try #require(Self.records.event(Self.record(nil), topic: "events", isRouted: false))
        #expect(empty.fault?.contains("null") == true)
    }

    @Test func recordsOfOtherKeysAndAppsAreNot() {
        let value = "{\"event\":\"unregister\",\"app\":\"a.b\"}"
        #expect(Self.records.event(Self.record(value, key: "order-77"), topic: "events", isRouted: false) == nil)
        let other = ExplainRecords(key: Array("order-7".utf8), app: "c.d", nowMillis: Self.nowMillis)
        #expect(other.event(Self.record(value), topic: "events", isRouted: false) == nil)
    }

    @Test func aForwardedEventSaysWhereItFirstLay() throws {
        let forwarded = Self.record("{\"event\":\"unregister\"}", headers: Self.cameFrom)
        let event = try #require(Self.records.event(forwarded, topic: "routed", isRouted: true))
        #expect(event.source == .init(topic: "events", partition: 3, offset: 44))
        let message = Self.record("{}", headers: Self.cameFrom + [(.kind, "version")])
        #expect(Self.records.event(message, topic: "routed", isRouted: true) == nil)
    }

    @Test func anOutcomeIsRead() throws {
        let value =
            "{\"outcome\":\"superseded\",\"app\":\"a.b\",\"activity\":\"order-7\",\"topic\":\"events\",\"partition\":1,\"offset\":4,\"into\":{\"topic\":\"events\",\"partition\":1,\"offset\":5},\"kept\":[\"alert\"],\"queued-ms\":40}"
        let outcome = try #require(Self.records.outcome(Self.record(value), topic: "outcomes"))
        #expect(outcome.outcome == "superseded" && outcome.kept == ["alert"] && outcome.queuedMillis == 40)
        #expect(outcome.source?.offset == 4 && outcome.into?.offset == 5)
        #expect(!outcome.tokenIsDoubted)
        let rejected = "{\"outcome\":\"rejected\",\"app\":\"a.b\",\"activity\":\"order-7\",\"token\":\"doubted\"}"
        #expect(Self.records.outcome(Self.record(rejected), topic: "outcomes")?.tokenIsDoubted == true)
        #expect(Self.records.outcome(Self.record("no JSON"), topic: "outcomes") == nil)
        let fannedOut = Self.record("{\"outcome\":\"fanned-out\",\"audience\":\"order-7\",\"version\":1700000000}")
        #expect(Self.records.outcome(fannedOut, topic: "outcomes")?.version == 1_700_000_000)
    }

    @Test func aDeadLetterIsRead() throws {
        let letter = try #require(
            Self.records.letter(
                Self.record("{}", headers: Self.cameFrom + [(.reason, "event: is missing"), (.field, "event")]),
                topic: "dead-letters"))
        #expect(letter.reason == "event: is missing" && letter.field == "event" && letter.source?.offset == 44)
    }

    @Test func aStateRecordThatCannotBeReadIsNamed() throws {
        let reader = StateRecordReader(inputTopics: ["events"])
        var record = Self.record(nil, key: "a/com.example.pizza/order-7")
        let gone = try #require(Self.records.state(record, topic: "state", reader: reader))
        #expect(gone.slot == nil && gone.unreadable == nil && gone.app == "com.example.pizza")
        #expect(!gone.tokenIsDoubted)
        record.headers = [.init(name: RecordHeader.tokenDoubted.text, value: [0x31])]
        #expect(Self.records.state(record, topic: "state", reader: reader)?.tokenIsDoubted == true)
        record.value = [99]
        #expect(Self.records.state(record, topic: "state", reader: reader)?.unreadable?.contains("version 99") == true)
        record.key = Array("a/com.example.pizza/another/order-7".utf8)
        #expect(Self.records.state(record, topic: "state", reader: reader) == nil)
    }

    /// Other `state` records about an audience have keys that end like the audience's own key. The reader must not use
    /// them as the audience's record.
    @Test func whatLiesBesideAnAudienceIsNotTheAudience() throws {
        let reader = StateRecordReader(inputTopics: ["events"])
        for prefix in ["h", "v", "p", "d", "r"] {
            let gone = Self.record(nil, key: "\(prefix)/com.example.pizza/order-7")
            #expect(Self.records.state(gone, topic: "state", reader: reader) == nil, "\(prefix)")
        }
        func lifted(_ key: String) -> Bool? {
            let said = Self.records.pause(
                Self.record(nil, key: key), topic: "state", app: "com.example.pizza", reader: reader)
            #expect(said?.pause == nil)
            return said?.isOfApp
        }
        #expect(lifted("h/com.example.pizza/order-7") == false)
        #expect(lifted("h/com.example.pizza/") == true)
        #expect(lifted("h/com.example.other/order-7") == nil)
        #expect(lifted("h/com.example.pizza/order-8") == nil)
        #expect(lifted("o/com.example.pizza/order-7") == nil)
    }

    @Test func anOutcomeOfAChannelSaysSo() throws {
        let value = "{\"outcome\":\"rejected\",\"channel\":\"order-7\",\"reason\":\"ChannelNotRegistered\"}"
        #expect(Self.records.outcome(Self.record(value), topic: "outcomes")?.isBroadcast == true)
        let other = Self.record("{\"outcome\":\"rejected\",\"activity\":\"order-7\"}")
        #expect(Self.records.outcome(other, topic: "outcomes")?.isBroadcast == false)
    }

    // MARK: Dates

    @Test(arguments: [
        ("{\"a\":{\"b\":[1795632500]}}", ["a.b[0] = 1795632500 (seconds since 1970; send 817325300)"]),
        ("{\"t\":1795632500123}", ["t = 1795632500123 (milliseconds since 1970; send 817325300)"]),
        ("{\"t\":\"2026-11-25T18:00:00Z\"}", ["t = \"2026-11-25T18:00:00Z\" (a text; send 817322400)"]),
        ("{\"t\":\"2026-11-25T18:00:00\"}", ["t = \"2026-11-25T18:00:00\" (a text; send 817322400 (taken as UTC))"]),
        ("{\"t\":817325300,\"n\":12,\"flag\":true,\"s\":\"2026\"}", []), ("", []), ("{", []),
        ("{\"a\":1795632500,\"b\":1795632500,\"c\":1795632500,\"d\":1795632500}", nil),
    ])
    func datesThatAPhoneReadsOtherwiseAreFound(text: String, expected: [String]?) {
        let found = DoubtfulDates.find(inContentState: Array(text.utf8))
        guard let expected else {
            #expect(found.count == DoubtfulDates.shownMax)
            return
        }
        #expect(found == expected)
    }

    /// A member is found by the hash of its token. That hash is the key of the outcome when APNs refuses a push to the
    /// member.
    @Test func aRefusedMemberIsFollowedByItsHash() {
        typealias Pieces = ExplainVerdictTests
        let refusal = Pieces.outcome("rejected") {
            $0.status = 410
            $0.reason = "Unregistered"
        }
        let join = Pieces.event("register") { $0.isMembership = true }
        let verdict = ExplainVerdict.decide(Pieces.facts([join], nil, [refusal]) { $0.memberHash = Pieces.hash })
        #expect(verdict.cause == .member)
        #expect(
            verdict.sentence.hasSuffix(
                "its hash is 099ac307b61d7d34. It was removed 39 s ago: APNs said 410 Unregistered."))
        let doubted = Pieces.outcome("rejected") {
            ($0.status, $0.reason, $0.tokenIsDoubted) = (400, "BadDeviceToken", true)
        }
        let kept = ExplainVerdict.decide(Pieces.facts([join], nil, [doubted])).sentence
        #expect(kept.contains("(400 BadDeviceToken), as it refused many") && kept.contains("The member is kept"))
    }
}

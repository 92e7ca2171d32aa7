import ArgumentParser
import CommandSupport
import Foundation
import KafkaLog
import PushModel
import Testing
import Upstream

@testable import mailboat

@Suite(.timeLimit(.minutes(5)))
struct DeadLetterTests {
    private static let now: Int64 = 1_700_000_000
    private static let app = "\"app\":\"com.example.pizza\""

    private static func letter(
        _ value: String?, reason: String = "app: is not configured", key: String? = "order-7", offset: Int64 = 17,
        partition: Int32 = 3, headers: [OwnedRecord.Header] = []
    ) -> DeadLetter {
        let source = [
            (RecordHeader.reason, reason), (.topic, "liveactivity.events"), (.partition, "5"), (.offset, "120"),
            (.timestamp, "1699999999000"),
        ].map { OwnedRecord.Header(name: $0.0.text, value: Array($0.1.utf8)) }
        return DeadLetter(
            OwnedRecord(
                partition: partition, offset: offset, timestampMillis: (Self.now - 60) * 1_000,
                key: key.map { Array($0.utf8) }, value: value.map { Array($0.utf8) }, headers: source + headers))
    }

    private static func verdict(_ letter: DeadLetter, apps: [String]? = nil) -> DeadLetter.Verdict {
        var check = EventCheck(app: "", nowSeconds: Self.now)
        return letter.verdict(check: &check, apps: apps)
    }

    // MARK: What may be sent back

    @Test func aGoodEventMayBeSentBack() {
        #expect(
            Self.verdict(Self.letter("{\"event\":\"update\",\(Self.app),\"content-state\":{}}")) == .sendable(if: nil))
        #expect(
            Self.verdict(Self.letter("{\"event\":\"register\",\(Self.app),\"token\":\"aa\"}")) == .sendable(if: nil))
    }

    /// A refused event is found by its id, if its JSON has one.
    @Test(arguments: [
        ("{\"event\":\"update\",\"id\":\"ready\",\"expires\":1}", true), ("{\"id\":\"ready-2\"}", false),
        ("{\"id\":7}", false), ("{\"id\":\"ready\",\"id\":\"ready\"}", true),
        // In a value that cannot be read, the id is looked for in quotes.
        ("{\"event\":\"update\",\"id\":\"ready\",\"content-sta", true), (#""{\"id\":\"ready\"}""#, true),
        ("{'id': 'ready'}", true), ("{\"id\":\"ready-2\",\"content-sta", false), ("ready", false),
        (#"{"specversion":"1.0","id":"ready","data":{"event":"stop"}}"#, true),
        ("no JSON", false), (nil, false),
    ])
    func aRefusedEventIsFoundByItsID(value: String?, isMeant: Bool) throws {
        let filter = try DeadLetterFilter.parse(["--event-id", "ready"])
        #expect(try filter.matcher(nowMillis: Self.now * 1_000)(Self.letter(value)) == isMeant)
    }

    // MARK: What was sent back

    /// A dead letter that was sent back is shown with the newest event that was made from it.
    @Test func aLetterThatWasSentBackIsMarked() {
        let letter = Self.letter("{\"event\":\"update\",\"id\":\"e-7\",\(Self.app),\"content-state\":{}}")
        var sentBack = SentBackLetters()
        var askedCount = 0
        for _ in 1...2 {
            sentBack.expect(letter) { _ in
                askedCount += 1
                return 8
            }
        }
        #expect(askedCount == 1 && sentBack.doubt == nil && sentBack[letter.position] == nil)
        let newest = SentBackLetters.Event(topic: "liveactivity.events", partition: 2, offset: 140)
        sentBack.take([(letter.position, newest), ("3:18", newest)])
        sentBack.take([(letter.position, .init(topic: "liveactivity.events", partition: 2, offset: 90))])
        #expect(sentBack[letter.position] == newest)
        let verdict = Self.verdict(letter)
        let lines = DeadLetterText.lines(letter, verdict, sentBackAs: sentBack[letter.position])
        #expect(lines[0].contains("key “order-7”, id e-7, "))
        #expect(lines.last == "    was sent back as liveactivity.events[2]@140")
        let json = DeadLetterText.json(letter, verdict, sentBackAs: sentBack[letter.position])
        #expect(json.contains(#""eventID":"e-7""#))
        #expect(json.contains(#""sentBackAs":{"offset":140,"partition":2,"topic":"liveactivity.events"}"#), "\(json)")
        #expect(!DeadLetterText.json(letter, verdict).contains("sentBackAs"))
    }

    /// If the source topic cannot be read, the command says so. It cannot know then which dead letters have already
    /// been sent back to that topic.
    @Test func whatCannotBeReadIsSaid() {
        var sentBack = SentBackLetters()
        sentBack.expect(Self.letter("{}")) { _ in throw CommandFailure("not authorized") }
        #expect(sentBack.doubt == "liveactivity.events cannot be read: not authorized")
    }

    /// An event of an unknown app can be republished only if the app is configured by now. The command knows the
    /// configured apps only with `--config`.
    @Test func anAppThatWorkersDoNotHaveIsToldOf() {
        let update = "{\"event\":\"update\",\(Self.app),\"content-state\":{}}"
        let letter = Self.letter(update, headers: [.init(name: RecordHeader.field.text, value: Array("app".utf8))])
        #expect(Self.verdict(letter) == .sendable(if: "if workers have its app by now, which --config tells"))
        #expect(DeadLetterText.lines(letter, Self.verdict(letter)).last?.contains("can be republished, if") == true)
        #expect(Self.verdict(letter, apps: ["com.example.pizza", "a.b"]) == .sendable(if: nil))
        #expect(
            Self.verdict(letter, apps: ["a.b"])
                == .doubtful("it would be refused again: the configuration has no app com.example.pizza"))
        let nameless = Self.letter("{\"event\":\"update\",\"content-state\":{}}")
        #expect(Self.verdict(nameless, apps: ["a.b"]) == .sendable(if: nil))
        #expect(
            Self.verdict(nameless, apps: ["a.b", "c.d"])
                == .doubtful("it would be refused again: it names no app, and the configuration has 2 apps"))
    }

    /// A configuration shows whether workers have the environment of a refused event by now.
    @Test func anEnvironmentThatWorkersDoNotHaveIsToldOf() {
        let letter = Self.letter(
            "{\"event\":\"register\",\"token\":\"aa\",\"environment\":\"development\",\(Self.app)}",
            reason: "environment: \"development\" is not configured for this app",
            headers: [.init(name: RecordHeader.field.text, value: Array("environment".utf8))])
        func verdict(_ environments: [PushEnvironment]) -> DeadLetter.Verdict {
            var check = EventCheck(app: "", nowSeconds: Self.now)
            check.environments = ["com.example.pizza": environments]
            return letter.verdict(check: &check, apps: ["com.example.pizza"])
        }
        #expect(Self.verdict(letter) == .sendable(if: "if workers have its environment by now, which --config tells"))
        #expect(verdict([.production, .development]) == .sendable(if: nil))
        guard case .doubtful(let reason) = verdict([.production]) else {
            Issue.record("can be sent")
            return
        }
        #expect(reason.hasPrefix("it would be refused again: “environment” ") && reason.contains("apns.environments"))
    }

    @Test func aReasonIsNotSaidTwice() {
        let reason = "contentState: is not a field of an event. Did you mean “content-state”?"
        let letter = Self.letter("{\"event\":\"update\",\(Self.app),\"contentState\":{}}", reason: reason)
        let lines = DeadLetterText.lines(letter, Self.verdict(letter))
        #expect(
            lines.dropFirst() == [
                "    \(reason)", "    republish needs --force: it would be refused again, for the same reason",
            ])
    }

    @Test(arguments: [
        ("no JSON", "it would be refused again"), ("{\"event\":\"update\",\(app)}", "“content-state”"),
        ("{\"event\":\"update\",\(app),\"content-state\":{},\"timestamp\":1700000301}", "“timestamp”"),
        ("{\"event\":\"update\",\(app),\"content-state\":{},\"expires\":1699999990}", "was 10 s ago"),
        (
            "{\"event\":\"start\",\(app),\"content-state\":{},\"to\":{\"start-token\":\"aa\"},\"attributes-type\":\"A\","
                + "\"attributes\":{},\"alert\":{\"title\":\"t\",\"body\":\"b\"}}", "a start puts up a card"
        ),
    ])
    func whatWouldBeRefusedNeedsForce(value: String, reason: String) {
        guard case .doubtful(let text) = Self.verdict(Self.letter(value)) else {
            Issue.record("\(value): \(Self.verdict(Self.letter(value)))")
            return
        }
        #expect(text.contains(reason))
    }

    /// A start that APNs refused cannot be republished, because its dead letter does not contain the token.
    @Test func aStartThatAPNsRefusedCannotBeSentBack() {
        let kept = "{\"event\":\"start\",\(Self.app),\"timestamp\":1700000000,\"content-state\":{}}"
        guard
            case .impossible(let text) = Self.verdict(
                Self.letter(kept, reason: "APNs refused the push: 413 PayloadTooLarge"))
        else {
            Issue.record("it may be sent back")
            return
        }
        #expect(text.contains("without its token"))
    }

    /// If APNs refused an audience's event for one member, republishing the event needs `--force`. All other members
    /// already have the event and its alert.
    @Test func anAudiencesEventThatOneMemberRefusedNeedsForce() {
        func text(_ alert: String, reason: String = "APNs refused the push: 413 PayloadTooLarge") -> String {
            let value =
                "{\"event\":\"update\",\(Self.app),\"to\":{\"audience\":\"final-1\"},\"content-state\":{}\(alert)}"
            return DeadLetterText.lines(
                Self.letter(value, reason: reason, key: "final-1"),
                Self.verdict(Self.letter(value, reason: reason, key: "final-1")))[2]
        }
        let alert = ",\"alert\":{\"title\":\"t\",\"body\":\"b\"}"
        #expect(
            text(alert).hasPrefix(
                "    republish needs --force: it goes to all members of final-1 again, alert included, and APNs"))
        #expect(text("").hasPrefix("    republish needs --force: it goes to all members of final-1 again, and APNs"))
        #expect(text(alert, reason: "audience: there are too many") == "    can be republished")
    }

    /// The record is shown as one line that `mailboat publish` accepts.
    @Test(arguments: [
        (#"{"event": "update","contentState":{"n": 1.50}}"#, #"{"event": "update","contentState":{"n": 1.50}}"#),
        (#"{"name":"caf\u00e9"}"#, #"{"name":"caf\u00e9"}"#), ("{\n\t\"a\":1\n}", #"{  "a":1 }"#),
        ("no JSON", #""no JSON""#), ("no\nJSON", #""no\nJSON""#),
    ])
    func aRecordIsShownOnDemandAsItIsPublished(value: String, shown: String) throws {
        let letter = Self.letter(value)
        let verdict = Self.verdict(letter)
        #expect(DeadLetterText.lines(letter, verdict).count == 3)
        let line = try #require(DeadLetterText.lines(letter, verdict, showsRecord: true).last)
        #expect(line == "    {\"key\":\"order-7\",\"value\":\(shown)}")
        let record = try RecordText(Array(line.trimmingPrefix("    ").utf8))
        #expect(record.key == Array("order-7".utf8) && record.value != nil)
        #expect(!DeadLetterText.json(letter, verdict).contains("\"record\""))
        #expect(DeadLetterText.json(letter, verdict, showsRecord: true).contains("\"record\""))
    }

    @Test func withoutItsSourceNothingCanBeSentBack() {
        let letter = DeadLetter(
            OwnedRecord(partition: 0, offset: 0, timestampMillis: 0, key: nil, value: Array("{}".utf8)))
        #expect(Self.verdict(letter) == .impossible("its headers do not say which topic it came from"))
    }

    @Test func aRepublishedRecordIsMarkedAndKeepsItsOwnHeaders() {
        let letter = Self.letter("{}", headers: [.init(name: "x-from", value: Array("shop".utf8))])
        #expect(
            letter.republishedHeaders == [
                .init(name: "x-from", value: Array("shop".utf8)),
                .init(name: RecordHeader.republished.text, value: Array("3:17".utf8)),
            ])
    }

    // MARK: Which are meant

    @Test(arguments: [
        ([], true), (["--reason", "CONFIGURED"], true), (["--reason", "timestamp"], false),
        (["--source-topic", "liveactivity.events"], true), (["--source-topic", "other"], false),
        (["--source-partition", "5"], true), (["--source-partition", "3"], false),
        (["--source-offsets", "100-120"], true), (["--source-offsets", "121"], false),
        (["--since", "2m"], true), (["--since", "30s"], false), (["--since", "1699999930"], true),
        (["--letter", "3:17"], true), (["--letter", "3:18", "--letter", "3:17"], true), (["--letter", "5:120"], false),
    ])
    func filters(arguments: [String], isMeant: Bool) throws {
        let filter = try DeadLetterFilter.parse(arguments)
        #expect(try filter.matcher(nowMillis: Self.now * 1_000)(Self.letter("{}")) == isMeant)
    }

    @Test(arguments: [
        (["--since", "soon"], "30m, 2h or 7d"), (["--source-offsets", "9-3"], "first-last"),
        (["--source-offsets", "-"], "first-last"), (["--letter", "17"], "partition:offset"),
        (["--timeout", "0"], "1 to 3600"), (["-X", "nonsense"], "name=value"),
    ])
    func aWrongCommandLineSaysWhatWasExpected(arguments: [String], expected: String) {
        #expect {
            _ = try DeadLettersCommand.List.parse(["--bootstrap", "localhost:1"] + arguments)
        } throws: {
            DeadLettersCommand.List.message(for: $0).contains(expected)
        }
    }

    @Test func whatBecomesOfALetterAsALineAndAsJSON() {
        var line = RepublishLine(.leftOut, partition: 3, offset: 17)
        line.because = "why"
        #expect(line.text == "left out   3:17: why")
        #expect(line.json == #"{"action":"left-out","because":"why","offset":17,"partition":3}"#)
        line = RepublishLine(.wouldSend, partition: 3, offset: 17)
        line.topic = "events"
        #expect(line.text == "would send 3:17 to events")
        line = RepublishLine(.sent, partition: 3, offset: 17)
        (line.topic, line.toPartition, line.toOffset) = ("events", 1, 42)
        #expect(line.text == "sent       3:17 to events[1]@42")
        #expect(
            line.json
                == #"{"action":"sent","offset":17,"partition":3,"to":{"offset":42,"partition":1,"topic":"events"}}"#)
    }

    // MARK: All the way

    @Test func whatIsSentBackLiesOnTheKeysPartitionWithItsMark() async throws {
        let kafka = try EmbeddedKafka(topics: [
            .init("liveactivity.events", partitionCount: 8), .init("liveactivity.dead-letters", partitionCount: 2),
        ])
        defer { kafka.stop() }
        let value = Array("{\"event\":\"update\",\(Self.app),\"content-state\":{\"n\":1}}".utf8)
        try Self.write(Self.letter(String(decoding: value, as: UTF8.self)).record, to: kafka)
        try Self.write(Self.letter("no JSON").record, to: kafka)
        let words = ["--bootstrap", kafka.bootstrap, "-X", "fetch.wait.max.ms=5"]

        // Without `--execute` the command writes nothing.
        await #expect(throws: ExitCode(1)) { try await DeadLettersCommand.Republish.parse(words).run() }
        #expect(try await Self.readEvents(kafka).isEmpty)

        // If a record is left out, the exit status is 1. The other records are sent.
        await #expect(throws: ExitCode(1)) { try await DeadLettersCommand.Republish.parse(words + ["--execute"]).run() }
        let sent = try await Self.readEvents(kafka)
        #expect(sent.count == 1)
        #expect(sent.first?.value == value && sent.first?.keyText == "order-7")
        let key = Array("order-7".utf8)
        #expect(sent.first?.partition == Murmur2.partition(key: key.span, count: 8))
        #expect(sent.first?.headers.map(\.name) == [RecordHeader.republished.text])
        #expect((sent.first?.timestampMillis ?? 0) > Self.now * 1_000)

        try await DeadLettersCommand.Republish.parse(words + ["--execute", "--force", "--format", "json"]).run()
        #expect(try await Self.readEvents(kafka).count == 3)

        // The command names a selected letter that does not exist, and fails.
        for letter in [["--letter", "99:0"], ["--letter", "0:0", "--letter", "99:0"]] {
            await #expect {
                try await DeadLettersCommand.Republish.parse(words + letter).run()
            } throws: { "\($0)".contains("liveactivity.dead-letters has no letter 99:0") }
        }
        await #expect(throws: CommandFailure.self) {
            try await DeadLettersCommand.List.parse(words + ["--letter", "99:0"]).run()
        }
    }

    private static func readEvents(_ kafka: EmbeddedKafka) async throws -> [OwnedRecord] {
        try await TopicReading.readAll(
            "liveactivity.events", partitionCount: 8, settings: kafka.settings, within: .seconds(20))
    }

    private static func write(_ record: OwnedRecord, to kafka: EmbeddedKafka) throws {
        let producer = try KafkaProducer(
            ProducerConfiguration(settings: kafka.settings), onDeliveries: {}, onError: { _ in })
        var headers = KafkaHeaders()
        for header in record.headers {
            headers.append(header.name, String(decoding: header.value ?? [], as: UTF8.self))
        }
        let (key, value) = (record.key ?? [], record.value ?? [])
        #expect(
            producer.produce(
                try producer.topic("liveactivity.dead-letters"), partition: 0, key: key.span, value: value.span,
                headers: headers, opaque: 0) == .queued)
        #expect(producer.flush(within: .seconds(20)) { _ in } == 0)
    }
}

import ArgumentParser
import Foundation
import KafkaLog
import PushEngine
import PushModel
import Testing

@testable import mailboat

@Suite(.timeLimit(.minutes(5)))
struct TailTests {
    private static let delivered =
        "{\"outcome\":\"delivered\",\"app\":\"a.b\",\"activity\":\"order-7\",\"topic\":\"e\",\"partition\":1,\"offset\":4,\"status\":200,\"priority\":10,\"merged\":2,\"queued-ms\":40,\"apns-ms\":12}"

    private static func record(
        _ value: String? = delivered, key: String = "order-7", millis: Int64 = 1_700_000_000_000
    ) -> OwnedRecord {
        OwnedRecord(
            partition: 1, offset: 9, timestampMillis: millis, key: Array(key.utf8), value: value.map { Array($0.utf8) })
    }

    private static func taken(_ record: OwnedRecord, by filter: TailFilter = TailFilter()) -> OutcomeLine? {
        var vain = ReadInVain()
        return filter.take(record, vain: &vain)
    }

    /// The program and the page of `mailboat dev` compute the same hash of a token. `EventReadingTests` checks the
    /// page.
    @Test func aTokensHashIsThatOfThePage() {
        #expect(StateRecordReader.hash(Array("foobar".utf8)) == "85944171f73967e8")
    }

    @Test(arguments: [
        (TailFilter(), true), (TailFilter(app: "a.b"), true), (TailFilter(app: "c.d"), false),
        (TailFilter(key: "order-7"), true), (TailFilter(key: "order-77"), false),
        (TailFilter(outcomes: ["delivered", "late"]), true), (TailFilter(outcomes: ["late"]), false),
        (TailFilter(sinceMillis: 1_700_000_000_000), true), (TailFilter(sinceMillis: 1_700_000_000_001), false),
    ])
    func whatIsMeantIsTaken(filter: TailFilter, isTaken: Bool) {
        #expect((Self.taken(Self.record(), by: filter) != nil) == isTaken)
    }

    /// An audience's key also finds the outcomes that sum up its members, and those of its channel.
    @Test(arguments: [
        ("audience/a.b/match/5/6", "audience", "match", true), ("pass/a.b/match/5/6/0", "pass", "match", true),
        ("start-pass/a.b/match/5/6/0", "start-pass", "match", true),
        ("channel/a.b/match/5/production", "channel-opened", "match", true),
        ("audience/a.b/match/5/6", "audience", "match/5", false), ("099ac307b61d7d34", "rejected", "match", false),
    ])
    func aKeyOfAnAudienceFindsItsSums(recordKey: String, outcome: String, audience: String, isTaken: Bool) {
        let record = Self.record(
            "{\"outcome\":\"\(outcome)\",\"app\":\"a.b\",\"audience\":\"\(audience)\"}", key: recordKey)
        #expect((Self.taken(record, by: TailFilter(key: "match")) != nil) == isTaken)
    }

    /// An event is found by its id, whether an outcome names one event or all events of an audience's version.
    @Test(arguments: [
        ("\"event-id\":\"ready\"", true), ("\"event-id\":\"ready-2\"", false), ("\"version\":6", false),
        ("\"sources\":[{\"event-id\":\"goal\"},{\"event-id\":\"ready\"}]", true),
    ])
    func anEventIsFoundByItsID(members: String, isTaken: Bool) {
        let record = Self.record("{\"outcome\":\"delivered\",\"app\":\"a.b\",\(members)}", key: "any")
        #expect((Self.taken(record, by: TailFilter(eventID: "ready")) != nil) == isTaken)
    }

    /// For an id that no outcome has, `tail` suggests the most similar id that it read.
    @Test func anIDThatIsNotFoundIsAnsweredWithTheNearest() {
        let filter = TailFilter(eventID: "order-7-raedy")
        var vain = ReadInVain()
        #expect(filter.take(Self.record("{\"outcome\":\"late\",\"event-id\":\"order-7-ready\"}"), vain: &vain) == nil)
        #expect(
            vain.sentence(asked: filter.asked, in: "o")
                == "1 record of o read, and none matches --event-id order-7-raedy; --event-id: did you mean order-7-ready?"
        )
        // Even so, the id may be right: an event that waits has no outcome.
        let lines = TailAdvice(eventID: "order-7-raedy", vain: vain).lines(command: { $0 })
        #expect(lines.count == 1 && lines[0].hasPrefix("The event may still wait"), "\(lines)")
    }

    /// For an id that no outcome has, `tail` lists possible reasons in short lines. It leaves out reasons that do not
    /// apply to the records read or to the configuration.
    @Test(arguments: [
        (OutcomePublication.all, ["late"], [String]()),
        (.pushes, ["late"], ["outcomes.publish is pushes: workers do not write applied and superseded."]),
        (
            .failures, ["late"],
            [
                "outcomes.publish is failures: workers do not write applied, delivered, superseded, duplicate and fanned-out."
            ]
        ),
        (nil, ["applied"], []), (nil, ["superseded"], []), (nil, [], []),
        (
            nil, ["late"],
            ["No outcome read is applied or superseded: workers write these only with outcomes.publish: all."]
        ),
        (
            .all, ["dead-lettered"],
            ["1 refused event has no id in its outcome. <dead-letters list --event-id e-9> looks for e-9."]
        ),
        (
            .all, ["dead-lettered", "dead-lettered"],
            ["2 refused events have no id in their outcomes. <dead-letters list --event-id e-9> looks for e-9."]
        ),
    ])
    func anIDThatNoOutcomeHasGetsAdviceThatApplies(
        publication: OutcomePublication?, outcomes: [String], expected: [String]
    ) {
        let filter = TailFilter(eventID: "e-9")
        var vain = ReadInVain()
        for outcome in outcomes {
            #expect(filter.take(Self.record("{\"outcome\":\"\(outcome)\"}"), vain: &vain) == nil)
        }
        let lines = TailAdvice(eventID: "e-9", publication: publication, vain: vain).lines(command: { "<\($0)>" })
        #expect(
            lines == [
                "The event may still wait, and has no outcome then. <explain KEY> shows the events of a key with their ids."
            ] + expected)
        #expect(lines.allSatisfy { $0.count <= 120 }, "\(lines)")
    }

    /// A key may have no outcome because its event waits. `tail` says so before it names a similar key.
    @Test func aKeyWithoutAnOutcomeMayWait() {
        func lines(_ filter: TailFilter, _ values: String...) -> [String] {
            var vain = ReadInVain()
            for value in values { #expect(filter.take(Self.record(value), vain: &vain) == nil) }
            return TailAdvice.lines(filter, nil, vain, in: "o", since: "then", command: { "<\($0)>" })
        }
        let advice = "The key may have no outcome yet: <explain order-8> says what it waits for."
        #expect(
            lines(TailFilter(key: "order-8"), Self.delivered) == [
                "1 record of o read, and none matches --key order-8", advice, "--key: did you mean order-7?",
            ])
        #expect(lines(TailFilter(key: "order-8")) == ["nothing in o since then", advice])
        // The key has outcomes, so it does not wait for its first.
        #expect(
            lines(TailFilter(key: "order-7", outcomes: ["late"]), Self.delivered) == [
                "1 record of o read, and none matches --key order-7 and --outcome late"
            ])
        #expect(
            lines(TailFilter(key: "order-7"), #"{"event":"end"}"#) == [
                "1 record of o read, and none is an outcome: is it another topic?"
            ])
        #expect(lines(TailFilter(key: "order-8", eventID: "e"), Self.delivered).count == 3, "the id has its own advice")
    }

    /// The suggested commands contain the key and the id that were asked for, quoted for a shell.
    @Test func adviceHasTheKeyAndTheIDThatWereAskedFor() {
        var vain = ReadInVain()
        let filter = TailFilter(key: "order-7", eventID: "e 9")
        #expect(filter.take(Self.record("{\"outcome\":\"dead-lettered\"}"), vain: &vain) == nil)
        let lines = TailAdvice(eventID: "e 9", publication: .all, key: "order-7", vain: vain).lines(command: { $0 })
        #expect(lines.first?.contains("explain order-7 ") == true, "\(lines)")
        #expect(lines.last?.contains("--event-id 'e 9' looks for e 9.") == true, "\(lines)")
    }

    @Test(arguments: [nil, "no JSON", "{\"app\":\"a.b\"}"])
    func whatIsNoOutcomeIsPassedOver(value: String?) { #expect(Self.taken(Self.record(value)) == nil) }

    @Test func aLineSaysWhatBecameOfAnEvent() throws {
        let record = Self.record()
        let line = try #require(Self.taken(record))
        let text =
            "22:13:20  delivered     a.b order-7  priority 10, 2 events, waited 40 ms, APNs took 12 ms, e[1]@4"
        #expect(TailText.line(line, record, isColoured: false) == text)
        #expect(
            TailText.line(line, record, isColoured: true)
                == text.replacing("delivered     ", with: "\u{1b}[32mdelivered     \u{1b}[0m"))
    }

    /// A member's outcome shows only the hash of the member's token.
    @Test func aRefusedTokenIsNamedByItsHash() throws {
        let record = Self.record(
            "{\"outcome\":\"rejected\",\"app\":\"a.b\",\"audience\":\"match\",\"status\":410,\"token-hash\":\"099ac307b61d7d34\"}",
            key: "099ac307b61d7d34")
        #expect(
            TailText.line(try #require(Self.taken(record)), record, isColoured: false)
                == "22:13:20  rejected      a.b match  status 410, token #099ac307b61d7d34")
    }

    @Test(arguments: [
        (
            "{\"outcome\":\"audience\",\"app\":\"a.b\",\"audience\":\"match\",\"life\":5,\"version\":6,\"members\":3,\"accepted\":0,\"superseded\":2,\"gone\":1,\"failed\":0,\"waiting\":0}",
            "22:13:20  audience      a.b match  version 6, 3 members, 0 accepted, 2 superseded, 1 gone"
        ),
        (
            "{\"outcome\":\"audience\",\"app\":\"a.b\",\"audience\":\"match\",\"version\":6,\"partitions\":8,\"finished\":2,\"members\":9,\"accepted\":5,\"waiting\":4,\"starts\":{\"partitions\":8,\"members\":2,\"accepted\":1,\"unknown\":1,\"refused\":{}}}",
            "22:13:20  audience      a.b match  version 6, 2 of 8 partitions finished, 9 members, 5 accepted, 4 waiting, starts: 2 members, 1 accepted, 1 unknown"
        ),
        (
            "{\"outcome\":\"audience\",\"app\":\"a.b\",\"audience\":\"match\",\"version\":6,\"members\":0,\"accepted\":0,\"sources\":[{\"event-id\":\"goal-1\"},{}],\"broadcasts\":[{\"listeners\":3},{\"listeners\":4}]}",
            "22:13:20  audience      a.b match  version 6, 0 members, 0 accepted, 7 listening, id goal-1"
        ),
        (
            "{\"outcome\":\"channel-opened\",\"app\":\"a.b\",\"audience\":\"match\",\"life\":5,\"channel\":\"Y2g=\"}",
            "22:13:20  channel-opened a.b match  channel Y2g="
        ),
    ])
    func recordsAboutManySayHowMany(value: String, expected: String) throws {
        let record = Self.record(value, key: "audience/a.b/match/5/6")
        #expect(TailText.line(try #require(Self.taken(record)), record, isColoured: false) == expected)
    }

    /// A terminal shows the first of many similar outcomes of an audience. After that it shows their number once a
    /// second.
    @Test func outcomesAlikeAreCounted() throws {
        let start = ContinuousClock.now
        var fold = TailFold(isColoured: false)
        func take(_ outcome: String, _ audience: String, more: String = "", after seconds: Int = 0) throws -> [String] {
            let record = Self.record(
                "{\"outcome\":\"\(outcome)\",\"app\":\"a.b\",\"audience\":\"\(audience)\"\(more),\"topic\":\"e\",\"partition\":1,\"offset\":4}"
            )
            return fold.take(try #require(Self.taken(record)), record, now: start + .seconds(seconds))
        }
        #expect(try take("applied", "match") == ["22:13:20  applied       a.b match  e[1]@4"])
        for _ in 0..<998 { #expect(try take("applied", "match").isEmpty) }
        #expect(fold.tick(now: start + .milliseconds(999)).isEmpty)
        #expect(try take("applied", "match", after: 1) == ["22:13:20  applied       a.b match  and 999 more like it"])
        // Counting continues until a different outcome comes.
        #expect(try take("applied", "match", after: 2).isEmpty)
        #expect(
            try take("applied", "final", after: 2) == [
                "22:13:20  applied       a.b match  and 1 more like it", "22:13:20  applied       a.b final  e[1]@4",
            ])
        #expect(try take("applied", "final", after: 2).isEmpty)
        #expect(fold.settle() == ["22:13:20  applied       a.b final  and 1 more like it"] && fold.settle().isEmpty)
        // Outcomes with different reasons, sums of an audience, and outcomes of one activity are all shown.
        for reason in ["Unregistered", "BadDeviceToken"] {
            #expect(try take("rejected", "final", more: ",\"reason\":\"\(reason)\"").count == 1)
        }
        for _ in 0..<2 { #expect(try take("audience", "final", more: ",\"version\":6,\"members\":3").count == 1) }
        let single = Self.record()
        for _ in 0..<2 { #expect(fold.take(try #require(Self.taken(single)), single, now: start).count == 1) }
    }

    @Test func anEventIsCalledWhatItsPublisherCallsIt() throws {
        let record = Self.record(
            "{\"outcome\":\"late\",\"activity\":\"order-7\",\"event-id\":\"e-1\\u001b\",\"topic\":\"e\",\"partition\":1,\"offset\":4}"
        )
        let line = try #require(Self.taken(record))
        #expect(
            TailText.line(line, record, isColoured: false)
                == "22:13:20  late          - order-7  id e-1\\u001b, e[1]@4")
    }

    /// Keys and reasons come from strangers, so they are escaped.
    @Test func nothingInARecordReachesTheTerminalAsItIs() throws {
        let record = Self.record(
            "{\"outcome\":\"re\\u001b[31mjected\",\"activity\":\"\\u001b[2J\",\"reason\":\"\(String(repeating: "0a", count: 32))\"}"
        )
        let line = try #require(Self.taken(record))
        let text = TailText.line(line, record, isColoured: false)
        #expect(!text.contains("\u{1b}") && text.contains("\\u001b[2J") && text.contains("…(64 digits)"))
    }

    @Test func aProgramGetsTheRecordAsItIs() throws {
        let json = TailText.json(Self.record(" {\n\t\"outcome\": \"late\"}"))
        #expect(!json.contains("\n") && !json.contains("\t"))
        let read = try #require(
            try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
        #expect((read["record"] as? [String: String]) == ["outcome": "late"] && read["offset"] as? Int == 9)
        // A line separator of Unicode needs no escape inside a string of JSON.
        let separated = "{\"outcome\":\"late\",\"event-id\":\"a\u{2028}b\"}"
        #expect(TailText.json(Self.record(separated)).contains("a\u{2028}b"))
    }

    @Test(arguments: [
        (true, [:], true), (false, [:], false), (true, ["NO_COLOR": "1"], false), (true, ["NO_COLOR": ""], true),
        (true, ["TERM": "dumb"], false),
    ])
    func onlyAWatchedTerminalIsColoured(isTerminal: Bool, environment: [String: String], isColoured: Bool) {
        #expect(TailText.isColoured(isTerminal: isTerminal, environment: environment) == isColoured)
    }

    @Test(arguments: [
        (
            TailFilter(app: "com.exmaple"),
            "3 records of o read, and none matches --app com.exmaple; --app: did you mean com.example?"
        ),
        (
            TailFilter(app: "org.other"),
            "3 records of o read, and none matches --app org.other; --app: there are com.example"
        ),
        (
            TailFilter(key: "order-8"),
            "3 records of o read, and none matches --key order-8; --key: did you mean order-7?"
        ),
        (TailFilter(outcomes: ["late"]), "3 records of o read, and none matches --outcome late"),
        (TailFilter(outcomes: ["late", "expired"]), "3 records of o read, and none matches --outcome expired or late"),
        (TailFilter(sinceMillis: .max), "nothing in o since ten to"),
    ])
    func whatIsReadInVainIsSaid(filter: TailFilter, sentence: String) {
        var vain = ReadInVain()
        for value in [Self.delivered, Self.delivered, #"{"outcome":"dead-lettered"}"#] {
            #expect(filter.take(Self.record(value.replacing("a.b", with: "com.example")), vain: &vain) == nil)
        }
        let said = vain.sentence(asked: filter.asked, in: "o", since: "ten to")
        #expect(said == sentence + (filter.app == nil ? "" : "; 1 record without an app passed over"))
    }

    @Test func aTopicOfSomethingElseIsSaidToBeNone() {
        var vain = ReadInVain()
        #expect(TailFilter().take(Self.record(#"{"event":"end"}"#), vain: &vain) == nil)
        #expect(vain.sentence(asked: [], in: "o") == "1 record of o read, and none is an outcome: is it another topic?")
    }

    @Test(arguments: [
        (["--outcome", "lost"], "expected one of applied"), (["--outcome", "delivred"], "did you mean delivered?"),
        (["--since", "soon"], "such as 30m"), (["--since", "10"], "such as 10s or 10m"),
    ])
    func aWrongCommandLineSaysWhatWasExpected(arguments: [String], expected: String) {
        #expect {
            _ = try Tail.parse(["--bootstrap", "localhost:1"] + arguments)
        } throws: { Tail.message(for: $0).contains(expected) }
    }

    // MARK: Following

    private static func produce(_ producer: KafkaProducer, _ topic: KafkaTopic, _ count: Int, at millis: Int64) {
        for number in 0..<count {
            let (key, value) = (Array("k\(number % 4)".utf8), Array("{\"outcome\":\"late\",\"offset\":\(number)}".utf8))
            #expect(
                producer.produce(
                    topic, partition: Int32(number % 2), key: key.span, value: value.span, timestampMillis: millis,
                    opaque: 0) == .queued)
        }
        #expect(producer.flush(within: .seconds(30)) { _ in } == 0)
    }

    @Test func itBeginsWhereItIsToldAndFollows() async throws {
        let kafka = try EmbeddedKafka(topics: [.init("liveactivity.outcomes", partitionCount: 2)])
        defer { kafka.stop() }
        let producer = try KafkaProducer(
            ProducerConfiguration(settings: kafka.settings), onDeliveries: {}, onError: { _ in })
        let topic = try producer.topic("liveactivity.outcomes")
        let now = Int64(Date().timeIntervalSince1970 * 1_000)
        Self.produce(producer, topic, 20, at: now - 3_600_000)
        Self.produce(producer, topic, 6, at: now)

        func count(_ words: String...) throws -> Int {
            var count = 0
            try Tail.parse(["--bootstrap", kafka.bootstrap] + words).follow(isOver: { false }) { _, _ in count += 1 }
            return count
        }
        #expect(try count("--no-follow", "--since", "10m") == 6)
        #expect(try count("--no-follow", "--since", "2h") == 26)
        #expect(try count("--no-follow") == 0)
        #expect(try count("--no-follow", "--since", "2h", "--outcome", "expired") == 0)

        // Stored records of several partitions are shown in order of time. One partition has more records than one read
        // returns. The other partition has a few records that are far apart in time.
        var times: [Int64] = []
        for number in 0..<2_510 {
            let millis = now + Int64(number < 2_500 ? number * 10 : (number - 2_500) * 2_500)
            let value = Array("{\"outcome\":\"unknown\"}".utf8)
            #expect(
                producer.produce(
                    topic, partition: number < 2_500 ? 0 : 1, key: Array("k".utf8).span, value: value.span,
                    timestampMillis: millis, opaque: 0) == .queued)
        }
        #expect(producer.flush(within: .seconds(30)) { _ in } == 0)
        try Tail.parse(["--bootstrap", kafka.bootstrap, "--no-follow", "--since", "2h", "--outcome", "unknown"])
            .follow(isOver: { false }) { _, record in times.append(record.timestampMillis) }
        #expect(times.count == 2_510 && times == times.sorted())

        // `tail` can be stopped while it looks for the start. Then it has looked at only the first of two partitions.
        var asked = 0
        try Tail.parse(["--bootstrap", kafka.bootstrap, "--since", "2h"]).follow(
            isOver: {
                asked += 1
                return asked >= 2
            }, show: { _, _ in Issue.record("nothing is shown any more") })
        #expect(asked <= 5, "\(asked)")

        // `tail` shows records that arrive while it follows, until it is stopped.
        var seen: [String] = []
        var isPublished = false
        try Tail.parse(["--bootstrap", kafka.bootstrap]).follow(
            isOver: {
                if !isPublished {
                    isPublished = true
                    Self.produce(producer, topic, 3, at: now)
                }
                return seen.count >= 3
            }, show: { line, _ in seen.append(line.outcome) })
        #expect(seen == ["late", "late", "late"])
    }

    /// `--key` with an audience also finds the audience's sums, which are in other partitions. This works for an
    /// audience found in the log and for one that appears later. For other keys the other partitions are not read.
    @Test func anAudienceIsFoundInAllPartitions() async throws {
        let kafka = try EmbeddedKafka(topics: [.init("liveactivity.outcomes", partitionCount: 4)])
        defer { kafka.stop() }
        let producer = try KafkaProducer(
            ProducerConfiguration(settings: kafka.settings), onDeliveries: {}, onError: { _ in })
        let topic = try producer.topic("liveactivity.outcomes")
        let now = Int64(Date().timeIntervalSince1970 * 1_000)
        let own = Murmur2.partition(key: Array("match".utf8).span, count: 4)
        func produce(_ outcome: String, key: String, partition: Int32, audience: String? = "match", at millis: Int64) {
            let about = audience.map { "\"audience\":\"\($0)\"" } ?? "\"activity\":\"match\""
            let value = Array("{\"outcome\":\"\(outcome)\",\"app\":\"a.b\",\(about)}".utf8)
            #expect(
                producer.produce(
                    topic, partition: partition, key: Array(key.utf8).span, value: value.span, timestampMillis: millis,
                    opaque: 0) == .queued)
            #expect(producer.flush(within: .seconds(30)) { _ in } == 0)
        }
        func publishGoal(at millis: Int64) {
            produce("fanned-out", key: "match", partition: own, at: millis)
            for offset in Int32(1)...3 {
                produce("pass", key: "pass/a.b/match/1/2/\(offset)", partition: (own + offset) % 4, at: millis + 10)
            }
            produce("pass", key: "pass/a.b/final/1/2/1", partition: (own + 1) % 4, audience: "final", at: millis + 20)
            produce("audience", key: "audience/a.b/match/1/2", partition: (own + 2) % 4, at: millis + 30)
        }
        let expected = ["fanned-out", "pass", "pass", "pass", "audience"]

        // The log has no outcome of this audience yet, so `tail` follows only the partition of the key.
        var seen: [String] = []
        var isPublished = false
        let deadline = ContinuousClock.now + .seconds(60)
        try Tail.parse(["--bootstrap", kafka.bootstrap, "--key", "match"]).follow(
            isOver: {
                if !isPublished {
                    isPublished = true
                    publishGoal(at: now)
                }
                return seen.count >= 5 || ContinuousClock.now > deadline
            }, show: { line, _ in seen.append(line.outcome) })
        #expect(seen.sorted() == expected.sorted())

        // The log has outcomes of the audience by now.
        seen = []
        try Tail.parse(["--bootstrap", kafka.bootstrap, "--key", "match", "--since", "1h", "--no-follow"])
            .follow(isOver: { false }, show: { line, _ in seen.append(line.outcome) })
        #expect(seen == expected)
    }
}

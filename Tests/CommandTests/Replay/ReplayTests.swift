import ArgumentParser
import CommandSupport
import KafkaLog
import PushModel
import Testing
import Upstream

@testable import mailboat

/// Tests of `mailboat replay`: which events are published again, and in what form.
@Suite(.timeLimit(.minutes(5)))
struct ReplayTests {
    private static let now: Int64 = 1_800_000_000
    private static let app = #""app":"com.example.pizza""#

    private static func record(_ value: String, headers: [OwnedRecord.Header] = []) -> OwnedRecord {
        OwnedRecord(
            partition: 0, offset: 0, timestampMillis: 0, key: Array("order-7".utf8), value: Array(value.utf8),
            headers: headers)
    }

    private static func verdict(
        _ value: String, apps: [String]? = nil, starts: Bool = false, registrations: Bool = false
    ) -> ReplayJudge.Verdict {
        var judge = ReplayJudge(
            app: "", apps: apps, nowSeconds: Self.now, includesStarts: starts, includesRegistrations: registrations)
        return judge.verdict(Self.record(value))
    }

    private static let start =
        #"{"event":"start",\#(app),"to":{"start-token":"ab12"},"attributes-type":"A","attributes":{},"content-state":{},"alert":{"title":"a","body":"b"}}"#
    private static let register = #"{"event":"register",\#(app),"token":"ab12"}"#

    @Test(arguments: [
        (Self.start, "--with-starts"), (Self.register, "--with-registrations"), ("no JSON", "no event"),
        (#"{"event":"update",\#(app),"content-state":{},"expires":1799999990}"#, "10 s ago"),
        (#"{"event":"end",\#(app),"expires":1800000000}"#, "0 s ago"),
    ])
    func whatWouldDoHarmIsLeftOut(value: String, says: String) {
        guard case .leaveOut(let reason) = Self.verdict(value) else {
            Issue.record("it would be published")
            return
        }
        #expect(reason.contains(says), "\(reason)")
    }

    /// A start that is stale by now is left out even if starts are asked for, because no phone would show it.
    @Test func aStaleStartIsLeftOut() {
        let value =
            #"{"event":"start",\#(Self.app),"to":{"start-token":"ab"},"attributes-type":"A","attributes":{},"alert":{"title":"t","body":"b"},"content-state":{},"stale-date":1799999999}"#
        guard case .leaveOut(let reason) = Self.verdict(value, starts: true) else {
            Issue.record("it would be published")
            return
        }
        #expect(reason.contains("“stale-date” was 1 s ago"), "\(reason)")
    }

    @Test func startsAndRegistrationsArePublishedWhenAskedFor() {
        for (value, starts) in [(Self.start, true), (Self.register, false)] {
            let expected = RecordText(key: Array("order-7".utf8), value: Array(value.utf8))
            #expect(Self.verdict(value, starts: starts, registrations: !starts) == .publish(expected))
        }
    }

    @Test func onlyTheTimestampIsAnotherOne() {
        // Only the event's own timestamp is renewed. A nested timestamp, or a text that looks like one, stays
        // unchanged.
        let value = #"{ "content-state":{"timestamp":5,"n":1.50}, "timestamp" : 1700000000 ,"event":"update"}"#
        #expect(
            String(decoding: ReplayJudge.renewed(Array(value.utf8), nowSeconds: Self.now), as: UTF8.self)
                == value.replacing("1700000000", with: "1800000000"))
        let without = Array(#"{"event":"update","content-state":{"timestamp":5}}"#.utf8)
        #expect(ReplayJudge.renewed(without, nowSeconds: Self.now) == without)
    }

    /// An event that workers with this configuration would refuse is left out.
    @Test func whatNoWorkerTakesIsLeftOut() {
        let event = #"{"event":"end","app":"a.b"}"#
        #expect(
            Self.verdict(event, apps: ["c.d"]) == .leaveOut("it would be refused: the configuration has no app a.b"))
        guard case .publish = Self.verdict(event, apps: ["a.b", "c.d"]) else {
            Issue.record("\(Self.verdict(event, apps: ["a.b", "c.d"]))")
            return
        }
    }

    @Test func headersOfTheWorkersOwnStayBehind() {
        var judge = ReplayJudge(
            app: "", apps: nil, nowSeconds: Self.now, includesStarts: false, includesRegistrations: false)
        let verdict = judge.verdict(
            Self.record(
                #"{"event":"end",\#(Self.app)}"#,
                headers: [
                    .init(name: RecordHeader.republished.text, value: [1]), .init(name: "traceparent", value: [2]),
                ]))
        guard case .publish(let text) = verdict else {
            Issue.record("\(verdict)")
            return
        }
        #expect(text.headers.map(\.name) == ["traceparent"] && text.timestampMillis == nil)
    }

    @Test(arguments: [
        ([], "expected a key, or --from"), (["k", "--from", "t[0]@1"], "expected one of them"),
        (["k", "--count", "2"], "--last"), (["--from", "t[0]@1", "--last", "2"], "--count"),
        (["--from", "t[0]"], "topic[partition]@offset"), (["--from", "[0]@1"], "topic[partition]@offset"),
        (["--from", "t[-1]@1"], "topic[partition]@offset"), (["--from", "@"], "topic[partition]@offset"),
        (["--from", "t[0]@1", "--topic", "u"], "--from names the topic"), (["k", "--last", "0"], "1 to 10000"),
    ])
    func aWrongCommandLineSaysWhatWasExpected(arguments: [String], expected: String) {
        #expect {
            _ = try Replay.parse(["--bootstrap", "localhost:1"] + arguments)
        } throws: {
            Replay.message(for: $0).contains(expected)
        }
    }

    @Test func aLineForAPersonAndOneForAProgram() {
        var line = ReplayLine(
            source: .init(topic: "events", partition: 0, offset: 0), Self.record(#"{"event":"end",\#(Self.app)}"#))
        line.because = "why"
        #expect(line.text == "left out      events[0]@0  “order-7”  end: why")
        #expect(
            line.json
                == #"{"action":"left-out","because":"why","event":"end","key":"order-7","source":{"offset":0,"partition":0,"topic":"events"},"writtenMillis":0}"#
        )
    }

    // MARK: All the way

    private static func count(_ kafka: EmbeddedKafka) async throws -> Int {
        try await TopicReading.readAll(
            "liveactivity.events", partitionCount: 4, settings: kafka.settings, within: .seconds(20)
        ).count
    }

    @Test func theNewestOfAKeyAndARange() async throws {
        let kafka = try EmbeddedKafka(topics: [.init("liveactivity.events", partitionCount: 4)])
        defer { kafka.stop() }
        let cluster = ["--bootstrap", kafka.bootstrap]
        try await Trigger.parse(["order", "--key", "order-7", "--app", "a.b", "--pause", "0"] + cluster).run()
        try await Replay.parse(["order-7", "--last", "2"] + cluster).run()
        #expect(try await Self.count(kafka) == 5, "without --execute nothing is written")
        try await Replay.parse(["order-7", "--last", "2", "--execute", "--format", "json"] + cluster).run()
        #expect(try await Self.count(kafka) == 7)

        // The first event is a registration and is left out. The other two are published.
        let partition = Murmur2.partition(key: Array("order-7".utf8).span, count: 4)
        let range = ["--from", "liveactivity.events[\(partition)]@0", "--count", "3", "--execute"]
        await #expect(throws: ExitCode.failure) { try await Replay.parse(range + cluster).run() }
        #expect(try await Self.count(kafka) == 9)
        let records = try await TopicReading.readAll(
            "liveactivity.events", partitionCount: 4, settings: kafka.settings, within: .seconds(20))
        #expect(records[5].value == records[3].value && records[6].value == records[4].value)
        #expect(records[7].value == records[1].value && records[8].value == records[2].value)

        for (words, says) in [
            (
                ["nobody"],
                "with the key “nobody”: nothing was published. These partitions of the key were read: liveactivity.events["
            ),
            (["nobody"], "(whole), liveactivity.routed not ("),
            (["nobody"], "--from topic[partition]@offset reads any"),
            (["--from", "liveactivity.events[\(partition)]@9"], "no such record"),
            (["--from", "liveactivity.events[4]@0"], "partitions 0 to 3"),
            (["order-7", "--app", "c.d"], "no event found"),
        ] {
            await #expect {
                try await Replay.parse(words + cluster).run()
            } throws: {
                "\($0)".contains(says)
            }
        }
    }

    /// An event in the wrong partition is found in the routed topic, to which workers forwarded it. For example, kcat
    /// chooses partitions by another hash than murmur2.
    @Test func whatLayElsewhereIsFoundWhereWorkersPutIt() async throws {
        let kafka = try EmbeddedKafka(topics: [
            .init("liveactivity.events", partitionCount: 4), .init("liveactivity.routed", partitionCount: 4),
        ])
        defer { kafka.stop() }
        let options = try KafkaOptions.parse(["--bootstrap", kafka.bootstrap])
        let (key, own) = (Array("order-7".utf8), Murmur2.partition(key: Array("order-7".utf8).span, count: 4))
        let routed = try SteadyPublisher(options, topic: "liveactivity.routed")
        for (number, topic) in ["liveactivity.events", "other.events"].enumerated() {
            let value = #"{"event":"update",\#(Self.app),"content-state":{"n":\#(number)}}"#
            var text = RecordText(key: key, value: Array(value.utf8))
            text.headers = [
                (RecordHeader.topic, topic), (.partition, "\((own + 1) % 4)"), (.offset, "0"),
            ].map { .init(name: $0.0.text, value: Array($0.1.utf8)) }
            _ = try routed.publish(text)
        }
        try await Replay.parse(["order-7", "--last", "5", "--execute", "--bootstrap", kafka.bootstrap]).run()
        let records = try await TopicReading.readAll(
            "liveactivity.events", partitionCount: 4, settings: kafka.settings, within: .seconds(20))
        #expect(records.map(\.partition) == [own])
        #expect(records.first?.headers == [])
        #expect(records.first?.value.map { String(decoding: $0, as: UTF8.self) }?.contains(#"{"n":0}"#) == true)
        // A registration with another token is published now. The default leaves registrations out, so the update is
        // replayed again.
        let rotation = #"{"event":"register",\#(Self.app),"token":"cd34"}"#
        _ = try SteadyPublisher(options, topic: "liveactivity.events").publish(
            RecordText(key: key, value: Array(rotation.utf8)))
        try await Replay.parse(["order-7", "--execute", "--bootstrap", kafka.bootstrap]).run()
        #expect(try await Self.count(kafka) == 3)
        let newest = try await TopicReading.readAll(
            "liveactivity.events", partitionCount: 4, settings: kafka.settings, within: .seconds(20)
        ).last
        #expect(newest?.value == records.first?.value)
        // With registrations, the last two events are the replayed update and the registration. Both are published
        // again.
        try await Replay.parse(
            ["order-7", "--last", "2", "--with-registrations", "--execute", "--bootstrap", kafka.bootstrap]
        ).run()
        #expect(try await Self.count(kafka) == 5)
    }
}

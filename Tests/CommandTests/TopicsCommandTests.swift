import ArgumentParser
import KafkaLog
import Testing

@testable import mailboat

@Suite(.timeLimit(.minutes(5)))
struct TopicsCommandTests {
    @Test(arguments: [
        (["check"], "--bootstrap"), (["check", "--bootstrap", "b:1", "-X", "nothing"], "name=value"),
        (["check", "--bootstrap", "b:1", "--replication", "1", "--min-insync", "2"], "--min-insync"),
        (["create", "--bootstrap", "b:1", "--partitions", "0"], "1 to 100000"),
        (["create", "--bootstrap", "b:1", "--without", "segment.byte"], "segment.bytes,"),
    ])
    func aWrongCommandLineSaysWhatWasExpected(arguments: [String], expected: String) {
        #expect {
            _ = try TopicsCommand.parseAsRoot(arguments)
        } throws: {
            TopicsCommand.message(for: $0).contains(expected)
        }
    }

    /// `check` works with a cluster that only lists topics and partition counts. `create` fails there. The embedded
    /// Kafka is such a cluster.
    @Test func checkAndCreateAgainstAClusterWithoutAdministration() async throws {
        let names = MailboatTopics.defaults.map(\.name)
        let whole = try EmbeddedKafka(topics: names.map { .init($0, partitionCount: 4) })
        var check = try TopicsCommand.Check.parse(["--bootstrap", whole.bootstrap])
        try await check.run()
        let lacking = try EmbeddedKafka(topics: names.dropLast().map { .init($0, partitionCount: 4) })
        check = try TopicsCommand.Check.parse(["--bootstrap", lacking.bootstrap])
        await #expect(throws: ExitCode(1)) { try await check.run() }
        let create = try TopicsCommand.Create.parse(["--bootstrap", lacking.bootstrap])
        await #expect {
            try await create.run()
        } throws: {
            "\($0)".contains("\(names.last ?? ""):4") && "\($0)".contains("embedded-kafka")
        }
        // The plan is shown although the cluster cannot say whether it would accept the plan.
        let rehearsal = try TopicsCommand.Create.parse(["--bootstrap", lacking.bootstrap, "--dry-run"])
        try await rehearsal.run()
        let uneven = try EmbeddedKafka(topics: names.enumerated().map { .init($1, partitionCount: $0 + 1) })
        check = try TopicsCommand.Check.parse(["--bootstrap", uneven.bootstrap])
        await #expect(throws: ExitCode(1)) { try await check.run() }
    }

    @Test func theTableShowsWhatIsWrongAndTheCounts() {
        let plan = TopicPlan(topics: [.init("events", .events)], replicationFactor: 1)
        let existing = [TopicDescription(name: "events", partitionCount: 4, replicationFactor: 1)]
        var values = plan.missing(existing: []).first?.configuration ?? [:]
        values["retention.ms"] = "1000"
        let findings = plan.check(existing: existing, configurations: ["events": values])
        let lines = TopicsTable.lines(findings, showsAll: false)
        #expect(lines.count == 3)
        #expect(lines[1].hasPrefix("ok     events  partitions"))
        #expect(lines[2].hasPrefix("error  events  retention.ms  1000  at least 86400000"))
        #expect(TopicsTable.lines(findings, showsAll: true).count == findings.count + 1)
        #expect(TopicsTable.summary(findings) == "1 topic: 6 ok, 1 error")
    }
    /// The JSON has an object for each row of the table, with stable names.
    @Test func theSameAsJSON() throws {
        let plan = TopicPlan(topics: [.init("events", .events)], replicationFactor: 1)
        let existing = [TopicDescription(name: "events", partitionCount: 4, replicationFactor: 1)]
        var values = plan.missing(existing: []).first?.configuration ?? [:]
        values["retention.ms"] = "1000"
        let findings = plan.check(existing: existing, configurations: ["events": values])
        let lines = TopicsTable.json(findings, showsAll: false)
        #expect(lines.count == TopicsTable.lines(findings, showsAll: false).count - 1)
        #expect(lines[1].hasPrefix("{\"expected\":\"at least 86400000"), "\(lines)")
        #expect(
            lines[1].hasSuffix(
                "\"setting\":\"retention.ms\",\"topic\":\"events\",\"value\":\"1000\",\"verdict\":\"error\"}"))
        let unknown = TopicsTable.json(plan.check(existing: existing, configurations: nil), showsAll: true)
        #expect(unknown.contains { $0.contains("\"verdict\":\"not-checked\"") })
        let topic = plan.missing(existing: [])[0]
        #expect(
            TopicsTable.json(TopicAnswer(name: "events", error: nil), topic)
                == "{\"created\":true,\"partitions\":\(topic.partitionCount),\"replicas\":1,\"topic\":\"events\"}")
    }

    // MARK: Settings that a cluster refuses

    private static let state = NewTopic(
        name: "state", partitionCount: 4, replicationFactor: 1,
        configuration: ["segment.bytes": "33554432", "segment.ms": "600000", "cleanup.policy": "compact"])
    private static let refusal = TopicAnswer(
        name: "state", error: KafkaError(code: .policyViolation, text: "segment.bytes is not for you"))

    @Test func refusedSettingsAreNamedWithTheirValues() {
        let line = TopicsTable.line(Self.refusal, Self.state, refused: ["segment.bytes", "segment.ms"])
        #expect(
            line
                == "not created   state: segment.bytes is not for you. Refused: segment.bytes=33554432, segment.ms=600000"
        )
        let json = TopicsTable.json(Self.refusal, Self.state, refused: ["segment.bytes", "segment.ms"])
        #expect(json.contains("\"refused\":[\"segment.bytes\",\"segment.ms\"]"), "\(json)")
        #expect(json.contains("\"created\":false"))
    }

    @Test func itSaysHowToLeaveThemOut() {
        #expect(TopicsTable.leavingOut([:]) == [])
        let advised = TopicsTable.leavingOut(["state": ["segment.ms", "segment.bytes"], "events": ["segment.bytes"]])
        #expect(advised.count == 1)
        #expect(advised.first?.contains("--without segment.bytes --without segment.ms") == true)
        let required = TopicsTable.leavingOut(["state": ["cleanup.policy"]])
        #expect(required.count == 2)
        #expect(required.last?.contains("promise depends on cleanup.policy") == true)
        let unknown = TopicsTable.leavingOut(["state": []])
        #expect(unknown.count == 1)
        #expect(unknown.first?.contains("--required-only") == true)
    }

    @Test func aDryRunShowsEverySetting() {
        let lines = TopicsTable.rehearsed(Self.state, nil)
        #expect(lines.first == "would create  state  (4 partitions, 1 replica)")
        #expect(lines.count == 4)
        #expect(lines[1].hasSuffix("  cleanup.policy=compact"))
        let refused = TopicsTable.rehearsed(Self.state, Self.refusal, refused: ["segment.bytes"])
        #expect(refused.first?.hasPrefix("refused       state: ") == true)
        #expect(refused.contains { $0.hasSuffix("segment.bytes=33554432  refused") })
        let json = TopicsTable.rehearsedJSON(Self.state, nil)
        #expect(json.contains("\"settings\":{\"cleanup.policy\":\"compact\""), "\(json)")
        #expect(json.contains("\"created\":false"))
    }
}

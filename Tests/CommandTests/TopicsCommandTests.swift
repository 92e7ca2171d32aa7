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
    ])
    func aWrongCommandLineSaysWhatWasExpected(arguments: [String], expected: String) {
        #expect {
            _ = try TopicsCommand.parseAsRoot(arguments)
        } throws: {
            TopicsCommand.message(for: $0).contains(expected)
        }
    }

    /// The embedded cluster tells names and partition counts, and has no way to create.
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
    /// What the table shows, an object each, with names that a program can rely on.
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
}

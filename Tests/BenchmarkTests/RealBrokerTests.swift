import ArgumentParser
import Foundation
import KafkaLog
import Testing

@testable import mailboat_bench

/// Tests of the rows that are measured on a real broker: which rows there are, and that they leave no topics or groups
/// behind. With `MAILBOAT_TEST_BOOTSTRAP` the tests also use such a broker.
struct RealBrokerTests {
    private static let bootstrap = ProcessInfo.processInfo.environment["MAILBOAT_TEST_BOOTSTRAP"] ?? ""

    @Test(
        arguments: [
            (["--rows", "worker"], true), (["--rows", "burst"], false), ([], true),
            (["--bootstrap", "kafka:9092"], true), (["--bootstrap", "kafka:9092", "--rows", "burst", "restore"], true),
            (["--bootstrap", "kafka:9092", "--rows", "worker"], false),
            (["--consumer-property", "queued.min.messages=100000"], true), (["--consumer-property", "queued"], false),
            (["--consumer-property", "=1"], false),
        ] as [([String], Bool)])
    func rowsBelongToABroker(words: [String], isAccepted: Bool) {
        let command = try? RunRowsCommand.parse(["--mailboat", "mailboat"] + words)
        #expect((command != nil) == isAccepted)
    }

    @Test func whatWasMeasuredOnARealBrokerSaysSo() throws {
        let bench = try Bench(mailboat: "/bin/true", isQuick: true, preloadedSources: "")
        defer { bench.cleanUp() }
        bench.add(ResultRow("a", 1, "us"))
        bench.bootstrap = "kafka:9092"
        bench.add(ResultRow("a", 1, "us"))
        #expect(bench.rows.map(\.name) == ["a", "real Kafka, a"])
    }

    @Test(.enabled(if: !Self.bootstrap.isEmpty), .timeLimit(.minutes(2)))
    func topicsAndGroupsAreTakenOffAgain() throws {
        let admin = try KafkaAdmin(KafkaSettings(bootstrap: Self.bootstrap), log: { _ in })
        func own(_ prefix: String) throws -> [TopicDescription] {
            try admin.describeTopics(within: .seconds(10)).filter { $0.name.hasPrefix(prefix) }
        }
        let broker = try RealBroker(bootstrap: Self.bootstrap, partitionCount: 3)
        #expect(try own(broker.prefix).map(\.partitionCount) == [3, 3, 3, 3, 3])
        #expect(broker.settings.contains("topics.events: \(broker.prefix)\(Workload.topic)"))
        // No member has committed in this group, so the broker does not have it and need not delete it.
        _ = broker.group("worker")
        try broker.remove()
        #expect(try own(broker.prefix).isEmpty)
        try broker.remove()
    }
}

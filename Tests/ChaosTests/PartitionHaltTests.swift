import KafkaLog
import Testing

@testable import ChaosTesting

/// Tests of halted partitions, as workers' logs name them.
struct PartitionHaltTests {
    private static let line =
        "2026-11-26T10:51:20+0000 error mailboat: cause=chaos-1.state[8]@684 cannot be understood: bytes behind the last pass shard=0 [PushWorker] partition 8 is halted"

    @Test func aLineSaysWhichAndWhy() throws {
        let halt = try #require(PartitionHalt(line: Self.line))
        #expect(halt.partition == 8 && halt.cause == "bytes behind the last pass")
    }

    @Test(arguments: [
        "", "2026-11-23 info mailboat: ms=7 records=890 shard=0 [PushWorker] partition 22 restored",
        "2026-11-23 info mailboat: [PushWorker] partitions assigned: none is halted",
    ])
    func otherLinesSayNothing(line: String) { #expect(PartitionHalt(line: line) == nil) }

    /// When `line` was logged, milliseconds since 1970.
    private static let atMillis: Int64 = 1_795_690_280_000

    /// A halt after a refusal is excused only while the run made Kafka refuse records of `state` or `routed`. A record
    /// that names an event is not one of `state`. The cases say whether the refusal excuses the halt.
    @Test(
        arguments: [
            ("a record", TopicRole.state, 0, true), ("a record", .routed, 0, true),
            ("a record of events/3/5", .routed, 0, true), ("a record of events/3/5", .state, 0, false),
            ("a record", .outcomes, 0, false), ("a record", .deadLetters, 0, false),
            ("a record", .state, 60_000, false), ("a record", .state, -60_000, false),
        ] as [(String, TopicRole, Int64, Bool)])
    func onlyARefusalIsAnExcuse(record: String, topic: TopicRole, laterMillis: Int64, isExcused: Bool) throws {
        let refused = try #require(
            PartitionHalt(
                line: Self.line.replacing(
                    "chaos-1.state[8]@684 cannot be understood: bytes behind the last pass",
                    with: "\(record) is refused for good (size): Broker: Message size too large")))
        let other = try #require(PartitionHalt(line: Self.line))
        #expect(refused.isOfRefusal && !other.isOfRefusal && refused.atMillis == Self.atMillis)
        let began = Self.atMillis + laterMillis
        let refusal = ChaosRefusal(topics: [topic], way: .size, fromMillis: began, toMillis: began + 1_000)
        #expect(PartitionHalt.unexcused([refused, other], [refusal]) == (isExcused ? [other] : [refused, other]))
        #expect(PartitionHalt.unexcused([refused], []) == [refused])
    }

    @Test func readinessNamesThem() {
        let readiness = """
            {"ready":false,"halted":[{"partition":8,"reason":"the topic events is another one: in partition 8 …"},\
            {"partition":11,"reason":"a record is refused for good (size): …"}],"errors":["partition 8 is halted: …"]}
            """
        #expect(PartitionHalt.named(in: readiness) == [8, 11])
        #expect(PartitionHalt.named(in: readiness, because: "is another one") == [8])
        #expect(PartitionHalt.named(in: readiness, because: "refused for good") == [11])
        #expect(PartitionHalt.named(in: "{\"ready\":true,\"halted\":[]}") == [])
    }

    @Test func thoseOfOneCauseAreCountedTogether() throws {
        let halt = try #require(PartitionHalt(line: Self.line))
        let other = try #require(
            PartitionHalt(line: Self.line.replacing("bytes behind the last pass", with: "an unknown kind")))
        #expect(PartitionHalt.summary([]) == nil)
        let summary = PartitionHalt.summary([halt, other, halt])
        #expect(summary == "1 times: an unknown kind; 2 times: bytes behind the last pass")
    }
}

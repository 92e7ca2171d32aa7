import ArgumentParser
import KafkaLog
import Testing

@testable import mailboat

@Suite(.timeLimit(.minutes(5)))
struct OffsetsCommandTests {
    private static let wrong: [([String], String)] = [
        (["--to", "oldest"], "earliest, latest or an offset"), (["--to=-1"], "earliest, latest or an offset"),
        (["--to", "5"], "exactly one --topic and one --partition"),
        (["--to", "5", "--topic", "t"], "exactly one --topic and one --partition"), ([], "--to"),
    ]

    @Test(arguments: Self.wrong)
    func aWrongCommandLineSaysWhatWasExpected(arguments: [String], expected: String) {
        #expect {
            _ = try OffsetsCommand.parseAsRoot(["reset", "--bootstrap", "localhost:1"] + arguments)
        } throws: {
            OffsetsCommand.message(for: $0).contains(expected)
        }
    }

    /// Commits and reads the offsets of a group without members.
    private struct Group {
        let kafka: EmbeddedKafka
        let outsider: KafkaConsumer

        init() throws {
            self.kafka = try EmbeddedKafka(
                topics: [
                    .init("liveactivity.events", partitionCount: 3), .init("liveactivity.routed", partitionCount: 3),
                ])
            self.outsider = try KafkaConsumer(
                ConsumerConfiguration(
                    settings: self.kafka.settings, groupID: "workers", driverTopic: "", log: { _ in }))
        }

        func commit(_ offsets: [Int64]) async {
            let positions = offsets.enumerated().map {
                TopicPartitionOffset(topic: "liveactivity.events", partition: Int32($0.offset), offset: $0.element)
            }
            let outsider = self.outsider
            let result = await NamedThread.run("test") { outsider.commitSync(positions, within: .seconds(10)) }
            #expect(result.isSuccess)
        }

        func committed() async throws -> [Int64?] {
            let outsider = self.outsider
            let wanted = (0..<Int32(3)).map { TopicPartition(topic: "liveactivity.events", partition: $0) }
            return try await NamedThread.run("test") {
                Result { try outsider.positions(of: wanted, within: .seconds(10)) }
            }.get().map(\.committed)
        }

        func reset(_ words: String...) async throws {
            try await OffsetsCommand.Reset.parse(
                ["--bootstrap", self.kafka.bootstrap, "--group", "workers"] + words
            ).run()
        }
    }

    @Test func onlyOffsetsOutsideTheLogAreMovedAndOnlyWhenTold() async throws {
        let group = try Group()
        defer { group.kafka.stop() }
        for partition in 0..<Int32(3) {
            try TestRecords.write(10, to: "liveactivity.events", partition: partition, group.kafka.settings)
        }
        await group.commit([4, 99, 10])
        try await group.reset("--to", "earliest")
        #expect(try await group.committed() == [4, 99, 10], "without --execute nothing is written")
        try await group.reset("--to", "earliest", "--execute", "--format", "json")
        #expect(try await group.committed() == [4, 0, 10])
        try await group.reset("--to", "latest", "--all", "--execute", "--partition", "0")
        #expect(try await group.committed() == [10, 0, 10])
        try await group.reset(
            "--to", "7", "--all", "--execute", "--topic", "liveactivity.events", "--partition", "2")
        #expect(try await group.committed() == [10, 0, 7])
        await #expect(throws: ExitCode(1)) {
            try await group.reset(
                "--to", "11", "--all", "--execute", "--topic", "liveactivity.events", "--partition", "2")
        }
        await #expect {
            try await group.reset("--to", "earliest", "--topic", "other")
        } throws: {
            "\($0)".contains("topic other: it does not exist")
        }
        #expect(try await group.committed() == [10, 0, 7])
    }

    @Test func eachPartitionAsJSON() {
        func json(_ verdict: OffsetReset.Verdict, isCommitted: Bool = false, refusal: String? = nil) -> String {
            let position = PartitionPositions(
                topicPartition: TopicPartition(topic: "events", partition: 3), committed: 99, lowOffset: 0,
                endOffset: 10)
            return OffsetMove(position, verdict).json(isCommitted: isCommitted, refusal: refusal)
        }
        #expect(
            json(.keep("in the log"))
                == #"{"action":"keep","because":"in the log","committed":99,"endOffset":10,"lowOffset":0,"partition":3,"topic":"events"}"#
        )
        #expect(json(.impossible("outside")).hasPrefix(#"{"action":"cannot-move","because":"outside""#))
        let planned = json(.move(to: 4))
        #expect(planned.hasPrefix(#"{"action":"would-move","because":"the log ends before"#), "\(planned)")
        #expect(planned.hasSuffix(#""to":4,"topic":"events"}"#), "\(planned)")
        #expect(json(.move(to: 4), isCommitted: true).hasPrefix(#"{"action":"moved""#))
        #expect(
            json(.move(to: 4), isCommitted: true, refusal: "live members")
                .hasPrefix(#"{"action":"not-moved","because":"live members""#))
    }

    @Test func liveMembersAreNamed() {
        let members = [
            GroupMember(clientID: "mailboat", host: "/10.0.0.7", groupInstanceID: nil),
            GroupMember(clientID: "mailboat", host: "/10.0.0.8", groupInstanceID: "worker-2"),
        ]
        let text = OffsetsCommand.Reset.refusal("workers", members, executes: true)
        #expect(text.hasPrefix("the group workers has 2 live members: mailboat (/10.0.0.7), worker-2 (/10.0.0.8)"))
        #expect(text.contains("nothing was moved: stop them first") && text.contains("session times out"))
        #expect(!OffsetsCommand.Reset.refusal("workers", [members[0]], executes: false).contains("session"))
    }
}

/// Writes test records to a topic.
enum TestRecords {
    static func write(_ count: Int, to topic: String, partition: Int32, _ settings: KafkaSettings) throws {
        let producer = try KafkaProducer(
            ProducerConfiguration(settings: settings), onDeliveries: {}, onError: { _ in })
        let handle = try producer.topic(topic)
        let (key, value) = (Array("key".utf8), Array("{}".utf8))
        for _ in 0..<count {
            #expect(
                producer.produce(handle, partition: partition, key: key.span, value: value.span, opaque: 0) == .queued)
        }
        #expect(producer.flush(within: .seconds(20)) { _ in } == 0)
    }
}

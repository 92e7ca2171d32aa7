import ArgumentParser
import KafkaLog
import PushEngine
import Synchronization
import Testing

@testable import mailboat

/// Tests of the repair commands for topics that were created again or have lost records, on an embedded Kafka.
@Suite(.timeLimit(.minutes(5)))
struct AnotherLogTests {
    private static let events = "liveactivity.events"

    private static func kafka() throws -> EmbeddedKafka {
        try EmbeddedKafka(
            topics: [events, "liveactivity.routed", "liveactivity.state"].map { .init($0, partitionCount: 2) })
    }

    /// A consumer that commits for a group without being its member.
    private static func outsider(_ kafka: EmbeddedKafka) throws -> KafkaConsumer {
        try KafkaConsumer(
            ConsumerConfiguration(settings: kafka.settings, groupID: "workers", driverTopic: "", log: { _ in }))
    }

    private static func commit(_ metadata: [String?], at offset: Int64, _ outsider: KafkaConsumer) async {
        let positions = metadata.enumerated().map {
            TopicPartitionOffset(topic: Self.events, partition: Int32($0.offset), offset: offset, metadata: $0.element)
        }
        let result = await NamedThread.run("test") { outsider.commitSync(positions, within: .seconds(10)) }
        #expect(result.isSuccess)
    }

    private static func positions(_ outsider: KafkaConsumer, of topic: String = events) async throws
        -> [PartitionPositions]
    {
        let wanted = (0..<Int32(2)).map { TopicPartition(topic: topic, partition: $0) }
        return try await NamedThread.run("test") {
            Result { try outsider.positions(of: wanted, within: .seconds(10)) }
        }.get()
    }

    private static func state(_ kafka: EmbeddedKafka) throws -> [Int] {
        let reader = try KafkaLogReader(kafka.settings, log: { _ in })
        return try (0..<Int32(2)).map { number in
            try reader.readAll(
                TopicPartition(topic: "liveactivity.state", partition: number), within: .seconds(10)
            ).count
        }
    }

    private func accept(_ kafka: EmbeddedKafka, _ words: String...) async throws {
        try await StateCommand.AcceptEmpty.parse(
            ["--bootstrap", kafka.bootstrap, "--group", "workers"] + words
        ).run()
    }

    /// A loss of `state` records is visible in the commits of a partition, and is accepted only once. A later loss must
    /// be accepted, too.
    @Test func aLossIsAcceptedOnce() async throws {
        let kafka = try Self.kafka()
        defer { kafka.stop() }
        let outsider = try Self.outsider(kafka)
        try TestRecords.write(3, to: Self.events, partition: 0, kafka.settings)
        try TestRecords.write(3, to: Self.events, partition: 1, kafka.settings)
        await Self.commit(["mailboat state=7", nil], at: 2, outsider)
        try await self.accept(kafka)
        #expect(try Self.state(kafka) == [0, 0], "without --execute nothing is written")
        try await self.accept(kafka, "--execute")
        #expect(try Self.state(kafka) == [1, 0])
        try await self.accept(kafka, "--execute", "--format", "json")
        #expect(try Self.state(kafka) == [1, 0], "it is accepted already")
        await Self.commit(["mailboat state=9", nil], at: 3, outsider)
        try await self.accept(kafka, "--execute")
        #expect(try Self.state(kafka) == [2, 0], "another loss")
        try await self.accept(kafka, "--execute", "--all", "--partition", "1")
        #expect(try Self.state(kafka) == [2, 1])
    }

    /// A partition was added to `events`. The loss is accepted only in the partitions that `state` was written for. The
    /// accepting records name the old number of partitions.
    @Test func partitionsThatWereAddedDoNotCount() async throws {
        let kafka = try EmbeddedKafka(topics: [
            .init(Self.events, partitionCount: 3), .init("liveactivity.routed", partitionCount: 2),
            .init("liveactivity.state", partitionCount: 2),
        ])
        defer { kafka.stop() }
        let outsider = try Self.outsider(kafka)
        for number in 0..<Int32(3) { try TestRecords.write(3, to: Self.events, partition: number, kafka.settings) }
        await Self.commit(["mailboat state=7", "mailboat state=7", nil], at: 2, outsider)
        try await self.accept(kafka, "--execute", "--all")
        #expect(try Self.state(kafka) == [1, 1])
        let reader = try KafkaLogReader(kafka.settings, log: { _ in })
        let record = try #require(
            try reader.readAll(TopicPartition(topic: "liveactivity.state", partition: 0), within: .seconds(10)).first)
        let description = StateRecordReader(inputTopics: []).read(
            key: try #require(record.key), value: record.value, nowMillis: 0)
        guard case .marker(let marker) = description.content else { return #expect(Bool(false)) }
        #expect(marker.partitionCount == 2)
    }

    /// A committed offset within the log is moved if the log has a different record at an offset that the group had
    /// read.
    @Test func anotherRecordIsReasonEnoughToMove() async throws {
        let kafka = try Self.kafka()
        defer { kafka.stop() }
        let outsider = try Self.outsider(kafka)
        try TestRecords.write(10, to: Self.events, partition: 0, kafka.settings)
        try TestRecords.write(10, to: Self.events, partition: 1, kafka.settings)
        let reader = try KafkaLogReader(kafka.settings, log: { _ in })
        let millis = try #require(
            try reader.readAll(TopicPartition(topic: Self.events, partition: 1), within: .seconds(10)).last
        ).timestampMillis
        await Self.commit(["mailboat at=3:1000 state=7", "mailboat at=9:\(millis) state=7"], at: 10, outsider)
        try await OffsetsCommand.Reset.parse(
            ["--bootstrap", kafka.bootstrap, "--group", "workers", "--to", "earliest", "--execute"]
        ).run()
        let positions = try await Self.positions(outsider)
        #expect(positions.map(\.committed) == [0, 10], "the other is the log that it was")
        #expect(positions[0].committedMetadata == "mailboat new-log", "the next worker is told")
    }

    /// Offsets of a group that has had a member can be moved, although the embedded Kafka then accepts commits only
    /// from members.
    @Test func offsetsAreMovedWhereAWorkerHasBeen() async throws {
        let kafka = try Self.kafka()
        defer { kafka.stop() }
        try TestRecords.write(10, to: Self.events, partition: 0, kafka.settings)
        let worker = try KafkaConsumer(
            ConsumerConfiguration(
                settings: kafka.settings.appending("session.timeout.ms", "6000"), groupID: "workers",
                driverTopic: Self.events, log: { _ in }))
        let (joined, told) = AsyncStream.makeStream(of: Void.self)
        try worker.start { event in
            switch event {
            case .assigned(let assignment):
                assignment.complete { _ in .beginning }
                told.yield()
            case .revoked(let revocation): _ = revocation.complete()
            case .rebalanceOverdue, .failed, .statistics: break
            }
        }
        for await _ in joined { break }
        #expect(await worker.close(within: .seconds(20)))
        try await OffsetsCommand.Reset.parse(
            ["--bootstrap", kafka.bootstrap, "--group", "workers", "--to", "4", "--topic", Self.events]
                + ["--partition", "0", "--all", "--execute"]
        ).run()
        #expect(try await Self.positions(Self.outsider(kafka))[0].committed == 4)
    }
}

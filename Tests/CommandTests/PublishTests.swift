import ArgumentParser
import CommandSupport
import Foundation
import KafkaLog
import PushModel
import Testing

@testable import mailboat

@Suite(.timeLimit(.minutes(5))) struct PublishTests {
    static let topic = "events"
    static let partitionCount = 4

    /// Runs the command with a file that contains `input`.
    private static func publish(_ input: String, to kafka: EmbeddedKafka, _ arguments: String...) async throws {
        let file = FileManager.default.temporaryDirectory.appending(
            path: "mailboat-publish-\(UUID().uuidString).ndjson")
        try Data(input.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let command = try Publish.parse(
            ["--bootstrap", kafka.bootstrap, "--topic", Self.topic] + arguments + [file.path()])
        try await command.run()
    }

    private static func start() throws -> EmbeddedKafka {
        try EmbeddedKafka(topics: [EmbeddedKafka.Topic(Self.topic, partitionCount: Self.partitionCount)])
    }

    private static func everyRecord(in kafka: EmbeddedKafka) throws -> [OwnedRecord] {
        let reader = try KafkaLogReader(kafka.settings)
        return try (0..<Int32(Self.partitionCount)).flatMap {
            try reader.readAll(TopicPartition(topic: Self.topic, partition: $0), within: .seconds(20))
        }
    }

    @Test func recordsArriveAsTheyWereWritten() async throws {
        let kafka = try Self.start()
        defer { kafka.stop() }
        let events = (0..<200).map { #"{"key":"order-\#($0)","value":{ "event" : "end", "x-n":\#($0) }}"# }
        try await Self.publish(
            events.joined(separator: "\n") + "\n"
                + #"{"key":"late","value":null,"partition":3,"timestamp":1700000000123,"headers":{"traceparent":"00-ab"}}"#,
            to: kafka)

        let records = try Self.everyRecord(in: kafka)
        #expect(records.count == 201)
        for record in records where record.value != nil {
            let key = try #require(record.key)
            #expect(record.partition == Murmur2.partition(key: key.span, count: Int32(Self.partitionCount)))
            let number = try #require(record.keyText?.dropFirst("order-".count))
            #expect(record.valueText == #"{ "event" : "end", "x-n":\#(number) }"#)
        }
        let tombstone = try #require(records.first { $0.value == nil })
        #expect(tombstone.partition == 3)
        #expect(tombstone.keyText == "late")
        #expect(tombstone.timestampMillis == 1_700_000_000_123)
        #expect(tombstone.headers == [OwnedRecord.Header(name: "traceparent", value: Array("00-ab".utf8))])
    }

    @Test func aBadLineIsReportedAndTheRestIsPublished() async throws {
        let kafka = try Self.start()
        defer { kafka.stop() }
        let failure = await #expect(throws: ExitCode.self) {
            try await Self.publish(
                """
                {"key":"a","value":{"event":"end"}}
                {"key":"b","value":{"event":"end",}}
                {"event":"end"}
                {"key":"c","partition":99,"value":{"event":"end"}}
                {"key":"d","value":{"event":"end"}}
                """, to: kafka)
        }
        #expect(failure == ExitCode(1))
        #expect(Set(try Self.everyRecord(in: kafka).compactMap(\.keyText)) == ["a", "d"])
    }

    @Test func aKeyForEventsThatStandAlone() async throws {
        let kafka = try Self.start()
        defer { kafka.stop() }
        try await Self.publish(
            "{\n  \"event\": \"end\"\n}\n{\"key\":\"b\",\"value\":{}}", to: kafka, "--key", "order-7")
        let records = try Self.everyRecord(in: kafka)
        #expect(Set(records.compactMap(\.keyText)) == ["order-7", "b"])
        #expect(records.contains { $0.valueText == "{\n  \"event\": \"end\"\n}" })
    }

    @Test func onlyGoodEventsWhenToldTo() async throws {
        let kafka = try Self.start()
        defer { kafka.stop() }
        await #expect(throws: ExitCode.self) {
            try await Self.publish(
                """
                {"key":"a","value":{"event":"update"}}
                {"key":"b","value":{"event":"end"}}
                """, to: kafka, "--check")
        }
        #expect(try Self.everyRecord(in: kafka).compactMap(\.keyText) == ["b"])
    }

    @Test func aTopicThatDoesNotExistIsNotMade() async throws {
        let kafka = try Self.start()
        defer { kafka.stop() }
        let command = try Publish.parse(["--bootstrap", kafka.bootstrap, "--topic", "other", "/dev/null"])
        let failure = await #expect(throws: CommandFailure.self) { try await command.run() }
        let remedy = "create it with 'mailboat topics create --bootstrap \(kafka.bootstrap)'"
        #expect(failure?.description == "the topic other does not exist: \(remedy)")
    }

    @Test(arguments: [
        (["--timeout", "0"], "The value '0' is invalid for '--timeout <seconds>': expected 1 to 3600 seconds"),
        (["-X", "security.protocol"], "-X needs name=value, such as security.protocol=SSL"),
        (["-X", "=a"], "-X needs name=value, such as security.protocol=SSL"),
    ])
    func wrongArguments(arguments: [String], message: String) {
        let failure = #expect(throws: (any Error).self) {
            try Publish.parse(["--bootstrap", "localhost:1"] + arguments)
        }
        #expect(failure.map { Publish.message(for: $0) } == message)
    }

    @Test func aSecretIsNotShown() {
        let failure = #expect(throws: (any Error).self) {
            try Publish.parse([
                "--bootstrap", "localhost:1", "-X", "sasl.password=", "-X", "ssl.key.password.x=hunter2",
            ])
        }
        #expect(failure.map { Publish.fullMessage(for: $0).contains("hunter2") } == false)
    }
}

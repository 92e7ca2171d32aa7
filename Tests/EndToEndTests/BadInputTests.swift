import APNSSimulator
import Foundation
import PushModel
import Testing

/// Malformed input of every kind becomes a dead letter with a reason that a newcomer understands. The partition
/// continues.
@Suite(.timeLimit(.minutes(10)))
struct BadInputTests {
    struct BadRecord: Sendable {
        var what: String
        var key: [UInt8]? = Array("order".utf8)
        var value: [UInt8]?
        /// Expected value of the dead letter's header `mailboat-field`.
        var field: String
        /// Words that must be in the reason.
        var words: [String]

        init(_ what: String, key: [UInt8]? = Array("order".utf8), _ value: String?, field: String, _ words: String...) {
            self.what = what
            self.key = key
            self.value = value.map { Array($0.utf8) }
            self.field = field
            self.words = words
        }
    }

    private static func update(_ fields: String) -> String {
        "{\"event\":\"update\",\"content-state\":{\"step\":\"x\"}\(fields.isEmpty ? "" : ",")\(fields)}"
    }

    private static let farSeconds = Int64(Date().timeIntervalSince1970) + 3_600

    static let records: [BadRecord] = [
        BadRecord("no key", key: nil, Self.update(""), field: "key", "missing"),
        BadRecord("an empty key", key: [], Self.update(""), field: "key", "empty"),
        BadRecord("a long key", key: Array(repeating: 0x61, count: 257), Self.update(""), field: "key", "257", "256"),
        BadRecord("a key that is no text", key: [0xff, 0xfe], Self.update(""), field: "key", "UTF-8"),
        BadRecord("no value", nil, field: "value", "null"),
        BadRecord("an empty value", "", field: "value"),
        BadRecord("no JSON", "update please", field: "value"),
        BadRecord("half a JSON", "{\"event\":\"update\",", field: "value"),
        BadRecord("two objects", Self.update("") + "{}", field: "value"),
        BadRecord("an array", "[]", field: "value"),
        BadRecord(
            "too long a value", Self.update("\"x-filler\":\"\(String(repeating: "f", count: 17_000))\""),
            field: "value", "16384"),
        BadRecord(
            "a misspelt field", "{\"event\":\"update\",\"contentState\":{}}", field: "contentState", "content-state"),
        BadRecord("a field twice", Self.update("\"priority\":5,\"priority\":10"), field: "priority"),
        BadRecord("no event", "{\"content-state\":{}}", field: "event", "missing"),
        BadRecord(
            "an unknown event", "{\"event\":\"refresh\",\"content-state\":{}}", field: "event", "refresh", "update"),
        BadRecord("no content", "{\"event\":\"update\"}", field: "content-state", "missing"),
        BadRecord(
            "content of another kind", "{\"event\":\"update\",\"content-state\":[1]}", field: "content-state", "object"),
        BadRecord(
            "an app nobody configured", Self.update("\"app\":\"com.example.nobody\""), field: "app",
            "com.example.nobody"),
        BadRecord("a priority there is not", Self.update("\"priority\":7"), field: "priority", "7", "10"),
        BadRecord("milliseconds", Self.update("\"timestamp\":1685952000000"), field: "timestamp", "1685952000000"),
        BadRecord("a fraction", Self.update("\"timestamp\":1685952000.5"), field: "timestamp"),
        BadRecord("a time as text", Self.update("\"timestamp\":\"2026-01-01\""), field: "timestamp"),
        BadRecord(
            "a time to come", Self.update("\"timestamp\":\(Self.farSeconds)"), field: "timestamp", "\(Self.farSeconds)"),
        BadRecord("an alert without text", Self.update("\"alert\":{\"sound\":\"x.caf\"}"), field: "alert.title"),
        BadRecord(
            "a dismissal of an update", Self.update("\"dismissal-date\":1685952000"), field: "dismissal-date", "end"),
        BadRecord(
            "another activity", Self.update("\"to\":{\"activity\":\"other\"}"), field: "to.activity", "other", "key"),
        BadRecord("a start to nowhere", "{\"event\":\"start\",\"content-state\":{}}", field: ""),
        BadRecord("a token that is not hex", "{\"event\":\"register\",\"token\":\"xyz\"}", field: "token", "hex"),
        BadRecord("a registration without a token", "{\"event\":\"register\"}", field: "token", "missing"),
        BadRecord(
            "a payload over 4,096 bytes",
            "{\"event\":\"update\",\"content-state\":{\"s\":\"\(String(repeating: "c", count: 5_000))\"}}",
            field: "payload", "4096"),
    ]

    @Test func everyKindIsExplainedAndThePartitionGoesOn() async throws {
        try await TestHouse.with { house in
            let worker = try await house.startWorker()
            let publisher = try TestPublisher(house.kafka)
            // All bad records are in the partition of a good order. The order's events come before and after them.
            try publisher.register("order", token: Tokens.make(1))
            let partition = TestPublisher.Partitioner.murmur2.partition(for: Array("order".utf8))
            publisher.partitioner = .fixed(partition)
            for record in Self.records { try publisher.send(key: record.key, value: record.value) }
            publisher.partitioner = .murmur2
            try publisher.update("order", "still here", priority: 10)
            try await publisher.flush()
            try await worker.ready()
            try await house.phonesAgree(with: publisher.phones)

            let letters = try TopicTail(house.kafka.deadLetters, of: house.kafka)
            try await until("every bad record is a dead letter") { letters.poll().count >= Self.records.count }
            #expect(letters.records.count == Self.records.count)
            for (record, position) in zip(Self.records, publisher.positions.dropFirst()) {
                let position = try #require(position)
                let letter = letters.records.first {
                    $0.headers[RecordHeader.offset.text] == "\(position.offset)"
                        && $0.headers[RecordHeader.partition.text] == "\(position.partition)"
                }
                guard let letter else {
                    Issue.record("\(record.what): no dead letter")
                    continue
                }
                let reason = letter.headers[RecordHeader.reason.text] ?? ""
                #expect(letter.key == record.key && letter.value == record.value, "\(record.what): it comes as it was")
                #expect(letter.headers[RecordHeader.topic.text] == house.kafka.events, "\(record.what)")
                #expect(!reason.isEmpty, "\(record.what)")
                if !record.field.isEmpty {
                    #expect(letter.headers[RecordHeader.field.text] == record.field, "\(record.what): \(reason)")
                }
                for word in record.words { #expect(reason.contains(word), "\(record.what): \(reason)") }
            }
            // No bad record used any budget of the good order.
            #expect(house.simulator.statistics().accepted == 1)
        }
    }
}

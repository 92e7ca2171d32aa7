import Foundation
import KafkaLog
import Upstream

/// Follows a topic from its beginning, like any consumer. Confined to its test.
final class TopicTail {
    private let reader: KafkaLogReader
    private let sections: [LogSection]
    private(set) var records: [TailRecord] = []

    init(_ topic: String, of kafka: TestKafka) throws {
        let reader = try KafkaLogReader(kafka.settings)
        self.reader = reader
        self.sections = try (0..<Int32(TestKafka.partitionCount)).map { partition in
            try reader.open(TopicPartition(topic: topic, partition: partition), from: .beginning)
        }
    }

    deinit { self.sections.forEach { $0.close() } }

    /// Takes the records that arrived since the last call.
    /// - Returns: all records so far.
    @discardableResult
    func poll() -> [TailRecord] {
        for section in self.sections {
            while section.read(max: 1_000, { self.records.append(TailRecord($0)) }).mayHaveMore {}
        }
        return self.records
    }
}

/// A record of a followed topic.
struct TailRecord: Sendable {
    var partition: Int32
    var offset: Int64
    var key: [UInt8]?
    var value: [UInt8]?
    /// Headers by name, as text. The last header of a name counts.
    var headers: [String: String] = [:]

    init(_ record: borrowing KafkaRecord) {
        self.partition = record.partition
        self.offset = record.offset
        self.key = record.hasKey ? Array(record.key) : nil
        self.value = record.hasValue ? Array(record.value) : nil
        var headers: [String: String] = [:]
        record.forEachHeader { name, value, _ in headers[Self.text(name)] = Self.text(value) }
        self.headers = headers
    }

    /// The key as text; empty for a null key.
    var keyText: String { String(decoding: self.key ?? [], as: UTF8.self) }

    private static func text(_ bytes: Span<UInt8>) -> String { String(decoding: Array(bytes), as: UTF8.self) }
}

extension Array where Element == UInt8 {
    init(_ span: Span<UInt8>) {
        self.init()
        self.reserveCapacity(span.count)
        for index in span.indices { self.append(span[index]) }
    }
}

/// A record of the outcomes topic about one event, or about one member that the event did not reach.
struct OutcomeRecord: Decodable, Sendable {
    var outcome: String
    var activity: String?
    var audience: String?
    var topic: String
    var partition: Int32
    var offset: Int64
    var status: Int?
    var reason: String?
    var merged: Int?

    static func all(in tail: TopicTail) throws -> [OutcomeRecord] {
        try tail.poll().filter { try OutcomeScope.isOneEvent($0.value ?? []) }
            .map { try JSONDecoder().decode(OutcomeRecord.self, from: Data($0.value ?? [])) }
    }
}

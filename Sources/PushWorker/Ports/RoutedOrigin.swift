import KafkaLog
import PushEngine
import PushModel

/// The original position of a forwarded record, from the headers that its forwarder wrote (contract: Identity).
enum RoutedOrigin {
    /// Sets kind, origin and time. If the topic, partition or offset is missing or invalid, origin and time keep their
    /// values. The record then counts as an original.
    static func read(_ record: borrowing KafkaRecord, inputTopics: [String], into input: inout InputRecord) {
        input.kind = record.withHeader(RecordHeader.kind.name) { name, isPresent in
            isPresent ? RoutedKind(named: name) : .event
        }
        guard input.kind == .event else { return }
        let topic = record.withHeader(RecordHeader.topic.name) { name, isPresent in
            isPresent ? Self.index(of: name, among: inputTopics) : nil
        }
        let partition = record.withHeader(RecordHeader.partition.name) { value, isPresent in
            isPresent ? DecimalDigits.value(of: value) : nil
        }
        let offset = record.withHeader(RecordHeader.offset.name) { value, isPresent in
            isPresent ? DecimalDigits.value(of: value) : nil
        }
        let timestamp = record.withHeader(RecordHeader.timestamp.name) { value, isPresent in
            isPresent ? DecimalDigits.value(of: value) : nil
        }
        guard let topic, let partition, let offset, let partition = Int32(exactly: partition) else { return }
        input.origin = SourcePosition(topic: UInt16(topic), partition: partition, offset: offset)
        if let timestamp { input.timestampMillis = timestamp }
    }

    private static func index(of name: Span<UInt8>, among topics: [String]) -> Int? {
        for (index, topic) in topics.enumerated() where topic.utf8.count == name.count {
            var byteIndex = 0
            if topic.utf8.allSatisfy({ byte in
                byteIndex += 1
                return byte == name[byteIndex - 1]
            }) {
                return index
            }
        }
        return nil
    }
}

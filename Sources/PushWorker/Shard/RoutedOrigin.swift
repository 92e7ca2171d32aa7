import KafkaLog
import PushEngine
import PushModel

/// Where a forwarded record first lay, from the headers its forwarder wrote (contract §1).
enum RoutedOrigin {
    /// Sets origin and time; leaves them when a header is missing or means nothing: the record then stands for itself.
    static func read(_ record: borrowing KafkaRecord, inputTopics: [String], into input: inout InputRecord) {
        let topic = record.withHeader("mailboat-topic") { name, isPresent in
            isPresent ? Self.index(of: name, among: inputTopics) : nil
        }
        let partition = record.withHeader("mailboat-partition") { value, isPresent in
            isPresent ? Self.number(value) : nil
        }
        let offset = record.withHeader("mailboat-offset") { value, isPresent in isPresent ? Self.number(value) : nil }
        let timestamp = record.withHeader("mailboat-timestamp") { value, isPresent in
            isPresent ? Self.number(value) : nil
        }
        guard let topic, let partition, let offset, let partition = Int32(exactly: partition) else { return }
        input.origin = SourcePosition(topic: UInt16(topic), partition: partition, offset: offset)
        if let timestamp { input.timestampMillis = timestamp }
    }

    private static func index(of name: Span<UInt8>, among topics: [String]) -> Int? {
        for (index, topic) in topics.enumerated() where topic.utf8.count == name.count {
            var place = 0
            if topic.utf8.allSatisfy({ byte in
                place += 1
                return byte == name[place - 1]
            }) {
                return index
            }
        }
        return nil
    }

    /// Decimal digits, no sign; `nil`: something else, or too long for a number.
    static func number(_ text: Span<UInt8>) -> Int64? {
        guard !text.isEmpty, text.count <= 19 else { return nil }
        var number: Int64 = 0
        for index in text.indices {
            let digit = Int64(text[index]) - 48
            guard (0...9).contains(digit) else { return nil }
            let (tens, isTooLong) = number.multipliedReportingOverflow(by: 10)
            let (sum, isTooLongToo) = tens.addingReportingOverflow(digit)
            guard !isTooLong, !isTooLongToo else { return nil }
            number = sum
        }
        return number
    }
}

import PushModel
import Testing

struct RecordHeaderTests {
    /// Spelled out here once more: records of an older worker lie in Kafka with these names.
    @Test func namesStay() {
        #expect(
            RecordHeader.allCases.map(\.text) == [
                "mailboat-topic", "mailboat-partition", "mailboat-offset", "mailboat-timestamp", "mailboat-reason",
                "mailboat-field", "mailboat-epoch", "mailboat-takeovers", "mailboat-accepted-end", "mailboat-kind",
                "mailboat-republished", "mailboat-value-bytes", "mailboat-key-prefix", "mailboat-key-bytes",
            ])
        #expect(RecordHeader.allCases.allSatisfy { $0.text.hasPrefix(RecordHeader.prefix) })
    }
}

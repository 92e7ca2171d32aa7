import PushModel
import Testing

struct RecordHeaderTests {
    /// The names must not change, because records of older workers in Kafka have them. So they are repeated here.
    @Test func namesStay() {
        #expect(
            RecordHeader.allCases.map(\.text) == [
                "mailboat-topic", "mailboat-partition", "mailboat-offset", "mailboat-timestamp", "mailboat-reason",
                "mailboat-field", "mailboat-epoch", "mailboat-takeovers", "mailboat-accepted-end",
                "mailboat-released", "mailboat-earlier-deaths", "mailboat-token-doubted", "mailboat-kind",
                "mailboat-republished",
                "mailboat-value-bytes", "mailboat-key-prefix", "mailboat-key-bytes",
            ])
        #expect(RecordHeader.allCases.allSatisfy { $0.text.hasPrefix(RecordHeader.prefix) })
    }
}

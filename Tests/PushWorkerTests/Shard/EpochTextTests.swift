import Testing

@testable import PushWorker

/// What a tombstone's header says of its writer's epoch.
struct EpochTextTests {
    @Test(
        arguments: [
            ("0", 0), ("7", 7), ("1234567890123", 1_234_567_890_123), ("9223372036854775807", .max),
            ("9223372036854775808", nil), ("99999999999999999999", nil), ("", nil), ("-1", nil), ("+1", nil),
            ("1 ", nil),
            ("1a", nil), ("x", nil),
        ] as [(String, Int64?)])
    func digitsAreANumberAndNothingElseIs(text: String, number: Int64?) {
        let bytes = Array(text.utf8)
        let read = KafkaStateSection.decimal(bytes.span)
        #expect(read == number)
    }
}

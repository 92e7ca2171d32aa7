import CommandSupport
import Foundation
import KafkaLog
import PushModel
import Testing

@testable import mailboat

struct TerminalTextTests {
    @Test(arguments: [
        ("order-7 “Anne” 🍕 日本", "order-7 “Anne” 🍕 日本"), ("\u{1B}[2J", #"\u001b[2J"#), ("a\nb\r\tc", #"a\nb\r\tc"#),
        ("\u{0}\u{7}\u{7F}", #"\u0000\u0007\u007f"#), ("\u{9B}31m", #"\u009b31m"#),
        ("\u{202E}abc\u{2066}\u{200F}", #"\u202eabc\u2066\u200f"#), ("\u{2028}\u{61C}", #"\u2028\u061c"#), ("", ""),
        ("👩‍👩‍👧", "👩‍👩‍👧"),
    ])
    func whatATerminalObeysIsShown(text: String, shown: String) { #expect(TerminalText.escaped(text) == shown) }

    /// Escaping a line of JSON does not change its meaning. JSON allows DEL, C1 controls and bidirectional marks, and
    /// they become JSON escapes.
    @Test func aLineOfJSONStaysTheSame() throws {
        let text = String(String.UnicodeScalarView((0...0x2070).compactMap { Unicode.Scalar($0) }))
        let line = JSONLine.text(["key": text])
        let shown = TerminalText.escaped(line)
        #expect(!shown.unicodeScalars.contains(where: ControlCharacter.contains))
        #expect(shown != line)
        #expect(try JSONDecoder().decode([String: String].self, from: Data(shown.utf8)) == ["key": text])
    }

    @Test func aLogLineHasNoWholeToken() {
        let token = String(repeating: "a1", count: 32)
        #expect(TerminalText.withoutTokens("x=\(token)\u{1B}") == #"x=a1a1a1a1…(64 digits)\u001b"#)
    }

    /// A key cannot add a line to the output, and a token in a key or reason is shortened.
    @Test func aDeadLetterIsThreeLines() {
        let token = String(repeating: "0f", count: 80)
        let record = OwnedRecord(
            partition: 3, offset: 17, timestampMillis: 1_700_000_000_000, key: Array(token.utf8), value: [],
            headers: [.init(name: RecordHeader.reason.text, value: Array("app: \"\(token)\" is not configured".utf8))])
        let lines = DeadLetterText.lines(DeadLetter(record), .sendable(if: nil))
        #expect(
            lines == [
                "3:17  2023-11-14T22:13:20Z  unknown source  key “0f0f0f0f…(160 digits)”, 0 bytes",
                "    app: \"0f0f0f0f…(160 digits)\" is not configured", "    can be republished",
            ])
        // JSON output for programs has the key unchanged.
        #expect(DeadLetterText.json(DeadLetter(record), .sendable(if: nil)).contains("\"key\":\"\(token)\""))
    }
}

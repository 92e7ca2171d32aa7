import PushModel

/// Foreign text (keys, values, topics), made safe for a terminal and a log.
package enum TerminalText {
    /// The text on one line. Characters that control a terminal are written as in JSON (`\n`, `\u001b`), so that a line
    /// of JSON stays the same JSON.
    package static func escaped(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: ControlCharacter.contains) else { return text }
        var shown = ""
        for scalar in text.unicodeScalars {
            guard ControlCharacter.contains(scalar) else {
                shown.unicodeScalars.append(scalar)
                continue
            }
            switch scalar {
            case "\n": shown += "\\n"
            case "\r": shown += "\\r"
            case "\t": shown += "\\t"
            default:
                let digits = String(scalar.value, radix: 16)
                shown += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        return shown
    }

    /// The text on one line, with everything shortened that looks like a device token.
    package static func withoutTokens(_ text: String) -> String { Self.escaped(TokenText.shortened(text)) }
}

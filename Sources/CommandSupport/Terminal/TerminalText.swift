import PushModel

/// What strangers wrote (keys, values, topics), made fit for a terminal and a log.
package enum TerminalText {
    /// The text on one line, with what a terminal would obey written as JSON writes it (`\n`, `\u001b`), so that a line of JSON stays the same
    /// JSON.
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

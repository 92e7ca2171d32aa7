import Glibc

/// Decides how much may be shown of a text that somebody gave as a setting, property, variable or option. Only this
/// code shows such a text.
///
/// Each function is for one kind of text. A text that must not be shown is described by its length, or by the kind of
/// secret that it looks like.
package enum ShownText {
    /// Maximum length in bytes of a value that `closed` shows.
    static let closedByteCountMax = 24
    /// Maximum length in bytes of a word in a plain name.
    private static let wordByteCountMax = 24
    /// Minimum length in bytes at which a word with letters and digits counts as random.
    private static let drawnByteCountMin = 16
    private static let nameByteCountMax = 249

    /// Describes a text without repeating any of it, as a noun: `a private key`, `a text of 23 characters`.
    package static func withheld(_ text: String) -> String {
        SecretShape.noun(text)
            ?? (text.isEmpty ? "empty" : "a text of \(text.count) character\(text.count == 1 ? "" : "s")")
    }

    /// Shows a value in quotes where a number, a duration, a boolean or one of a few words was expected. A value that
    /// may be a secret is described.
    package static func closed(_ text: String) -> String {
        Self.isClosed(text) ? "\"\(text)\"" : Self.withheld(text)
    }

    static func isClosed(_ text: String) -> Bool {
        text.utf8.count <= Self.closedByteCountMax && !text.contains("BEGIN")
            && !Self.words(text).contains(where: Self.isDrawn)
            && !text.unicodeScalars.contains { $0 == "=" || $0 == "@" || $0.properties.isWhitespace || $0.value < 0x20 }
    }

    /// Whether `text` may be shown as the name of something, such as a topic, a host or an app. Such a name has
    /// letters, digits and `._:-`, and no word that looks random.
    package static func isName(_ text: String) -> Bool {
        (1...Self.nameByteCountMax).contains(text.utf8.count)
            && text.utf8.allSatisfy { TextBytes.isLetter($0) || TextBytes.isDigit($0) || "._:-".utf8.contains($0) }
            && Self.words(text).allSatisfy { !Self.isDrawn($0) }
    }

    /// Shows a name. A text that is not a name is described.
    package static func name(_ text: String) -> String { Self.isName(text) ? text : Self.withheld(text) }

    /// Shows a name that the program does not know, such as a misspelt one. Each word may only have letters and then up
    /// to four digits. Otherwise the name's length is described.
    package static func unknownName(_ text: String) -> String {
        Self.isPlain(text) ? text : "(a name of \(text.count) character\(text.count == 1 ? "" : "s"))"
    }

    private static func isPlain(_ text: String) -> Bool {
        guard (1...Self.nameByteCountMax).contains(text.utf8.count),
            text.utf8.allSatisfy({ TextBytes.isLetter($0) || TextBytes.isDigit($0) || "._-".utf8.contains($0) })
        else { return false }
        return Self.words(text).allSatisfy { word in
            let digits = word.drop { TextBytes.isLetter($0) }
            return word.count <= Self.wordByteCountMax && digits.count <= 4 && digits.allSatisfy(TextBytes.isDigit)
        }
    }

    /// Shows brokers or hosts with ports. A text with other characters is described, because it may have a user before
    /// a host.
    package static func addresses(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy {
            TextBytes.isLetter($0) || TextBytes.isDigit($0) || "._:-,[]/%".utf8.contains($0)
        }
        return isPlain
            && text.split(separator: ",").allSatisfy({ !Self.words(String($0)).contains(where: Self.isDrawn) })
            ? text : Self.withheld(text)
    }

    /// Shows a path that looks like one or exists; `nil` for any other text, because it may be the content of a file.
    package static func path(_ text: String) -> String? {
        guard !text.isEmpty, text.utf8.count <= 1_024, !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f }) else {
            return nil
        }
        guard SecretShape.noun(text) == nil else { return nil }
        return Self.looksLikePath(text) || access(text, F_OK) == 0 ? text : nil
    }

    /// Shows a path or plain word that names a file on a command line, where no secret is expected; `nil` for any other
    /// text.
    package static func file(_ text: String) -> String? { self.path(text) ?? (self.isPlain(text) ? text : nil) }

    /// The beginning of a sentence about a text that was given as a path but must not be shown.
    package static func notPath(_ text: String) -> String {
        SecretShape.noun(text).map { "this is \($0), not its path" }
            ?? "this is \(Self.withheld(text)) that does not look like a path, and no file has that name"
    }

    private static let extensions: Set<String> = [
        "p8", "pem", "key", "crt", "cer", "cert", "p12", "jks", "yaml", "yml", "json", "jsonl", "ndjson", "properties",
        "conf", "config", "ini", "txt", "token", "csv", "log", "journal", "sock", "keytab", "md", "swift",
    ]

    private static func looksLikePath(_ text: String) -> Bool {
        guard !text.utf8.contains(where: { "=:+\"'".utf8.contains($0) }) else { return false }
        let parts = text.split(separator: "/")
        guard !parts.contains(where: { Self.words(String($0)).contains(where: Self.isDrawn) }) else { return false }
        if ["/", "./", "../", "~/"].contains(where: { text.hasPrefix($0) }) { return true }
        guard !text.contains(" "), let last = parts.last else { return false }
        let dot = last.lastIndex(of: ".")
        if let dot, dot != last.startIndex, Self.extensions.contains(last[last.index(after: dot)...].lowercased()) {
            return true
        }
        return parts.count > 1 && parts.allSatisfy { Self.isPlain(String($0)) }
    }

    /// Whether a word looks random, as keys and tokens do. Such a word is long and has letters and digits, or is longer
    /// than any real word.
    private static func isDrawn(_ word: Substring.UTF8View) -> Bool {
        let hasDigit = word.contains(where: TextBytes.isDigit)
        let hasLetter = word.contains(where: TextBytes.isLetter)
        return word.count >= Self.drawnByteCountMin && hasDigit && hasLetter || word.count > 2 * Self.wordByteCountMax
    }

    private static func words(_ text: String) -> [Substring.UTF8View] {
        text.split { !$0.isASCII || !($0.isLetter || $0.isNumber) }.map(\.utf8)
    }
}

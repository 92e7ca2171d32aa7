/// Joins texts, some of them ending with punctuation, such as quoted messages, so that no two marks follow each other.
package enum SentenceText {
    /// The text with a full stop, unless it ends with a full stop, a question mark or an exclamation mark.
    package static func closed(_ text: String) -> String { Self.isClosed(text) ? text : text + "." }

    /// Words with commas between them. A text that ends with punctuation gets no comma.
    package static func list(_ words: [String]) -> String {
        words.reduce(into: "") { text, word in
            text += (text.isEmpty ? "" : Self.isClosed(text) ? " " : ", ") + word
        }
    }

    private static func isClosed(_ text: String) -> Bool {
        text.hasSuffix("?") || text.hasSuffix(".") || text.hasSuffix("!")
    }
}

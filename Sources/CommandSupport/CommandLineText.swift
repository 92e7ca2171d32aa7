import Redaction

/// What a command says of its own command line, without values that may be secrets. The parser repeats what it does not understand, and whoever has
/// mistaken an option may have given a password to it.
package struct CommandLineText {
    /// What was given, words with what else may be found of them, the longest first.
    private let given: [String]

    /// - Parameter words: of the command line, without the program's name.
    package init(_ words: [String]) {
        var given: [String] = []
        for word in words where !word.isEmpty {
            given.append(word)
            // `--name=value`, and `-Xname=value` for `-X name=value`.
            if let sign = word.firstIndex(of: "=") { given.append(String(word[word.index(after: sign)...])) }
            if word.hasPrefix("-"), !word.hasPrefix("--"), word.count > 2 { given.append(String(word.dropFirst(2))) }
            // The parser takes a word that begins with '-' and has more for an option, and shows what of it is its name.
            given += word.split(whereSeparator: \.isNewline).map(String.init)
        }
        self.given = Set(given).filter { $0.utf8.count >= Self.byteCountMin }
            .sorted { ($0.utf8.count, $0) > ($1.utf8.count, $1) }
    }

    /// Shorter values would be found in any text.
    private static let byteCountMin = 4
    /// How the parser begins what it says of a word that it has no place for.
    private static let unknown = ["nexpected argument", "nknown option", "nvalid option"]
    /// How it ends what it says of a value that it cannot read: one of a number, or of a few words.
    private static let unreadable = "is invalid for"

    /// The message with what may be secret described in its place.
    package func shown(_ message: String) -> String {
        // The usage below a fault names options, not values.
        let end = message.firstRange(of: "\nUsage:")?.lowerBound ?? message.endIndex
        var fault = String(message[..<end])
        let isUnknown = Self.unknown.contains { fault.contains($0) }
        let isUnreadable = fault.contains(Self.unreadable)
        for text in self.given where fault.contains(text) {
            guard !Self.mayBeShown(text, isUnknown: isUnknown, isUnreadable: isUnreadable) else { continue }
            fault = fault.replacing(text, with: "(\(ShownText.withheld(text)))")
        }
        return fault + message[end...]
    }

    private static func mayBeShown(_ text: String, isUnknown: Bool, isUnreadable: Bool) -> Bool {
        if isUnknown {
            // `--option` with a name that nobody knows.
            let name = String(text.drop { $0 == "-" })
            return ShownText.unknownName(name) == name
        }
        if isUnreadable { return ShownText.closed(text) == "\"\(text)\"" }
        return ShownText.isName(text) || ShownText.path(text) != nil
            || (text.contains(":") && ShownText.addresses(text) == text)
    }
}

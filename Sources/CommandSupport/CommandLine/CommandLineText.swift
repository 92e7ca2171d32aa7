import Redaction

/// What a command says about its own command line, without values that may be secrets. The parser repeats what it does
/// not understand, and a password may have been given to the wrong option.
package struct CommandLineText {
    /// The words, and the parts of them that a message may repeat, the longest first.
    private let given: [String]
    /// The words as they were given.
    private let words: [String]

    /// - Parameter words: the words of the command line, without the program's name.
    package init(_ words: [String]) {
        self.words = words
        var given: [String] = []
        for word in words where !word.isEmpty {
            given.append(word)
            // `--name=value`, and `-Xname=value` for `-X name=value`.
            if let sign = word.firstIndex(of: "=") { given.append(String(word[word.index(after: sign)...])) }
            if word.hasPrefix("-"), !word.hasPrefix("--"), word.count > 2 { given.append(String(word.dropFirst(2))) }
            // A message may repeat a single line of a word, such as the part that the parser takes for an option's
            // name.
            given += word.split(whereSeparator: \.isNewline).map(String.init)
        }
        self.given = Set(given).filter { $0.utf8.count >= Self.byteCountMin }
            .sorted { ($0.utf8.count, $0) > ($1.utf8.count, $1) }
    }

    /// Least length in bytes of a value that is searched for. Shorter values would be found in any text.
    private static let byteCountMin = 4
    /// The beginnings of the parser's message about an unknown word.
    private static let unknown = ["nexpected argument", "nknown option", "nvalid option"]

    /// The message with possible secrets replaced by descriptions, and in the words that all commands use.
    package func shown(_ message: String) -> String {
        // The usage below a fault names options, not values.
        let end = message.firstRange(of: "\nUsage:")?.lowerBound ?? message.endIndex
        var fault = String(message[..<end])
        let usage = String(message[end...])
        if let refused = RefusedValue(fault) { return refused.text + usage }
        let isUnknown = Self.unknown.contains { fault.contains($0) }
        let hint = self.hint(fault, usage: usage)
        for text in self.given where fault.contains(text) {
            guard !Self.mayBeShown(text, isUnknown: isUnknown) else { continue }
            fault = fault.replacing(text, with: "(\(ShownText.withheld(text)))")
        }
        return fault + hint + usage
    }

    private static func mayBeShown(_ text: String, isUnknown: Bool) -> Bool {
        if isUnknown {
            // `--option` with an unknown name.
            let name = String(text.drop { $0 == "-" })
            return ShownText.unknownName(name) == name
        }
        return ShownText.isName(text) || ShownText.path(text) != nil
            || (text.contains(":") && ShownText.addresses(text) == text)
    }

    // MARK: Words that begin with a dash

    /// The beginning of the parser's message about an option that seems to be followed by another.
    private static let missing = "Missing value for '"

    /// Advice on how to write a word that begins with '-' and is not an option; empty if the fault is another one.
    private func hint(_ fault: String, usage: String) -> String {
        if let start = fault.firstRange(of: Self.missing) {
            let option = fault[start.upperBound...].prefix { $0 != " " && $0 != "'" }
            guard let index = self.words.firstIndex(of: String(option)), index + 1 < self.words.count,
                Self.isDashed(self.words[index + 1]), !usage.contains("[\(self.words[index + 1])")
            else { return "" }
            return "\nA value that begins with '-' is written \(option)=VALUE."
        }
        guard fault.contains("nknown option '-"), !fault.contains("nknown option '--") else { return "" }
        return "\nA name or a file that begins with '-' is written behind '--'."
    }

    private static func isDashed(_ word: String) -> Bool { word.hasPrefix("-") && word != "-" && word != "--" }
}

/// A value that the parser could not read, from its message.
private struct RefusedValue {
    private static let (start, middle) = ("The value '", "' is invalid for '")
    /// The beginning of the parser's list of possible values.
    private static let choices = ". Please provide one of"

    /// `--port is "abc": expected 0 to 65535`.
    let text: String

    /// - Parameter fault: the parser's message. The result is `nil` if it is about something else.
    init?(_ fault: String) {
        guard let start = fault.firstRange(of: Self.start),
            // The value may contain the words that follow it.
            let middle = fault.ranges(of: Self.middle).last, start.upperBound <= middle.lowerBound,
            let end = fault[middle.upperBound...].firstIndex(of: "'")
        else { return nil }
        let argument = fault[middle.upperBound..<end]
        let name = argument.hasPrefix("-") ? argument.prefix { $0 != " " } : argument
        let rest = fault[fault.index(after: end)...]
        let reason = rest[..<(rest.firstRange(of: "\nHelp:")?.lowerBound ?? rest.endIndex)]
        let value = Self.shown(String(fault[start.upperBound..<middle.lowerBound]))
        self.text = "\(fault[..<start.lowerBound])\(name) is \(value)\(Self.expectation(reason))"
    }

    private static func expectation(_ reason: Substring) -> String {
        guard let list = reason.firstRange(of: Self.choices) else {
            return reason.isEmpty ? ", which it cannot be" : "\(reason)"
        }
        let behind = reason[list.upperBound...]
        // Up to five choices are in quotes; more of them are on a line each.
        let words =
            behind.contains("\n  - ")
            ? behind.split(separator: "\n").dropFirst().map { $0.dropFirst(4) }
            : behind.split(separator: "'").enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
        guard let last = words.last, words.count > 1 else { return ": expected \(words.joined())" }
        return ": expected \(words.dropLast().joined(separator: ", ")) or \(last)"
    }

    private static func shown(_ value: String) -> String {
        let closed = ShownText.closed(value)
        if Double(value) != nil, value.contains(where: \.isNumber), closed == "\"\(value)\"" { return value }
        return ShownText.isName(value) ? "\"\(value)\"" : closed
    }
}

import ArgumentParser
import PushWorker
import Redaction

/// The words of a command line, checked before the parser reads them. The check finds words that the parser would
/// silently accept, or misunderstand.
struct CommandWords {
    /// What is wrong with the words, and the command whose usage helps.
    struct Fault: Error {
        var text: String
        /// The commands named so far, the root first.
        var path: [any ParsableCommand.Type]
        /// Whether the text says what was probably meant.
        var hasHint = false
    }

    /// The words as they were given, without the program's name.
    let given: [String]
    private let root: any ParsableCommand.Type

    init(_ given: [String], root: any ParsableCommand.Type) {
        self.given = given
        self.root = root
    }

    /// The words for the parser. Throws a `Fault`.
    func checked() throws -> [String] {
        let path = try self.path()
        guard self.given.contains(where: Self.isDoubtful), let description = CommandDescription(of: self.root) else {
            return self.given
        }
        return try self.checkValues(path, description)
    }

    // MARK: Commands

    /// The commands that the words name. Throws for an unknown command, because the parser would only show the help of
    /// the commands before it.
    private func path() throws -> [any ParsableCommand.Type] {
        let isHelp = self.given.first == Self.help
        var path = [self.root]
        for word in self.given.dropFirst(isHelp ? 1 : 0) {
            guard !word.hasPrefix("-") else { break }
            let parts = path[path.count - 1].configuration.subcommands
            if parts.isEmpty, !isHelp { break }
            if let next = parts.first(where: { $0._commandName == word }) {
                path.append(next)
            } else if !(path.count == 1 && word == Self.help) {
                throw Fault(text: Self.unknown(word, below: path), path: path)
            }
        }
        let rest = self.given.dropFirst(path.count - 1 + (isHelp ? 1 : 0))
        if path.count == 1, let word = rest.first, Self.versionWords.contains(word) {
            throw Fault(
                text: "'\(self.root._commandName)' has no option '\(word)'; did you mean '--version'?", path: path)
        }
        let parts = path[path.count - 1].configuration.subcommands
        if path.count > 1, !parts.isEmpty, !isHelp, !rest.contains(where: Self.helpWords.contains) {
            throw Fault(text: Self.missing(parts, below: path), path: path)
        }
        return path
    }

    /// Words that other programs take for `--version`.
    private static let versionWords: Set<String> = ["-v", "-V", "-version"]
    /// Words that ask for a text instead of work.
    private static let helpWords: Set<String> = ["--help", "-h", "--version"]

    /// The message for a command that needs one of its subcommands, because it does nothing by itself.
    private static func missing(
        _ parts: [any ParsableCommand.Type], below path: [any ParsableCommand.Type]
    ) -> String {
        "'\(path.map { $0._commandName }.joined(separator: " "))' needs one of its commands: "
            + parts.map { $0._commandName }.joined(separator: ", ")
    }

    /// The parser's own command.
    private static let help = "help"

    private static func unknown(_ word: String, below path: [any ParsableCommand.Type]) -> String {
        let names = path[path.count - 1].configuration.subcommands.map { $0._commandName }
        let command = path.map { $0._commandName }.joined(separator: " ")
        let shown = word.isEmpty || ShownText.unknownName(word) == word ? "'\(word)'" : ShownText.unknownName(word)
        guard !names.isEmpty else { return "'\(command)' has no commands, \(shown) among them" }
        if path.count == 1, word == "version" {
            return "'\(command)' has no command \(shown); did you mean '--version'?"
        }
        // A word that is a part of exactly one name counts as a misspelling of that name.
        let holders = names.filter { word.count > 2 && $0.contains(word) }
        let near = NearSpelling.of(word, among: names) ?? (holders.count == 1 ? holders[0] : nil)
        return "'\(command)' has no command \(shown)"
            + (near.map { "; did you mean '\($0)'?" } ?? ": expected one of \(names.joined(separator: ", "))")
    }

    // MARK: Values

    /// Whether a word may be an empty value, or a number below zero, which the parser takes for an option.
    private static func isDoubtful(_ word: String) -> Bool {
        word.isEmpty || word.hasSuffix("=") || Self.isNegativeNumber(word)
    }

    private static func isNegativeNumber(_ word: String) -> Bool {
        guard word.hasPrefix("-"), let next = word.dropFirst().first else { return false }
        return next.isASCII && (next.isNumber || next == ".") && Double(word) != nil
    }

    private static func command(
        _ path: [any ParsableCommand.Type], in description: CommandDescription
    ) -> CommandDescription {
        path.dropFirst().reduce(description) { whole, part in
            whole.parts.first { $0.commandName == part._commandName } ?? whole
        }
    }

    // MARK: Options

    /// The first option that the command does not have, as a fault; `nil`: it has all of them.
    func unknownOption() -> Fault? {
        guard let path = try? self.path(), let description = CommandDescription(of: self.root) else { return nil }
        let command = Self.command(path, in: description)
        let names = (command.arguments ?? []).flatMap { ($0.names ?? []).map(\.word) }
        let words = self.given.dropFirst(path.count - 1).prefix { $0 != "--" }
        let unknown = words.indices.first { index in
            // A word after an option that takes a value is the value, so it is not an unknown option.
            let isValue = index > words.startIndex && command.option(words[index - 1][...])?.takesValue == true
            return !isValue && Self.isUnknown(words[index], among: names)
        }
        guard let word = unknown.map({ String(words[$0].prefix { $0 != "=" }) }) else { return nil }
        let near = Self.option(meantBy: word, among: names)
        let name = path.map { $0._commandName }.joined(separator: " ")
        return Fault(
            text: "'\(name)' has no option \(Self.shown(option: word, isMisspelt: near != nil))"
                + (near.map { "; did you mean '\($0)'?" } ?? ""),
            path: path, hasHint: near != nil)
    }

    private static func isUnknown(_ word: String, among names: [String]) -> Bool {
        guard word.hasPrefix("-"), word != "-", !Self.isNegativeNumber(word) else { return false }
        let name = String(word.prefix { $0 != "=" })
        guard !names.contains(name), !Self.helpWords.contains(name) else { return false }
        // The value of a short option may follow its name without a space.
        return name.hasPrefix("--") || !names.contains(String(name.prefix(2)))
    }

    /// The word as a message may repeat it. A word that does not look like a name may be a secret, and is only
    /// described.
    private static func shown(option word: String, isMisspelt: Bool) -> String {
        let bare = String(word.drop { $0 == "-" })
        let isShort = !isMisspelt && !word.hasPrefix("--")
        return isShort
            ? "'\(word.prefix(2))'" : ShownText.unknownName(bare) == bare ? "'\(word)'" : ShownText.unknownName(bare)
    }

    /// The option that was probably meant by an unknown word; `nil`: none, or several.
    private static func option(meantBy word: String, among names: [String]) -> String? {
        let bare = String(word.drop { $0 == "-" })
        let long = names.filter { $0.hasPrefix("--") }
        if bare.count > 1, let near = NearSpelling.of(word, among: long) { return near }
        let other = Self.namesElsewhere.first { $0.words.contains(bare) }?.option
        if let other, long.contains(other) { return other }
        // The beginning of a name, or a name with an addition such as `--group-id`.
        let related = long.filter { name in
            let option = name.dropFirst(2)
            return option.hasPrefix(bare) || bare.hasPrefix(option + "-")
        }
        return related.count == 1 ? related[0] : nil
    }

    /// Names that Kafka's own programs and others have for an option.
    private static let namesElsewhere: [(words: Set<String>, option: String)] = [
        (["b", "broker", "brokers", "broker-list", "bootstrap-server", "servers", "kafka"], "--bootstrap"),
        (["consumer-group", "G"], "--group"),
        (["command-config", "consumer-config", "producer-config", "F"], "--properties"),
        (["settings", "c"], "--config"),
        (["t"], "--topic"),
    ]

    private func checkValues(
        _ path: [any ParsableCommand.Type], _ description: CommandDescription
    ) throws -> [String] {
        let command = Self.command(path, in: description)
        func check(_ value: Substring, of argument: CommandDescription.Argument) throws {
            guard value.isEmpty else { return }
            // The option's own name says nothing about its values.
            let name = argument.word.map { word in String(word.drop { $0 == "-" }) }
            let expected = argument.valueName == name ? "a value" : argument.valueName ?? "a value"
            throw Fault(text: "\(argument.shownName) is empty: expected \(expected)", path: path)
        }
        var words = Array(self.given.prefix(path.count - 1))
        var rest = self.given.dropFirst(path.count - 1)
        var aloneCount = 0
        var isBehindOptions = false
        while let word = rest.popFirst() {
            words.append(word)
            if word == "--", !isBehindOptions {
                isBehindOptions = true
            } else if isBehindOptions || !word.hasPrefix("-") || word == "-" {
                if let argument = command.positional(aloneCount) { try check(word[...], of: argument) }
                aloneCount += 1
            } else if let sign = word.firstIndex(of: "=") {
                guard let option = command.option(word[..<sign]), option.takesValue else { continue }
                try check(word[word.index(after: sign)...], of: option)
            } else if let option = command.option(word[...]), option.takesValue, let value = rest.first {
                if Self.isNegativeNumber(value) {
                    words[words.count - 1] = "\(word)=\(value)"
                    rest.removeFirst()
                } else if !value.hasPrefix("-") || value == "-" {
                    try check(value[...], of: option)
                    words.append(value)
                    rest.removeFirst()
                }
            }
        }
        return words
    }
}

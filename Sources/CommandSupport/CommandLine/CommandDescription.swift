package import ArgumentParser
import Foundation

/// A command and its arguments, as the parser describes it.
package struct CommandDescription: Decodable {
    /// An option, a flag or a positional argument.
    package struct Argument: Decodable {
        struct Name: Decodable {
            var kind: String
            var name: String

            /// The name as it is written.
            var word: String { (self.kind == "long" ? "--" : "-") + self.name }
        }

        /// `option`, `flag` or `positional`.
        package var kind: String
        /// Whether the argument may be omitted.
        package var isOptional: Bool
        var isRepeating: Bool
        var names: [Name]?
        /// The argument's help text.
        var abstract: String?
        /// The placeholder of the value in the help.
        package var valueName: String?

        /// The argument's name as it is written, the long one if there is one; `nil` for a positional argument.
        package var word: String? { (self.names?.first { $0.kind == "long" } ?? self.names?.first)?.word }
        /// The argument's name in a message.
        var shownName: String { self.word ?? "<\(self.valueName ?? "")>" }
        /// Whether the argument has a value.
        var takesValue: Bool { self.kind == "option" }
    }

    /// The command's name: the last word of its call.
    package var commandName: String
    /// The text of the command's help before the options.
    package var discussion: String?
    var subcommands: [CommandDescription]?
    /// The arguments in the order of the command's help.
    package var arguments: [Argument]?

    private struct Dump: Decodable { var command: CommandDescription }

    /// The description of the program with this root command. Making it takes milliseconds.
    package init?(of root: any ParsableCommand.Type) {
        guard let dump = try? JSONDecoder().decode(Dump.self, from: Data(root._dumpHelp().utf8)) else { return nil }
        self = dump.command
    }

    /// The command's subcommands, without the parser's own `help`.
    package var parts: [CommandDescription] { (self.subcommands ?? []).filter { $0.commandName != "help" } }

    /// The commands that do something, with the words that call each.
    package var leaves: [(path: [String], command: CommandDescription)] {
        guard !self.parts.isEmpty else { return [([], self)] }
        return self.parts.flatMap { part in part.leaves.map { ([part.commandName] + $0.path, $0.command) } }
    }

    /// The option with this name.
    func option(_ word: Substring) -> Argument? {
        self.arguments?.first { argument in
            argument.kind != "positional" && argument.names?.contains { $0.word == word } == true
        }
    }

    /// The positional argument at an index, from 0.
    func positional(_ index: Int) -> Argument? {
        let all = (self.arguments ?? []).filter { $0.kind == "positional" }
        return index < all.count ? all[index] : all.last.flatMap { $0.isRepeating ? $0 : nil }
    }
}

package import ArgumentParser
import Foundation

/// A command and what it takes, as the parser describes it.
package struct CommandDescription: Decodable {
    /// An option, a flag or what stands alone.
    package struct Argument: Decodable {
        struct Name: Decodable {
            var kind: String
            var name: String

            /// As it is written.
            var word: String { (self.kind == "long" ? "--" : "-") + self.name }
        }

        /// `option`, `flag` or `positional`.
        package var kind: String
        /// It need not be given.
        package var isOptional: Bool
        var isRepeating: Bool
        var names: [Name]?
        /// What stands for the value in the help.
        package var valueName: String?

        /// As it is written, the long name where there is one; `nil`: it stands alone.
        package var word: String? { (self.names?.first { $0.kind == "long" } ?? self.names?.first)?.word }
        /// Its name in a message.
        var shownName: String { self.word ?? "<\(self.valueName ?? "")>" }
        /// Whether a value belongs to it.
        var takesValue: Bool { self.kind == "option" }
    }

    /// The last word of its call.
    package var commandName: String
    /// What its help says before the options.
    package var discussion: String?
    var subcommands: [CommandDescription]?
    /// In the order of its help.
    package var arguments: [Argument]?

    private struct Dump: Decodable { var command: CommandDescription }

    /// The program whose root this command is. Takes milliseconds.
    package init?(of root: any ParsableCommand.Type) {
        guard let dump = try? JSONDecoder().decode(Dump.self, from: Data(root._dumpHelp().utf8)) else { return nil }
        self = dump.command
    }

    /// Commands that it consists of, without the parser's own `help`.
    package var parts: [CommandDescription] { (self.subcommands ?? []).filter { $0.commandName != "help" } }

    /// The commands that do something, with the words that call each.
    package var leaves: [(path: [String], command: CommandDescription)] {
        guard !self.parts.isEmpty else { return [([], self)] }
        return self.parts.flatMap { part in part.leaves.map { ([part.commandName] + $0.path, $0.command) } }
    }

    /// The option that a word names.
    func option(_ word: Substring) -> Argument? {
        self.arguments?.first { argument in
            argument.kind != "positional" && argument.names?.contains { $0.word == word } == true
        }
    }

    /// What stands alone at a place, counted from 0.
    func positional(_ index: Int) -> Argument? {
        let all = (self.arguments ?? []).filter { $0.kind == "positional" }
        return index < all.count ? all[index] : all.last.flatMap { $0.isRepeating ? $0 : nil }
    }
}

package import ArgumentParser
import Glibc

extension AsyncParsableCommand {
    /// Runs the command that the process was called for, and ends the process. Final texts, such as help, the version
    /// or a fault of the command line, are written like all other texts. The exit status therefore says when a final
    /// text could not be written.
    package static func runToEnd() async -> Never {
        HelpText.widenNarrowTerminal()
        let words = CommandWords(Array(CommandLine.arguments.dropFirst()), root: Self.self)
        var running: (any ParsableCommand.Type)?
        do {
            var command = try Self.parseAsRoot(try words.checked())
            running = type(of: command)
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
            Glibc.exit(EXIT_SUCCESS)
        } catch {
            let (text, status) = CommandEnding<Self>.of(error, running: running, words: words.given)
            if !text.isEmpty {
                if status.isSuccess {
                    StandardOutput.show(text + "\n")
                } else {
                    StandardError.show(text + "\n")
                }
            }
            // `atexit` checks whether all of standard output was written.
            Glibc.exit(status.rawValue)
        }
    }
}

/// The last text of a command, and its exit status.
enum CommandEnding<Root: AsyncParsableCommand> {
    /// - Parameters:
    ///   - running: the command that was running; `nil` if the command line was still being read.
    ///   - words: the words of the command line.
    static func of(
        _ error: any Error, running: (any ParsableCommand.Type)?, words: [String]
    ) -> (text: String, status: ExitCode) {
        let line = CommandLineText(words)
        if let first = error as? CommandWords.Fault {
            // Empty values are found before the parser reads anything. If an option is unknown, too, name that option
            // instead.
            let fault = CommandWords(words, root: Root.self).unknownOption() ?? first
            return (Self.withUsage(line.shown("Error: \(fault.text)"), fault.path), .validationFailure)
        }
        // The command itself finds some faults of a command line, for which the parser would show the usage of the
        // root.
        if let running, let fault = error as? ValidationError {
            return (
                Self.withUsage(line.shown("Error: \(fault.message)"), Self.path(to: running) ?? [Root.self]),
                .validationFailure
            )
        }
        let status = Root.exitCode(for: error)
        guard status.isSuccess else {
            let said = line.shown(Root.fullMessage(for: error))
            // The parser reports wrong and missing values before unknown options. An unknown option is more likely the
            // cause.
            if running == nil, let fault = CommandWords(words, root: Root.self).unknownOption(),
                fault.hasHint || !said.contains("Unknown option")
            {
                return (Self.withUsage(line.shown("Error: \(fault.text)"), fault.path), .validationFailure)
            }
            let parts = said.split(separator: "\nUsage: ", maxSplits: 1, omittingEmptySubsequences: false)
            return (
                Self.fit(String(parts[0])) + (parts.count > 1 ? "\n" + HelpText.usage("Usage: " + parts[1]) : ""),
                status
            )
        }
        return (CompletionScript.mended(HelpText.text { Root.fullMessage(for: error, columns: $0) }), status)
    }

    private static func withUsage(_ fault: String, _ path: [any ParsableCommand.Type]) -> String {
        guard let command = path.last else { return Self.fit(fault) }
        let usage = Root.usageString(for: command)
        let names = path.map { $0._commandName }.joined(separator: " ")
        return Self.fit(fault) + "\n"
            + HelpText.usage("Usage: \(usage)\n  See '\(names) --help' for more information.")
    }

    /// The text made safe: what was on the command line or in a file must not control a terminal.
    private static func fit(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { TerminalText.escaped(String($0)) }.joined(separator: "\n")
    }

    /// The commands from the root to `command`; `nil` if the root does not have it.
    private static func path(
        to command: any ParsableCommand.Type, from root: any ParsableCommand.Type = Root.self
    ) -> [any ParsableCommand.Type]? {
        if root == command { return [root] }
        for part in root.configuration.subcommands {
            if let path = Self.path(to: command, from: part) { return [root] + path }
        }
        return nil
    }
}

package import ArgumentParser
import Glibc

extension AsyncParsableCommand {
    /// Runs the command that the process was called for, and ends the process. What it would print at its end, such as the texts of `--help` and
    /// `--version` or what is wrong with the command line, is written as everything else is: so the exit status says when it could not be written.
    package static func runToEnd() async -> Never {
        do {
            var command = try Self.parseAsRoot()
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
            Glibc.exit(EXIT_SUCCESS)
        } catch {
            let status = Self.exitCode(for: error)
            let text = Self.fullMessage(for: error)
            if !text.isEmpty {
                if status.isSuccess {
                    StandardOutput.show(text + "\n")
                } else {
                    let words = CommandLineText(Array(CommandLine.arguments.dropFirst()))
                    StandardError.show(words.shown(text) + "\n")
                }
            }
            // `atexit` looks whether all of standard output was written.
            Glibc.exit(status.rawValue)
        }
    }
}

import ArgumentParser
import Testing

@testable import CommandSupport
@testable import mailboat

/// Tests of the texts of `--help`, from which people copy commands.
struct HelpTextTests {
    private static let text = """
        OVERVIEW: Does something.

        A paragraph that is longer than the lines that are wanted here, and so is broken between words.

          one    a cell of a table that is too long for its line
          second another

        EXAMPLES
          What the example does, in a sentence that is longer than a line:
            mailboat run --config mailboat.yaml --check --and-more
        """

    @Test func paragraphsAreBrokenAndExamplesAreNot() {
        #expect(
            HelpText.wrapped(Self.text, to: 40) == """
                OVERVIEW: Does something.

                A paragraph that is longer than the
                lines that are wanted here, and so is
                broken between words.

                  one    a cell of a table that is too
                         long for its line
                  second another

                EXAMPLES
                  What the example does, in a sentence
                  that is longer than a line:
                    mailboat run --config mailboat.yaml --check --and-more
                """)
    }

    @Test func anOptionOfTheUsageStaysWhole() {
        let usage = "Usage: mailboat dev [--host <host>] [--app <bundle id> ...] <file>\n  See 'mailboat dev --help'."
        #expect(
            HelpText.usage(usage, columns: 37) == """
                Usage: mailboat dev [--host <host>]
                       [--app <bundle id> ...] <file>
                  See 'mailboat dev --help'.
                """)
    }

    /// A flag and its opposite share one help text, so the text must explain both.
    @Test func aFlagThatCanBeTakenBackSaysWhatThatMeans() throws {
        let root = try #require(CommandDescription(of: Mailboat.self))
        var count = 0
        for (path, command) in root.leaves {
            for argument in command.arguments ?? [] where argument.kind == "flag" {
                guard let word = argument.word, word.hasPrefix("--no-"),
                    command.option("--\(word.dropFirst(5))") != nil
                else { continue }
                count += 1
                #expect(argument.abstract?.contains("\(word): ") == true, "\(path) \(word)")
            }
        }
        #expect(count >= 2)
    }

    /// Each line of an example fits a terminal or ends with a backslash, so that it can be read and copied.
    @Test func examplesFit() throws {
        let root = try #require(CommandDescription(of: Mailboat.self))
        var lineCount = 0
        for (path, command) in root.leaves {
            let parts = (command.discussion ?? "").split(separator: "EXAMPLES\n", maxSplits: 1)
            guard parts.count == 2 else { continue }
            for line in parts[1].split(separator: "\n") where !line.hasSuffix(":") {
                lineCount += 1
                // A line with JSON may be longer, because it cannot be broken.
                #expect(line.count <= 80 || line.contains("'{"), "\(path): \(line)")
            }
        }
        #expect(lineCount > 60)
    }
}

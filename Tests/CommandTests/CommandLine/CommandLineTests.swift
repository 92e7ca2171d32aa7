import ArgumentParser
import Foundation
import Testing

@testable import CommandSupport
@testable import mailboat

/// Tests of the message for a wrong command line. The message names the option, its value, and what was expected.
@Suite(.timeLimit(.minutes(5)))
struct CommandLineTests {
    /// Message and exit status for a wrong command line. `nil` means that the command line is good and the command
    /// would run.
    static func said(_ words: [String]) -> (text: String, status: Int32)? {
        do {
            _ = try Mailboat.parseAsRoot(try CommandWords(words, root: Mailboat.self).checked())
            return nil
        } catch {
            let ending = CommandEnding<Mailboat>.of(error, running: nil, words: words)
            return (ending.text, ending.status.rawValue)
        }
    }

    struct Case: Sendable, CustomTestStringConvertible {
        var words: [String]
        var says: String
        /// Name of the command whose usage is shown.
        var usage: String
        var testDescription: String { self.words.joined(separator: " ") }

        init(_ line: String, _ says: String, usage: String) {
            // `''` in a case is an empty word, and `~` is a space within a word.
            self.words = line.split(separator: " ").map {
                String($0).replacing("''", with: "").replacing("~", with: " ")
            }
            (self.says, self.usage) = (says, usage)
        }
    }

    static let cases: [Case] = [
        // Values that should be numbers.
        Case("dev --port 99999", "--port is 99999: expected 0 to 65535", usage: "mailboat dev"),
        Case("dev --port -5", "--port is -5: expected 0 to 65535", usage: "mailboat dev"),
        Case("dev --port=-5", "--port is -5: expected 0 to 65535", usage: "mailboat dev"),
        Case("dev --port abc", "--port is \"abc\": expected a whole number, 0 to 65535", usage: "mailboat dev"),
        Case("dev --kafka-port 65536", "--kafka-port is 65536: expected 0 to 65535", usage: "mailboat dev"),
        Case("embedded-kafka --control -1", "--control is -1: expected 0 to 65535", usage: "mailboat embedded-kafka"),
        Case(
            "trigger order --pause 0.3", "--pause is 0.3: expected a whole number, 0 to 60 seconds",
            usage: "mailboat trigger"),
        Case("trigger order --pause -3", "--pause is -3: expected 0 to 60 seconds", usage: "mailboat trigger"),
        Case("check --now -1", "--now is -1: expected 0 to 253402300799 seconds since 1970", usage: "mailboat check"),
        Case(
            "check --now 99999999999999999999", "--now is 99999999999999999999: expected a whole number, 0 to",
            usage: "mailboat check"),
        Case("explain a --depth 0 --bootstrap h:1", "--depth is 0: expected 1 to 100000000", usage: "mailboat explain"),
        Case(
            "state dump --partition -1 --bootstrap h:1", "--partition is -1: expected 0 or more",
            usage: "mailboat state dump"),
        Case(
            "apns-simulator --update-token-share nan", "--update-token-share is \"nan\": expected a number, 0 to 1",
            usage: "mailboat apns-simulator"),
        Case(
            "apns-simulator --update-token-share -.5", "--update-token-share is -.5: expected 0 to 1",
            usage: "mailboat apns-simulator"),
        Case(
            "send --config a.yaml --token aa --payload b --priority 7", "--priority is 7: expected 10, 5 or 1",
            usage: "mailboat send"),
        // A required option is misspelt. The message names the misspelling, not the missing option.
        Case(
            "tail --bootstap h:1", "'mailboat tail' has no option '--bootstap'; did you mean '--bootstrap'?",
            usage: "mailboat tail"),
        // The message names an unknown option before a missing option and before a wrong value.
        Case(
            "publish --brokers h:1", "'mailboat publish' has no option '--brokers'; did you mean '--bootstrap'?",
            usage: "mailboat publish"),
        Case("publish -b h:1", "has no option '-b'; did you mean '--bootstrap'?", usage: "mailboat publish"),
        Case("tail -bootstrap h:1", "has no option '-bootstrap'; did you mean", usage: "mailboat tail"),
        Case(
            "publish --timeout abc --bootstrap-server=h:1",
            "has no option '--bootstrap-server'; did you mean '--bootstrap'?", usage: "mailboat publish"),
        Case("explain --group-id a", "has no option '--group-id'; did you mean '--group'?", usage: "mailboat explain"),
        Case(
            "explain order-7 --bootstrap h:1 --brokers h:1", "has no option '--brokers'; did you mean '--bootstrap'?",
            usage: "mailboat explain"),
        Case("publish --frobnicate", "'mailboat publish' has no option '--frobnicate'\n", usage: "mailboat publish"),
        Case("publish -p5ecret99word", "'mailboat publish' has no option '-p'\n", usage: "mailboat publish"),
        Case(
            "publish --p5ecret99word=a", "has no option (a name of 13 characters)\n", usage: "mailboat publish"),
        Case(
            "dead-letters list --brokers h:1", "'mailboat dead-letters list' has no option '--brokers'; did",
            usage: "mailboat dead-letters list"),
        Case("run --print-settings --config a.yaml", "leave out --config", usage: "mailboat run"),
        // Values that should be known words.
        Case("check --format jsn", "--format is \"jsn\": expected text or json", usage: "mailboat check"),
        Case("trigger ordr", "<scenario> is \"ordr\": expected order, start, goal or burst", usage: "mailboat trigger"),
        Case("check --app a~b", "--app is a text of 3 characters: expected a bundle id", usage: "mailboat check"),
        Case("tail --app a/b --bootstrap h:1", "--app is \"a/b\": expected a bundle id", usage: "mailboat tail"),
        Case("tail --topic a/b --bootstrap h:1", "--topic is \"a/b\": expected a topic name", usage: "mailboat tail"),
        Case(
            "topics check --bootstrap localhost:99999",
            "--bootstrap is \"localhost:99999\": expected brokers as host:port", usage: "mailboat topics check"),
        Case(
            "topics check -X bootstrap.servers=h:0", "\"bootstrap.servers\" = \"h:0\": expected brokers as host:port",
            usage: "mailboat topics check"),
        // Empty or missing values.
        Case(
            "topics check --bootstrap ''", "--bootstrap is empty: expected host:port,...",
            usage: "mailboat topics check"),
        Case(
            "topics check --bootstrap=", "--bootstrap is empty: expected host:port,...", usage: "mailboat topics check"),
        // A wrong option is named before an empty value.
        Case(
            "publish --bootstrap '' --bootstrap-servr h:1", "'mailboat publish' has no option '--bootstrap-servr'; did",
            usage: "mailboat publish"),
        Case("check --app '' --quite", "no option '--quite'; did you mean '--quiet'?", usage: "mailboat check"),
        Case("check --app ''", "--app is empty: expected bundle id", usage: "mailboat check"),
        Case("check ''", "<file> is empty: expected file", usage: "mailboat check"),
        Case("explain '' --bootstrap h:1", "<key> is empty: expected", usage: "mailboat explain"),
        Case("explain --bootstrap h:1 -- ''", "<key> is empty: expected", usage: "mailboat explain"),
        Case("publish --topic '' --bootstrap h:1", "--topic is empty: expected a value", usage: "mailboat publish"),
        Case("topics check -X ''", "--property is empty: expected name=value", usage: "mailboat topics check"),
        Case("channels delete --config a.yaml a ''", "<id> is empty: expected id", usage: "mailboat channels delete"),
        // Values that begin with a dash, like an option.
        Case(
            "publish --key -k --bootstrap h:1", "A value that begins with '-' is written --key=VALUE.",
            usage: "mailboat publish"),
        Case(
            "check -k", "A name or a file that begins with '-' is written behind '--'.",
            usage: "mailboat check"),
        // Unknown or missing commands.
        Case("pubish", "'mailboat' has no command 'pubish'; did you mean 'publish'?", usage: "mailboat <subcommand>"),
        Case("deadletters", "; did you mean 'dead-letters'?", usage: "mailboat <subcommand>"),
        Case("simulator", "; did you mean 'apns-simulator'?", usage: "mailboat <subcommand>"),
        Case("nope --help", "'mailboat' has no command 'nope': expected one of dev, ", usage: "mailboat <subcommand>"),
        Case("help nope", "'mailboat' has no command 'nope': expected one of dev, ", usage: "mailboat <subcommand>"),
        Case("help run nope", "'mailboat run' has no commands, 'nope' among them", usage: "mailboat run"),
        Case(
            "help channels nope", "'mailboat channels' has no command 'nope': expected one of create, ",
            usage: "mailboat channels <subcommand>"),
        Case(
            "channels lst", "'mailboat channels' has no command 'lst'; did you mean 'list'?",
            usage: "mailboat channels <subcommand>"),
        Case("''", "'mailboat' has no command ''", usage: "mailboat <subcommand>"),
        Case(
            "version", "'mailboat' has no command 'version'; did you mean '--version'?", usage: "mailboat <subcommand>"),
        Case("-v", "'mailboat' has no option '-v'; did you mean '--version'?", usage: "mailboat <subcommand>"),
        Case(
            "channels", "'mailboat channels' needs one of its commands: create, show, list, delete, reconcile",
            usage: "mailboat channels <subcommand>"),
        Case("topics --config a.yaml", "'mailboat topics' needs one of its", usage: "mailboat topics <subcommand>"),
        Case(
            "trigger order --key a --audience b", "--key and --audience are given: expected one of them",
            usage: "mailboat trigger"),
        Case(
            "check --app com.example.pizza.push-type.liveactivity",
            "expected the bundle id alone, without .push-type.liveactivity", usage: "mailboat check"),
    ]

    @Test(arguments: Self.cases)
    func aWrongCommandLineSaysWhatIsWrong(_ one: Case) throws {
        let said = try #require(Self.said(one.words))
        #expect(said.text.contains(one.says), "\(said.text)")
        #expect(said.text.contains("\nUsage: \(one.usage)"), "\(said.text)")
        #expect(said.status == 64)
    }

    @Test(arguments: [
        ["help"], ["help", "run"], ["help", "channels", "list"], ["--help"], ["run", "--help"], ["--version"],
        ["channels", "--help"], ["topics", "-h"], ["help", "topics"],
        ["--generate-completion-script", "bash"],
    ])
    func helpIsNoFault(_ words: [String]) { #expect(Self.said(words).map(\.status) ?? 0 == 0) }

    @Test func aNumberBelowZeroIsAValueWhereOneIsTaken() throws {
        let words = ["offsets", "reset", "--to", "-2", "--bootstrap", "h:1"]
        let checked = try CommandWords(words, root: Mailboat.self).checked()
        #expect(checked == ["offsets", "reset", "--to=-2", "--bootstrap", "h:1"])
        // A flag takes no value, and no word after '--' is an option.
        for words in [["check", "--quiet", "-5"], ["check", "--", "--now", "-5"]] {
            #expect(try CommandWords(words, root: Mailboat.self).checked() == words)
        }
    }

    /// Beginnings of messages about an argument that is missing.
    private static let missing = [
        "Missing expected argument '", "give --bootstrap ", "no certificate: ", "expected a key, or --from ",
    ].map { "Error: \($0)" }

    /// The message for a wrong value names the option and what was expected. The parser is slow in a debug build, so
    /// only every second option is tried, with one of the values.
    @Test func everyOptionSaysWhatItExpects() throws {
        let root = try #require(CommandDescription(of: Mailboat.self))
        let values = ["", "-5", "99999999999999999999", "0.3", "?!", "nan"]
        var turn = 0
        var faultCount = 0
        for (path, command) in root.leaves {
            for argument in command.arguments ?? [] where argument.takesValue {
                turn += 1
                guard turn % 2 == 0, let word = argument.word else { continue }
                let value = values[turn / 2 % values.count]
                guard let said = Self.said(path + [word, value]) else { continue }
                let fault = said.text.prefix(
                    upTo: said.text.firstRange(of: "\nUsage: ")?.lowerBound ?? said.text.endIndex)
                // The command would take the value. It misses another argument.
                guard !Self.missing.contains(where: fault.hasPrefix) else { continue }
                faultCount += 1
                let isNamed = fault.contains("\(word) ") || word == "--property" && fault.contains("-X ")
                #expect(isNamed, "\(path) \(word) \(value): \(fault)")
                #expect(fault.contains("expected") || fault.contains("such as"), "\(path) \(word) \(value): \(fault)")
                #expect(said.status == 64)
            }
        }
        #expect(faultCount > 50)
    }

    /// Messages contain no control characters for the terminal, although a record's key or a file may contain some.
    @Test func whatIsSaidSteersNoTerminal() {
        let failure = CommandFailure("found '\u{1b}[31m'\nand \u{202e}that")
        let said = CommandEnding<Mailboat>.of(failure, running: nil, words: [])
        #expect(said.text == "Error: found '\\u001b[31m'\nand \\u202ethat" && said.status == .failure)
    }

    /// A fault of the command line that a command finds only while it runs is shown with that command's usage.
    @Test func theUsageIsThatOfTheCommand() {
        let said = CommandEnding<Mailboat>.of(
            ValidationError("--app is missing"), running: ChannelsCommand.List.self, words: [])
        #expect(said.text.hasPrefix("Error: --app is missing\nUsage: mailboat channels list "))
        #expect(said.text.hasSuffix("\n  See 'mailboat channels list --help' for more information."))
        #expect(said.status == .validationFailure)
    }
}

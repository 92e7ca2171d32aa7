import ArgumentParser
import ChildProcesses
import Foundation
import Testing

@testable import mailboat

/// Tests that the commands exit as the table of exit statuses says.
@Suite(.timeLimit(.minutes(5)))
struct CommandStatusTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    @Test func theOperationsPageHasTheTable() throws {
        let page = try String(
            contentsOf: Self.root.appendingPathComponent("deploy/Operations.md"), encoding: .utf8)
        #expect(page.contains("\n" + CommandStatus.markdown + "\n"), "Operations.md needs:\n\(CommandStatus.markdown)")
    }

    @Test func theHelpSaysWhereTheTableIs() {
        #expect(Mailboat.helpMessage(columns: 400).contains("deploy/Operations.md#exit-status"))
    }

    /// While brokers do not answer, a command says what it asks them and for how long. When it gives up, it says what
    /// to do.
    @Test(arguments: [
        ("tail", "for the topic liveactivity.outcomes"), ("explain order-7", "for its topics"),
        ("topics check", "for its topics"), ("offsets reset --to earliest", "for the members of the group mailboat"),
    ])
    func brokersThatDoNotAnswerAreNamed(words: String, question: String) async throws {
        let ended = try await Self.shell("$M \(words) --bootstrap 127.0.0.1:1 --timeout 2")
        #expect(ended.status == 1)
        #expect(ended.said.contains("asking 127.0.0.1:1 \(question), for 2 s at most\n"), "\(ended.said)")
        #expect(ended.said.contains("127.0.0.1:1 cannot be asked \(question): "), "\(ended.said)")
        #expect(ended.said.contains("'mailboat dev' has one, and 'mailboat embedded-kafka' is one"), "\(ended.said)")
    }

    /// A command gives up soon when nothing listens on a port of this machine, even with a long `--timeout`.
    @Test func aClosedPortHereIsSaidSoon() async throws {
        let beganAt = ContinuousClock.now
        let ended = try await Self.shell("$M tail --bootstrap 127.0.0.1:1 --timeout 120")
        #expect(ended.status == 1 && ContinuousClock.now - beganAt < .seconds(60))
        #expect(ended.said.contains("nothing listens there, connections were refused for 5 s"), "\(ended.said)")
        #expect(ended.said.contains("'mailboat dev' has one, and 'mailboat embedded-kafka' is one"), "\(ended.said)")
    }

    struct Case: Sendable, CustomTestStringConvertible {
        /// The shell line of the case. `$M` is `mailboat`, and `$D` is a folder for this case alone.
        var line: String
        var status: CommandStatus
        var testDescription: String { self.line }
    }

    /// Options for a Kafka that does not exist.
    private static let nobody = "--bootstrap 127.0.0.1:1 --timeout 1"
    /// A command that waits for input. The named pipe can be opened for writing only when the command reads it. A shell
    /// starts background commands with SIGINT ignored, so `env` restores the signal.
    private static let waiting = "mkfifo $D/pipe; env --default-signal=INT $M check $D/pipe & exec 3> $D/pipe"
    /// A command that serves until it is stopped. The case continues when the command has printed its last line.
    private static let serving =
        "mkfifo $D/pipe; $M embedded-kafka --port 0 --control 0 > $D/pipe & exec 3< $D/pipe; grep -q -m 1 'control API' <&3"

    static let cases: [Case] = [
        Case(line: "$M --help", status: .done),
        Case(line: "$M help doctor", status: .done),
        Case(line: "$M check /dev/null", status: .done),
        Case(line: "\(Self.serving); kill -TERM $!; wait $!", status: .done),
        Case(line: #"echo '{"event":"wave"}' | $M check"#, status: .failed),
        Case(line: "$M check $D/none", status: .failed),
        Case(line: "$M check --help > /dev/full", status: .failed),
        Case(line: "$M run --config $D/none", status: .failed),
        Case(line: "$M topics check \(Self.nobody)", status: .failed),
        Case(line: "$M explain order-7 \(Self.nobody)", status: .failed),
        Case(line: "$M tail \(Self.nobody)", status: .failed),
        Case(line: "$M doctor --config $D/none", status: .failed),
        Case(line: "$M nonsense", status: .wrongCommandLine),
        Case(line: "$M explain", status: .wrongCommandLine),
        Case(line: "$M topics check", status: .wrongCommandLine),
        Case(line: "$M offsets reset \(Self.nobody) --to oldest", status: .wrongCommandLine),
        Case(line: "\(Self.waiting); kill -TERM $!; wait $!", status: .terminated),
        Case(line: "\(Self.waiting); kill -INT $!; wait $!", status: .interrupted),
    ]

    @Test(arguments: Self.cases)
    func aCommandEndsWithWhatTheTableSays(_ one: Case) async throws {
        let ended = try await Self.shell(one.line)
        #expect(ended.status == one.status.rawValue, "\(ended.said)")
    }

    @Test func everyStatusOfTheTableIsTried() {
        #expect(Set(Self.cases.map(\.status)) == Set(CommandStatus.allCases))
    }

    /// The completion scripts of all shells exist. The syntax of the one for bash is checked with bash.
    @Test(arguments: ["bash", "zsh", "fish"])
    func completionsAreThere(shell: String) async throws {
        #expect(try await Self.shell("$M --generate-completion-script \(shell) | grep -q dead-letters").status == 0)
        guard shell == "bash" else { return }
        let parsed = try await Self.shell("$M --generate-completion-script bash > $D/script && bash -n $D/script")
        #expect(parsed.status == 0, "\(parsed.said)")
    }

    private static func shell(_ line: String) async throws -> (status: Int32, said: String) {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let ended = try await EndedProcess.run(
            URL(fileURLWithPath: "/bin/sh"), ["-c", line], output: .dropped,
            environment: [
                "M": BuiltExecutable.besideThisOne("mailboat").path, "D": folder.path, "SWIFT_BACKTRACE": "enable=no",
            ])
        return (ended.status, ended.errors)
    }
}

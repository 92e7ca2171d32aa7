import ChildProcesses
import CommandSupport
import Foundation
import Testing

/// Tests of `EndedProcess`, which runs the commands of the other tests in this folder.
@Suite(.timeLimit(.minutes(5)))
struct EndedProcessTests {
    private static func shell(
        _ line: String, input: String = "", output: EndedProcess.Output = .kept, within limit: Duration = .seconds(60)
    ) async throws -> EndedProcess {
        try await EndedProcess.run(
            URL(fileURLWithPath: "/bin/sh"), ["-c", line], input: input, output: output, environment: ["WORD": "kept"],
            within: limit)
    }

    @Test func itReadsAndWritesWhatItLikes() async throws {
        let ended = try await Self.shell("cat; echo $WORD; echo wrong >&2; exit 3", input: "given\n")
        #expect(ended.status == 3 && ended.lines == ["given", "kept"] && ended.errors == "wrong\n")
        // The text is longer than what a pipe can buffer.
        let long = try await Self.shell("cat", input: String(repeating: "x", count: 200_000))
        #expect(long.status == 0 && long.output.utf8.count == 200_000)
    }

    @Test func aSignalIsNoStatus() async throws {
        #expect(try await Self.shell("kill -KILL $$").status == -SIGKILL)
        // Nobody reads the output. So the command ends by SIGPIPE, or with an error where that signal is ignored.
        #expect(try await Self.shell("yes", output: .broken).status != 0)
        let dropped = try await Self.shell("echo nothing", output: .dropped)
        #expect(dropped.status == 0 && dropped.output.isEmpty)
    }

    /// A command that exceeds its time limit is killed, and the error shows what it printed.
    @Test func whatDoesNotEndIsKilledAndSaid() async throws {
        let name = UUID().uuidString
        let error = await #expect(throws: CommandFailure.self) {
            try await Self.shell("echo begun \(name) >&2; exec sleep 1000", within: .seconds(2))
        }
        let text = try #require(error.map { "\($0)" })
        #expect(text.contains("has not ended within 2.0 seconds; it said: begun \(name)"), "\(text)")
    }
}

import ChildProcesses
import Foundation

/// Runs a command of `mailboat` as a user does, and waits for its end.
enum CommandRun {
    /// Runs `mailboat` with this standard input.
    static func mailboat(_ words: String..., input: String = "") async throws -> EndedProcess {
        try await EndedProcess.run(BuiltExecutable.besideThisOne("mailboat"), words, input: input)
    }

    /// Runs a line of shell in which `$MAILBOAT` is the executable.
    static func shell(_ line: String) async throws -> EndedProcess {
        let path = BuiltExecutable.besideThisOne("mailboat").path
        return try await EndedProcess.run(URL(fileURLWithPath: "/bin/sh"), ["-c", "MAILBOAT='\(path)'; \(line)"])
    }
}

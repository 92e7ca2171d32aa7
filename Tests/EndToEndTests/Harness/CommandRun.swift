import ChildProcesses
import Foundation

/// A command of `mailboat` as somebody runs it, waited for.
enum CommandRun {
    /// Runs it, with this to read.
    static func mailboat(_ words: String..., input: String = "") async throws -> EndedProcess {
        try await EndedProcess.run(BuiltExecutable.besideThisOne("mailboat"), words, input: input)
    }

    /// Runs a line of shell in which `$MAILBOAT` is the executable.
    static func shell(_ line: String) async throws -> EndedProcess {
        let path = BuiltExecutable.besideThisOne("mailboat").path
        return try await EndedProcess.run(URL(fileURLWithPath: "/bin/sh"), ["-c", "MAILBOAT='\(path)'; \(line)"])
    }
}

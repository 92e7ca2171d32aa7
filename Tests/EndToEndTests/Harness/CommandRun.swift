import ChildProcesses
import Foundation
import KafkaLog

/// A command of `mailboat` as somebody runs it, waited for.
struct CommandRun {
    var status: Int32
    var output: String
    var errors: String
    var lines: [String] { self.output.split(separator: "\n").map(String.init) }

    /// Runs it on a thread of its own. What it writes has to fit into a pipe.
    static func mailboat(_ words: String..., input: String = "") async throws -> CommandRun {
        try await Self.run(BuiltExecutable.besideThisOne("mailboat"), words, input: input)
    }

    /// Runs a line of shell in which `$MAILBOAT` is the executable.
    static func shell(_ line: String) async throws -> CommandRun {
        let path = BuiltExecutable.besideThisOne("mailboat").path
        return try await Self.run(URL(fileURLWithPath: "/bin/sh"), ["-c", "MAILBOAT='\(path)'; \(line)"], input: "")
    }

    private static func run(_ executable: URL, _ words: [String], input: String) async throws -> CommandRun {
        try await NamedThread.run("command") {
            Result { () -> CommandRun in
                let (process, given, output, errors) = (Process(), Pipe(), Pipe(), Pipe())
                process.executableURL = executable
                process.arguments = words
                process.standardInput = given
                process.standardOutput = output
                process.standardError = errors
                try process.run()
                try given.fileHandleForWriting.write(contentsOf: Data(input.utf8))
                try given.fileHandleForWriting.close()
                let told = try output.fileHandleForReading.readToEnd() ?? Data()
                let complained = try errors.fileHandleForReading.readToEnd() ?? Data()
                process.waitUntilExit()
                return CommandRun(
                    status: process.terminationStatus, output: String(decoding: told, as: UTF8.self),
                    errors: String(decoding: complained, as: UTF8.self))
            }
        }.get()
    }
}

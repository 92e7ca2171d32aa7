import CommandSupport
package import Foundation
import KafkaLog

/// Result of a process that has run to its end.
///
/// The process reads and writes files instead of pipes. Another process that is started at the same moment could
/// inherit an end of a pipe. Then a reader of the pipe would wait for that process, too.
package struct EndedProcess: Sendable {
    /// Where the standard output of the process goes.
    package enum Output: Sendable {
        /// Standard output is kept in `output`.
        case kept
        /// Standard output is dropped.
        case dropped
        /// Standard output is a pipe whose reader has gone.
        case broken
    }

    /// The exit status of the process. A negative number is the signal that ended it.
    package var status: Int32
    /// Text that the process wrote to standard output, if that was kept.
    package var output: String
    /// Text that the process wrote to standard error.
    package var errors: String
    /// The lines of `output`, without empty lines.
    package var lines: [String] { self.output.split(separator: "\n").map(String.init) }

    /// Runs a process to its end, and waits on a separate thread.
    /// - Parameters:
    ///   - input: its standard input.
    ///   - environment: variables in addition to those of this process.
    ///   - workingDirectory: its working directory. `nil` means the working directory of this process.
    ///   - limit: how long the process may run. It is killed afterwards.
    /// - Throws: when the process cannot be started, or has not ended within `limit`.
    package static func run(
        _ executable: URL, _ arguments: [String], input: String = "", output: Output = .kept,
        environment: [String: String] = [:], workingDirectory: URL? = nil, within limit: Duration = .seconds(120)
    ) async throws -> EndedProcess {
        try await NamedThread.run("command") {
            Result {
                let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                defer { try? FileManager.default.removeItem(at: folder) }
                return try Self.run(
                    executable, arguments, input: input, output: output, environment: environment,
                    workingDirectory: workingDirectory, within: limit, folder: folder)
            }
        }.get()
    }

    private static func run(
        _ executable: URL, _ arguments: [String], input: String, output: Output, environment: [String: String],
        workingDirectory: URL?, within limit: Duration, folder: URL
    ) throws -> EndedProcess {
        let (given, told, complained) = (
            folder.appendingPathComponent("input"), folder.appendingPathComponent("output"),
            folder.appendingPathComponent("errors")
        )
        try Data(input.utf8).write(to: given)
        for file in [told, complained] { try Data().write(to: file) }
        let process = Process()
        process.executableURL = executable
        process.arguments = arguments
        if let workingDirectory { process.currentDirectoryURL = workingDirectory }
        var inherited = ProcessInfo.processInfo.environment
        // `stdbuf` may set how the tests' own output is buffered. The command does not inherit that.
        inherited["_STDBUF_O"] = nil
        process.environment = inherited.merging(environment) { $1 }
        process.standardInput = try FileHandle(forReadingFrom: given)
        process.standardError = try FileHandle(forWritingTo: complained)
        let pipe = Pipe()
        switch output {
        case .kept: process.standardOutput = try FileHandle(forWritingTo: told)
        case .dropped: process.standardOutput = FileHandle.nullDevice
        case .broken:
            process.standardOutput = pipe.fileHandleForWriting
            try pipe.fileHandleForReading.close()
        }
        // `waitUntilExit` is not used. It runs a run loop on this thread, and can wait for ever for a process that has
        // ended.
        let ended = DispatchSemaphore(value: 0)
        process.terminationHandler = { _ in ended.signal() }
        try process.run()
        let isOver = ended.wait(timeout: .now() + .milliseconds(Int(limit / .milliseconds(1)))) == .success
        let errors = String(decoding: try Data(contentsOf: complained), as: UTF8.self)
        let said = String(decoding: try Data(contentsOf: told), as: UTF8.self)
        guard isOver else {
            kill(process.processIdentifier, SIGKILL)
            let command = ([executable.path] + arguments).joined(separator: " ")
            throw CommandFailure("'\(command)' has not ended within \(limit); it said: \(errors)\(said)")
        }
        let status = process.terminationStatus
        return EndedProcess(
            status: process.terminationReason == .exit ? status : -status,
            output: said, errors: errors)
    }
}

import CommandSupport
package import Foundation
import Synchronization

/// A process of an executable, whose output goes to a file. It is killed when the object goes away.
package final class ChildProcess: Sendable {
    /// Name of the process in messages.
    package let name: String
    /// Path of the file with the process's standard output and standard error.
    package let logPath: String
    private let processID: pid_t
    private let exitStatus: ExitStatus

    /// Starts the process.
    /// - Parameter logPath: file for the output. It is created if it is missing, and otherwise appended to.
    package init(name: String, executable: URL, arguments: [String], logPath: String) throws {
        if !FileManager.default.fileExists(atPath: logPath) {
            _ = FileManager.default.createFile(atPath: logPath, contents: nil)
        }
        guard let log = FileHandle(forWritingAtPath: logPath) else {
            throw CommandFailure("'\(logPath)' cannot be written")
        }
        try log.seekToEnd()
        let exitStatus = ExitStatus()
        let process = Process()
        process.executableURL = executable
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = log
        process.standardError = log
        process.terminationHandler = { process in
            exitStatus.set(process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus)
        }
        try process.run()
        self.name = name
        self.logPath = logPath
        self.processID = process.processIdentifier
        self.exitStatus = exitStatus
    }

    deinit { self.kill() }

    /// Whether the process has not ended yet. A paused process counts as running.
    package var isRunning: Bool { self.exitStatus.value == nil }
    /// The exit status of the process. A negative number is the signal that ended it, and `nil` means that it runs.
    package var status: Int32? { self.exitStatus.value }

    /// Kills the process with SIGKILL, so that it cannot clean up.
    package func kill() { self.signal(SIGKILL) }

    /// Asks the process to stop in good order.
    package func terminate() { self.signal(SIGTERM) }

    /// Makes the process read its settings again.
    package func hangUp() { self.signal(SIGHUP) }

    /// Suspends the process until `resume`.
    package func pause() { self.signal(SIGSTOP) }

    /// Lets the process continue after `pause`.
    package func resume() { self.signal(SIGCONT) }

    private func signal(_ number: Int32) {
        guard self.isRunning else { return }
        Foundation.kill(self.processID, number)
    }

    private final class ExitStatus: Sendable {
        private let status = Mutex<Int32?>(nil)
        var value: Int32? { self.status.withLock { $0 } }
        func set(_ value: Int32) { self.status.withLock { $0 = value } }
    }
}

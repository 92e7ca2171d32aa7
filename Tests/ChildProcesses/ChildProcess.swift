import CommandSupport
package import Foundation
import Synchronization

/// A process of an executable, whose output goes to a file. Killed when nobody holds it.
package final class ChildProcess: Sendable {
    /// What it is called in messages.
    package let name: String
    /// The file that has its standard output and standard error.
    package let logPath: String
    private let processID: pid_t
    private let exitStatus: ExitStatus

    /// Starts it. - Parameter logPath: made if need be; what is there is kept.
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

    /// Whether it has not ended yet; true also while it is paused.
    package var isRunning: Bool { self.exitStatus.value == nil }
    /// The exit status; negative: the signal that ended it; `nil`: it runs.
    package var status: Int32? { self.exitStatus.value }

    /// No chance to say good-bye.
    package func kill() { self.signal(SIGKILL) }

    /// Asks it to stop in good order.
    package func terminate() { self.signal(SIGTERM) }

    /// Tells it that its settings may be others.
    package func hangUp() { self.signal(SIGHUP) }

    /// Nothing in it runs until `resume`.
    package func pause() { self.signal(SIGSTOP) }

    /// It goes on where `pause` stopped it.
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

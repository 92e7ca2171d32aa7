import Foundation
import Synchronization

/// A real `mailboat run`, as its own process: it can be killed. Its admin port is all that is known of its inside.
final class WorkerProcess: Sendable {
    let adminPort: Int
    let logPath: String
    private let processID: Int32
    private let exitStatus: ExitStatus

    /// Starts the executable that was built beside these tests.
    init(configurationPath: String, adminPort: Int, logPath: String) throws {
        guard FileManager.default.createFile(atPath: logPath, contents: nil),
            let log = FileHandle(forWritingAtPath: logPath)
        else {
            throw WorkerFault("cannot write \(logPath)")
        }
        let exitStatus = ExitStatus()
        let process = Process()
        process.executableURL = Self.executable
        process.arguments = ["run", "--config", configurationPath]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = log
        process.standardError = log
        process.terminationHandler = { process in
            exitStatus.set(process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus)
        }
        try process.run()
        self.processID = process.processIdentifier
        self.exitStatus = exitStatus
        self.adminPort = adminPort
        self.logPath = logPath
    }

    private static var executable: URL {
        let tests = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        return tests.deletingLastPathComponent().appendingPathComponent("mailboat")
    }

    var isRunning: Bool { self.exitStatus.value == nil }

    /// No chance to say good-bye.
    func kill() { self.signal(SIGKILL) }

    /// Asks it to stop in good order.
    func terminate() { self.signal(SIGTERM) }

    private func signal(_ number: Int32) {
        guard self.isRunning else { return }
        Foundation.kill(self.processID, number)
    }

    /// Waits for its end.
    /// - Returns: the exit status; negative: the signal that ended it.
    func exited() async throws -> Int32 {
        try await until("the worker ends (log: \(self.logPath))") { !self.isRunning }
        return self.exitStatus.value ?? .min
    }

    /// Waits until it says that it is ready: partitions assigned and restored, APNs and Kafka in reach.
    func ready() async throws {
        try await until("the worker is ready (log: \(self.logPath))") {
            guard self.isRunning else {
                throw WorkerFault("the worker ended with \(self.exitStatus.value ?? .min), see \(self.logPath)")
            }
            return try await self.get("/readyz")?.status == 200
        }
    }

    /// Sum of a metric over all its labels that contain `label`.
    func metric(_ name: String, label: String = "") async throws -> Double {
        guard let (status, text) = try await self.get("/metrics"), status == 200 else { return 0 }
        var sum = 0.0
        for line in text.split(separator: "\n") where line.hasPrefix(name) && line.contains(label) {
            let rest = line.dropFirst(name.count)
            guard rest.first == "{" || rest.first == " ", let number = line.split(separator: " ").last else { continue }
            sum += Double(number) ?? 0
        }
        return sum
    }

    /// One GET to the admin port; `nil`: nobody answers there (yet).
    func get(_ path: String) async throws -> (status: Int, body: String)? {
        try await HTTPGet.get(path, port: self.adminPort)
    }

    private final class ExitStatus: Sendable {
        private let status = Mutex<Int32?>(nil)
        var value: Int32? { self.status.withLock { $0 } }
        func set(_ value: Int32) { self.status.withLock { $0 = value } }
    }
}

struct WorkerFault: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}

import ChildProcesses

/// A real `mailboat run` as a separate process, which a test can kill. A test sees its inside only through the admin
/// port.
final class WorkerProcess: Sendable {
    let adminPort: Int
    let configurationPath: String
    var logPath: String { self.process.logPath }
    private let process: ChildProcess

    /// Starts the `mailboat` executable that was built beside these tests.
    init(configurationPath: String, adminPort: Int, logPath: String) throws {
        self.adminPort = adminPort
        self.configurationPath = configurationPath
        self.process = try ChildProcess(
            name: "the worker", executable: BuiltExecutable.besideThisOne("mailboat"),
            arguments: ["run", "--config", configurationPath], logPath: logPath)
    }

    /// Kills the worker at once, by SIGKILL.
    func kill() { self.process.kill() }

    /// Asks the worker to stop in good order.
    func terminate() { self.process.terminate() }

    /// Makes the worker read its settings again.
    func hangUp() { self.process.hangUp() }

    /// Waits until the worker ends.
    /// - Returns: the exit status. A negative number is the signal that ended the worker.
    func exited() async throws -> Int32 {
        try await until("the worker ends (log: \(self.logPath))") { !self.process.isRunning }
        return self.process.status ?? .min
    }

    /// Waits until the worker is ready: its partitions are assigned and restored, and it reaches APNs and Kafka.
    func ready() async throws {
        try await until("the worker is ready (log: \(self.logPath))") {
            guard self.process.isRunning else {
                throw WorkerFault("the worker ended with \(self.process.status ?? .min), see \(self.logPath)")
            }
            return try await self.get("/readyz")?.status == 200
        }
    }

    /// Sum of a metric's samples whose labels contain `label`. An empty `label` includes all samples. 0 if the worker
    /// does not answer.
    func metric(_ name: String, label: String = "") async throws -> Double {
        guard let answer = try await self.get("/metrics"), answer.status == 200 else { return 0 }
        return PrometheusReading.sum(name, label: label, in: answer.body)
    }

    /// Sends a GET to the admin port. `nil` means that nothing answers there.
    func get(_ path: String) async throws -> LocalHTTP.Answer? { try await LocalHTTP.get(path, port: self.adminPort) }
}

struct WorkerFault: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}

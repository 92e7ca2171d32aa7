import ChildProcesses
import Foundation

/// One worker over all its lives. Each start begins a new life.
final class ChaosWorker {
    let name: String
    /// Number of the worker, counted from 1.
    let number: Int
    /// Executable of the worker from its next start on.
    var executable: URL
    let adminPort: Int
    let configurationPath: String
    let logPath: String
    private(set) var process: ChildProcess?
    var isPaused = false
    /// Whether the worker was told to end, by stop or kill.
    var isExpectedToEnd = false
    /// When the worker was told to stop. `nil` means that it was not told to stop in this life.
    private var stopAskedAt: ContinuousClock.Instant?

    /// The longest time that a stop may take. It is twice the drain timeout.
    static let stopDurationMax = Duration.seconds(20)

    init(executable: URL, number: Int, adminPort: Int, directory: String) {
        self.name = "worker \(number)"
        self.number = number
        self.executable = executable
        self.adminPort = adminPort
        let file = self.name.replacingOccurrences(of: " ", with: "-")
        self.configurationPath = "\(directory)/\(file).yaml"
        self.logPath = "\(directory)/\(file).log"
    }

    /// Starts the worker. Its configuration file must already exist.
    func start() throws {
        self.isPaused = false
        self.isExpectedToEnd = false
        self.stopAskedAt = nil
        self.process = try ChildProcess(
            name: self.name, executable: self.executable, arguments: ["run", "--config", self.configurationPath],
            logPath: self.logPath)
    }

    /// Asks the worker to stop in good order.
    func stop(at now: ContinuousClock.Instant = .now) {
        self.isExpectedToEnd = true
        self.stopAskedAt = now
        self.process?.terminate()
    }

    /// Whether the worker was told to stop longer ago than `stopDurationMax`. The time when its restart is due cannot
    /// decide this. At the end of a run all restarts are due at once, even of a worker that was just told to stop.
    func isStopOverdue(at now: ContinuousClock.Instant = .now) -> Bool {
        guard let told = self.stopAskedAt else { return false }
        return now - told > Self.stopDurationMax
    }

    /// Whether the worker runs and was not told to end.
    var isUp: Bool { self.process?.isRunning == true && !self.isExpectedToEnd }

    func isReady() async throws -> Bool { try await LocalHTTP.get("/readyz", port: self.adminPort)?.status == 200 }

    /// Answer of `/readyz`, ready or not. `nil` means no answer.
    func readiness() async throws -> String? { try await LocalHTTP.get("/readyz", port: self.adminPort)?.body }

    /// Answer of `/metrics`. `nil` means no answer.
    func metrics() async throws -> String? {
        guard let answer = try await LocalHTTP.get("/metrics", port: self.adminPort), answer.status == 200 else {
            return nil
        }
        return answer.body
    }
}

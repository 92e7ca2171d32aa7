import ChildProcesses
import Foundation

/// One worker over all its lives.
final class ChaosWorker {
    let name: String
    /// From 1 on.
    let number: Int
    /// What it is a process of, from its next start on.
    var executable: URL
    let adminPort: Int
    let configurationPath: String
    let logPath: String
    private(set) var process: ChildProcess?
    var isPaused = false
    /// It was told to end, one way or the other.
    var isExpectedToEnd = false
    /// When it was told to stop; `nil`: not in this life.
    private var toldToStopAt: ContinuousClock.Instant?

    /// How long a stop may take: the drain and as much again.
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

    /// Its configuration has been written.
    func start() throws {
        self.isPaused = false
        self.isExpectedToEnd = false
        self.toldToStopAt = nil
        self.process = try ChildProcess(
            name: self.name, executable: self.executable, arguments: ["run", "--config", self.configurationPath],
            logPath: self.logPath)
    }

    /// Asks it to stop in good order.
    func stop(at now: ContinuousClock.Instant = .now) {
        self.isExpectedToEnd = true
        self.toldToStopAt = now
        self.process?.terminate()
    }

    /// Whether it was told to stop longer ago than a stop may take. Counted by a clock: at the end of a run every remedy is due at once, however short ago the stop was.
    func isStopOverdue(at now: ContinuousClock.Instant = .now) -> Bool {
        guard let told = self.toldToStopAt else { return false }
        return now - told > Self.stopDurationMax
    }

    /// Runs, and was not told to end.
    var isUp: Bool { self.process?.isRunning == true && !self.isExpectedToEnd }

    func isReady() async throws -> Bool { try await LocalHTTP.get("/readyz", port: self.adminPort)?.status == 200 }

    /// What `/readyz` says, ready or not; `nil`: nobody answers.
    func readiness() async throws -> String? { try await LocalHTTP.get("/readyz", port: self.adminPort)?.body }

    /// What `/metrics` says; `nil`: nobody answers.
    func metrics() async throws -> String? {
        guard let answer = try await LocalHTTP.get("/metrics", port: self.adminPort), answer.status == 200 else {
            return nil
        }
        return answer.body
    }
}

import Dispatch
import Foundation
import Glibc
import Synchronization

/// A process that the benchmark starts. It may have its own core, its output goes to a file, and it ends with the
/// benchmark.
final class ChildProcess {
    /// How a process ended by itself.
    struct Ending {
        var exitCode: Int32
        /// User and system time of the process's whole life, microseconds.
        var cpuMicros: Int64
    }

    let name: String
    let pid: pid_t
    let meter: ProcessMeter
    let logPath: String
    /// How the process has ended. `nil` means that it was not seen to end.
    private var ending: Ending?
    private var hasEnded: Bool { self.ending != nil }

    /// Starts a process.
    /// - Parameters:
    ///   - command: the program and its arguments.
    ///   - core: the only core that it may run on, or `nil` for any.
    ///   - logPath: file for its standard output and standard error.
    ///   - inheritsEnvironment: whether it inherits the environment. Otherwise it gets only `environment` and the
    ///     variables by which programs are found. An environment is on the heap, and the layout of the heap changes
    ///     counts.
    init(
        _ name: String, _ command: [String], core: Int?, logPath: String, environment: [String: String] = [:],
        inheritsEnvironment: Bool = true
    ) throws {
        self.name = name
        self.logPath = logPath
        // taskset replaces itself with the command, so the process id stays the same.
        let words = (core.map { ["taskset", "--cpu-list", "\($0)"] } ?? []) + command
        let inherited = ProcessInfo.processInfo.environment.filter {
            inheritsEnvironment || ["PATH", "LD_LIBRARY_PATH"].contains($0.key)
        }
        self.pid = try Self.spawn(
            words, logPath: logPath, environment: inherited.merging(environment) { $1 })
        LivingChildren.add(self.pid)
        self.meter = try ProcessMeter(pid: self.pid)
    }

    deinit { self.stop() }

    private static func spawn(_ words: [String], logPath: String, environment: [String: String]) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, logPath, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
        // Sorting gives the variables the same order in each run.
        let variables = environment.sorted { $0.key < $1.key }
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        var settings: [UnsafeMutablePointer<CChar>?] = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer {
            for text in arguments + settings { free(text) }
        }
        var pid = pid_t()
        let failure = posix_spawnp(&pid, words[0], &actions, nil, &arguments, &settings)
        guard failure == 0 else {
            throw BenchmarkFailure("cannot start \(words[0]): \(String(cString: strerror(failure)))")
        }
        return pid
    }

    /// The output so far.
    var output: String { (try? String(contentsOfFile: self.logPath, encoding: .utf8)) ?? "" }

    /// Suspends the process with SIGSTOP. `resume` lets it continue.
    func pause() {
        kill(self.pid, SIGSTOP)
        // The call returns once the process has stopped.
        var status: Int32 = 0
        waitpid(self.pid, &status, WUNTRACED)
    }

    func resume() { kill(self.pid, SIGCONT) }

    /// Waits until the process ends by itself.
    /// - Throws: when it does not end within `limitSeconds`, or does not end with 0.
    @discardableResult
    func waitForEnd(limitSeconds: Int) throws -> Ending {
        let deadline = Clock.nowMicros + Int64(limitSeconds) * 1_000_000
        while Clock.nowMicros < deadline {
            if let ending = self.poll() {
                guard ending.exitCode == 0 else {
                    throw BenchmarkFailure("\(self.name) ended with \(ending.exitCode): \(self.lastLines)")
                }
                return ending
            }
            Clock.sleep(millis: 2)
        }
        throw BenchmarkFailure("\(self.name) did not end within \(limitSeconds) s: \(self.lastLines)")
    }

    /// Throws when the process has ended although nothing told it to.
    func checkRunning() throws {
        guard let ending = self.poll() else { return }
        throw BenchmarkFailure("\(self.name) ended with \(ending.exitCode): \(self.lastLines)")
    }

    /// Ends the process: asks it first, and kills it after five seconds.
    func stop() {
        guard !self.hasEnded else { return }
        kill(self.pid, SIGCONT)
        kill(self.pid, SIGTERM)
        let deadline = Clock.nowMicros + 5_000_000
        while Clock.nowMicros < deadline {
            if self.poll() != nil { return }
            Clock.sleep(millis: 5)
        }
        kill(self.pid, SIGKILL)
        var status: Int32 = 0
        waitpid(self.pid, &status, 0)
        self.remember(Ending(exitCode: 128 + SIGKILL, cpuMicros: 0))
    }

    var lastLines: String { self.output.split(separator: "\n").suffix(5).joined(separator: "\n") }

    private func poll() -> Ending? {
        if let ending { return ending }
        var status: Int32 = 0
        var usage = rusage()
        guard wait4(self.pid, &status, WNOHANG, &usage) == self.pid else { return nil }
        // The exit code is in the second byte, and a signal is in the first (wait(2)).
        let exitCode = status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f)
        let ending = Ending(exitCode: exitCode, cpuMicros: Self.cpuMicros(usage))
        self.remember(ending)
        return ending
    }

    /// User and system time: the first two fields, each in seconds and microseconds (getrusage(2)). They are read as
    /// plain numbers for the reason that `Clock.micros` gives.
    private static func cpuMicros(_ usage: rusage) -> Int64 {
        withUnsafeBytes(of: usage) { bytes in
            let numbers = (0..<4).map { Int64(bytes.load(fromByteOffset: $0 * 8, as: Int.self)) }
            return (numbers[0] + numbers[2]) * 1_000_000 + numbers[1] + numbers[3]
        }
    }

    private func remember(_ ending: Ending) {
        self.ending = ending
        LivingChildren.remove(self.pid)
    }
}

/// Processes to be ended when the benchmark is interrupted.
enum LivingChildren {
    private static let leavingMillis = 4_000
    private static let pids = Mutex<Set<pid_t>>([])

    static func add(_ pid: pid_t) { self.pids.withLock { _ = $0.insert(pid) } }
    static func remove(_ pid: pid_t) { self.pids.withLock { _ = $0.remove(pid) } }

    /// Ends the children, and then this process, on a signal to end.
    /// - Returns: signal sources. The caller has to keep them.
    static func endOnSignals() -> [any DispatchSourceSignal] {
        [SIGINT, SIGTERM, SIGHUP].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                if RealBrokers.isEmpty {
                    self.pids.withLock { for pid in $0 { kill(pid, SIGKILL) } }
                } else {
                    // The members leave their group, so that it can be deleted.
                    self.pids.withLock { for pid in $0 { kill(pid, SIGTERM) } }
                    Clock.sleep(millis: Self.leavingMillis)
                    self.pids.withLock { for pid in $0 { kill(pid, SIGKILL) } }
                    RealBrokers.removeAll()
                }
                exit(128 + number)
            }
            source.resume()
            return source
        }
    }
}

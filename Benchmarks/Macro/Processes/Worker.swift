import Foundation
import Glibc

/// A worker as a process, on one core with one shard.
final class Worker {
    /// Settings in which rows differ.
    struct Options {
        var connectionsMax = 4
        var environment: [String: String] = [:]
        /// File to which the worker writes its latencies when asked. If it is set, this program runs the worker,
        /// instead of `mailboat run`.
        var distributionPath: String?
        /// The consumer group. On a real broker it gets the row's prefix.
        var group = "worker"
        /// More lines for the settings file.
        var settings: [String] = []
        /// Time between two checks whether the worker is ready, milliseconds.
        var readyLookMillis = 100
        /// Number of partitions that the worker's log must report as restored before the worker is asked anything.
        /// Asking costs the worker time.
        var restoredPartitionCount: Int?
        /// A program that runs the worker, such as a profiler.
        var launcher: [String] = []
        var readyLimitSeconds = 60
    }

    /// Time and CPU of one piece of work, microseconds.
    struct Work {
        /// Time until everything was acknowledged.
        var wallMicros: Double
        /// Time until APNs had accepted the last push.
        var pushingMicros: Double
        var workerMicros: Double
        var serverMicros: Double
        var kafkaMicros: Double

        /// Pushes per second that a worker with its own core can sustain. The rate of pushing may be higher for a
        /// while, because the worker writes outcomes and state later. Writing takes time on its core, too.
        func saturationPerSecond(pushCount: Int) -> Double {
            Double(pushCount) / max(self.pushingMicros, self.workerMicros) * 1e6
        }
    }

    let process: ChildProcess
    private let adminPort: Int
    private let sink: Sink
    private let broker: Broker

    init(_ bench: Bench, broker: Broker, sink: Sink, options: Options = Options()) throws {
        self.broker = broker
        self.sink = sink
        self.adminPort = try LocalHTTP.freePort()
        let settings = """
            apns:
              team-id: \(Sink.teamID)
              key-id: \(Sink.keyID)
              key-file: \(sink.keyFile)
              connections-max: \(options.connectionsMax)
              production: {host: 127.0.0.1, port: \(sink.port), ca-file: \(sink.authorityFile)}
            apps: [\(SampleRequest.bundleID)]
            shards: 1
            admin.port: \(self.adminPort)
            log.level: \(options.restoredPartitionCount == nil ? "warning" : "info")

            """
        let lines = broker.settings(group: options.group) + options.settings
        let path = bench.logPath("settings") + ".yaml"
        try Data((settings + lines.map { $0 + "\n" }.joined()).utf8).write(to: URL(fileURLWithPath: path))
        let command =
            options.distributionPath.map {
                [bench.own, "measured-worker", "--config", path, "--distribution", $0]
            } ?? [bench.mailboat, "run", "--config", path]
        self.process = try ChildProcess(
            "the worker", options.launcher + command, core: bench.cores.client, logPath: bench.logPath("worker"),
            environment: options.environment)
        if let count = options.restoredPartitionCount { try self.readProgress(until: count) }
        let (process, adminPort) = (self.process, self.adminPort)
        try Waiting.until(
            "the worker", limitSeconds: options.readyLimitSeconds, process: process,
            everyMillis: options.readyLookMillis
        ) {
            LocalHTTP.get(port: adminPort, "/readyz") != nil
        }
    }

    /// When the log said that the group had given partitions, and when it said that the last of them was restored.
    private(set) var (assignedMicros, restoredMicros) = (Int64(0), Int64(0))
    /// The worker's CPU from `assignedMicros` to `restoredMicros`, microseconds.
    var restoringCPUMicros: Int64 { self.restoredCPUMicros - self.assignedCPUMicros }
    private var (assignedCPUMicros, restoredCPUMicros) = (Int64(0), Int64(0))

    private func readProgress(until count: Int) throws {
        try Waiting.until("the worker to restore", limitSeconds: 120, process: self.process, everyMillis: 2) {
            let progress = StartProgress(log: self.process.output)
            if progress.isAssigned, self.assignedMicros == 0 {
                self.assignedMicros = Clock.nowMicros
                self.assignedCPUMicros = self.process.meter.cpuMicros
            }
            guard progress.restoredPartitionCount >= count else { return false }
            self.restoredMicros = Clock.nowMicros
            self.restoredCPUMicros = self.process.meter.cpuMicros
            return true
        }
    }

    func stop() { self.process.stop() }

    /// The sum of a metric over all its series, or over those that contain `label`. -1 when the worker does not answer.
    func metric(_ name: String, label: String = "") -> Int {
        guard let text = LocalHTTP.get(port: self.adminPort, "/metrics") else { return -1 }
        return Self.sum(name, label: label, of: text)
    }

    static func sum(_ name: String, label: String, of text: String) -> Int {
        var sum = 0.0
        for line in text.split(separator: "\n") {
            guard let space = line.lastIndex(of: " ") else { continue }
            let series = line[..<space]
            guard series == name || series.hasPrefix(name + "{"), label.isEmpty || series.contains(label) else {
                continue
            }
            sum += Double(line[line.index(after: space)...]) ?? 0
        }
        return Int(sum)
    }

    var acceptedCount: Int { self.metric("mailboat_pushes_answered_total", label: "accepted") }
    var consumedCount: Int { self.metric("mailboat_events_consumed_total") }

    /// The latencies so far. The worker must have been started with this `distributionPath`.
    func latencies(_ path: String) throws -> LatencyReport {
        // Shards report every 50 ms.
        Clock.sleep(millis: 200)
        try? FileManager.default.removeItem(atPath: path)
        kill(self.process.pid, SIGUSR1)
        try Waiting.until("the worker's latencies", limitSeconds: 10, process: self.process) {
            FileManager.default.fileExists(atPath: path)
        }
        return try LatencyReport.read(from: path)
    }

    /// Whether every consumed event has its outcome, and Kafka has acknowledged every record.
    private func isSettled(consumed: Int) -> Bool {
        guard let text = LocalHTTP.get(port: self.adminPort, "/metrics") else { return false }
        return Self.sum("mailboat_events_consumed_total", label: "", of: text) >= consumed
            && Self.sum("mailboat_events_pending", label: "", of: text) == 0
            && Self.sum("mailboat_kafka_unacknowledged_records", label: "", of: text) == 0
    }

    /// Waits until `consumed` events are taken, answered and written down. Nothing is measured.
    func settle(consumed: Int, limitSeconds: Int = 120) throws {
        try Waiting.until(
            "\(consumed) events to be settled", limitSeconds: limitSeconds, process: self.process, everyMillis: 200
        ) { self.isSettled(consumed: consumed) }
    }

    /// Lets `prepare` fill Kafka while the worker is stopped. Then lets the worker run until `consumed` events (of its
    /// whole life) are taken, pushed and acknowledged.
    ///
    /// The worker's CPU clock and APNs' count of accepted pushes show when the worker is idle. Only then is the worker
    /// asked whether everything is settled, because asking costs it time. The idle time at the end does not count.
    /// - Parameter answered: number of pushes that APNs must have accepted. An event for an audience is settled before
    ///   its members are served.
    func work(consumed: Int, answered: Int = 0, limitSeconds: Int = 120, prepare: () throws -> Void) throws -> Work {
        self.process.pause()
        do {
            try prepare()
        } catch {
            self.process.resume()
            throw error
        }
        let (worker, server, kafka) = (self.process.meter, self.sink.process.meter, self.broker)
        let begin = (worker.cpuMicros, server.cpuMicros, kafka.cpuMicros, Clock.nowMicros)
        let deadline = begin.3 + Int64(limitSeconds) * 1_000_000
        let answeredBefore = self.sink.answeredCount
        var last = (answered: answeredBefore, atMicros: begin.3)
        self.process.resume()
        while true {
            var busy = (worker.cpuMicros, server.cpuMicros, kafka.cpuMicros, Clock.nowMicros)
            var seen = (busy.0, busy.3)
            while seen.1 - busy.3 < Self.idleMicros {
                Clock.sleep(millis: 10)
                let now = (worker.cpuMicros, Clock.nowMicros)
                // An idle worker runs now and then, for its heartbeats and fetches.
                if Double(now.0 - seen.0) > Self.idleShareMax * Double(now.1 - seen.1) {
                    busy = (now.0, server.cpuMicros, kafka.cpuMicros, now.1)
                }
                seen = now
                let count = self.sink.answeredCount
                if count != last.answered { last = (count, now.1) }
                guard now.1 < deadline else {
                    throw BenchmarkFailure(
                        "the worker was not done within \(limitSeconds) s: \(self.consumedCount) of \(consumed) events taken"
                    )
                }
            }
            if last.answered - answeredBefore >= answered, self.isSettled(consumed: consumed) {
                return Work(
                    wallMicros: Double(busy.3 - begin.3), pushingMicros: Double(last.atMicros - begin.3),
                    workerMicros: Double(busy.0 - begin.0),
                    serverMicros: Double(busy.1 - begin.1), kafkaMicros: Double(busy.2 - begin.2))
            }
            try self.process.checkRunning()
        }
    }

    private static let idleMicros: Int64 = 150_000
    /// Maximum share of a core that an idle worker uses.
    private static let idleShareMax = 0.2
}

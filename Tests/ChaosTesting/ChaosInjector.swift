import ChildProcesses
import CommandSupport
import Foundation

/// Carries out faults, and ends them when their time is over. Only the task of the run uses it.
final class ChaosInjector {
    /// Action that ends a fault.
    private enum Remedy {
        case startWorker(Int)
        case resumeWorker(Int)
        case startAPNs
        case removeAPNsFault(id: Int)
        case apnsLatency
        case kafkaUp
        case kafkaLatency
        case kafkaErrors(api: String)
        case kafkaTakes
    }

    private let stage: ChaosStage
    private let seed: UInt64
    private var remedies: [(dueMillis: Int64, remedy: Remedy)] = []
    /// How often each kind was injected.
    private(set) var counts: [ChaosFault.Kind: Int] = [:]
    /// Number of faults that found nothing to harm, for example because the worker was already down.
    private(set) var skippedCount = 0
    private var apnsStarts: UInt64 = 0
    /// One line for each worker that a signal other than SIGKILL ended. Such a worker has crashed, because the run ends
    /// workers only by SIGKILL, or in good order.
    private(set) var crashes: [String] = []
    /// One line for each worker that ended without being told to, with its status. That is allowed, and the worker is
    /// started again.
    private(set) var unexpectedEnds: [String] = []
    private var endedByItself: Set<String> = []
    /// Times at which paused workers continued, milliseconds since 1970.
    private(set) var resumedMillis: [Int64] = []
    /// One line for each worker that was told to stop and did not end with status 0.
    private(set) var uncleanStops: [String] = []
    /// Which release each worker runs. `nil` means that there is only one.
    private let releases: ReleaseSchedule?
    /// How often each worker was started as another release than before, by the worker's name.
    private(set) var releaseChanges: [String: Int] = [:]
    let refusals: ChaosRefusals
    /// When workers were last asked whether any of their partitions are halted.
    private var lookedForHaltsAt = ContinuousClock.now
    /// Number of workers that were started again because one of their partitions had halted.
    private(set) var haltRestarts = 0

    /// Time from a worker's end by itself to its next start. An orchestrator would also start it again.
    private static let restartMillis: Int64 = 1_000
    private static let haltLookDistance = Duration.seconds(1)

    init(stage: ChaosStage, seed: UInt64, releases: ReleaseSchedule? = nil) {
        self.stage = stage
        self.releases = releases
        self.seed = seed
        self.refusals = ChaosRefusals(kafka: stage)
    }

    /// Whether no fault is in force, every worker is up, and APNs runs.
    var isOver: Bool { self.remedies.isEmpty && self.stage.workers.allSatisfy(\.isUp) && self.stage.apnsIsRunning }

    // MARK: Injecting

    func inject(_ fault: ChaosFault, nowMillis: Int64) async throws {
        guard try await self.carryOut(fault, endsAtMillis: nowMillis + fault.durationMillis) else {
            self.skippedCount += 1
            return
        }
        self.count(fault.kind)
    }

    /// Counts a fault. The run calls this for faults that it carries out itself, because it must stop publishing for
    /// them.
    func count(_ kind: ChaosFault.Kind) { self.counts[kind, default: 0] += 1 }

    /// Carries out a fault.
    /// - Returns: `false` when there is nothing to harm.
    private func carryOut(_ fault: ChaosFault, endsAtMillis: Int64) async throws -> Bool {
        func undo(_ remedy: Remedy) { self.remedies.append((endsAtMillis, remedy)) }
        switch fault.kind {
        case .workerKilled, .workerStopped, .workerPaused, .workerPausedPastSession:
            guard let index = self.worker(fault.choice) else { return false }
            self.harm(index, fault, endsAtMillis: endsAtMillis)
        case .apnsKilled:
            guard self.stage.apnsIsRunning else { return false }
            try await self.stage.killAPNs()
            undo(.startAPNs)
        case .apnsGoAway:
            // APNs sends this GOAWAY at a request, and processes no later request of the connection, as the frame says.
            return try await self.addAPNsFault(
                "{\"kind\":\"goaway\",\"reason\":\"Shutdown\",\"current\":true,\"count\":8}", endsAtMillis)
        case .apnsCut:
            return try await self.apns("{\"kind\":\"now\",\"action\":\"cut\"}") != nil
        case .apnsErrors:
            let errors = [
                "\"status\":503,\"reason\":\"ServiceUnavailable\"", "\"status\":500,\"reason\":\"InternalServerError\"",
                "\"status\":429,\"reason\":\"TooManyRequests\"",
            ]
            return try await self.addAPNsFault(
                "{\"kind\":\"answer\",\(errors[fault.choice % errors.count]),\"rate\":0.2}", endsAtMillis)
        case .broadcastsRefused:
            return try await self.addAPNsFault(
                "{\"kind\":\"answer\",\"status\":503,\"reason\":\"ServiceUnavailable\",\"request\":\"broadcast\"}",
                endsAtMillis)
        case .apnsSilence:
            return try await self.addAPNsFault(
                "{\"kind\":\"stall\",\"applied\":\(fault.choice % 2 == 0),\"rate\":0.02}", endsAtMillis)
        case .apnsLostAnswers:
            return try await self.addAPNsFault(
                "{\"kind\":\"cut\",\"applied\":\(fault.choice % 2 == 0),\"rate\":0.01}", endsAtMillis)
        case .apnsLatency:
            guard try await self.apns("{\"kind\":\"latency\",\"millis\":300,\"jitterMillis\":1500}") != nil else {
                return false
            }
            undo(.apnsLatency)
        case .kafkaDown:
            try await self.kafka("/broker/down")
            undo(.kafkaUp)
        case .kafkaErrors:
            // Codes of Kafka: 6 not the leader, 7 timed out, 16 not the coordinator. -195 drops the connection.
            let errors = [
                ("Produce", 6), ("Produce", 7), ("OffsetCommit", 16), ("Heartbeat", 16), ("Fetch", 6),
                ("Produce", -195),
            ]
            let (api, code) = errors[fault.choice % errors.count]
            try await self.kafka("/errors?api=\(api)&code=\(code)&count=\(5 + fault.choice % 40)")
            undo(.kafkaErrors(api: api))
        case .kafkaLatency:
            try await self.kafka("/latency?ms=\(50 + fault.choice % 400)")
            undo(.kafkaLatency)
        case .kafkaRefuses:
            guard try await self.refusals.begin(fault.choice) else { return false }
            undo(.kafkaTakes)
        case .topicGrown, .topicMadeAnew: return false
        }
        return true
    }

    /// Index of a worker that is up and not paused. `nil` means that there is none.
    private func worker(_ choice: Int) -> Int? {
        let up = self.stage.workers.indices.filter { self.stage.workers[$0].isUp && !self.stage.workers[$0].isPaused }
        return up.isEmpty ? nil : up[choice % up.count]
    }

    private func harm(_ index: Int, _ fault: ChaosFault, endsAtMillis: Int64) {
        let worker = self.stage.workers[index]
        switch fault.kind {
        case .workerKilled:
            self.refusals.losesCounts()
            worker.isExpectedToEnd = true
            worker.process?.kill()
            self.remedies.append((endsAtMillis, .startWorker(index)))
        case .workerStopped:
            self.refusals.losesCounts()
            worker.stop()
            self.remedies.append((endsAtMillis, .startWorker(index)))
        case .workerPaused, .workerPausedPastSession:
            worker.isPaused = true
            worker.process?.pause()
            self.remedies.append((endsAtMillis, .resumeWorker(index)))
        case .apnsKilled, .apnsGoAway, .apnsCut, .apnsErrors, .broadcastsRefused, .apnsSilence, .apnsLostAnswers,
            .apnsLatency, .kafkaDown,
            .kafkaErrors, .kafkaLatency, .kafkaRefuses, .topicGrown, .topicMadeAnew:
            return
        }
    }

    /// Ends the faults whose time is over, and restarts workers that ended by themselves, have halted partitions or
    /// change their release.
    func advance(nowMillis: Int64) async throws {
        let due = self.remedies.filter { $0.dueMillis <= nowMillis }
        self.remedies.removeAll { $0.dueMillis <= nowMillis }
        for (dueMillis, remedy) in due { try await self.apply(remedy, dueMillis: dueMillis, nowMillis: nowMillis) }
        for (index, worker) in self.stage.workers.enumerated()
        where !worker.isExpectedToEnd && worker.process?.isRunning != true {
            self.unexpectedEnds.append(
                "\(worker.name) ended by itself with \(worker.process?.status ?? 0), see \(worker.logPath)")
            worker.isExpectedToEnd = true
            self.refusals.losesCounts()
            self.endedByItself.insert(worker.name)
            self.remedies.append((nowMillis + Self.restartMillis, .startWorker(index)))
        }
        self.changeReleases(nowMillis: nowMillis)
        try await self.restartHalted(nowMillis: nowMillis)
        if !self.stage.kafkaIsRunning { throw CommandFailure("the embedded Kafka has ended: see kafka.log") }
    }

    /// Stops workers that must run the other release. They are then started with that release.
    private func changeReleases(nowMillis: Int64) {
        guard let releases = self.releases else { return }
        for (index, worker) in self.stage.workers.enumerated()
        where worker.isUp && !worker.isPaused
            && worker.executable != releases.executable(worker: index, atMillis: nowMillis)
        {
            worker.stop()
            self.remedies.append((nowMillis, .startWorker(index)))
        }
    }

    /// Restarts workers that have halted partitions, as soon as Kafka no longer refuses records.
    private func restartHalted(nowMillis: Int64) async throws {
        guard !self.refusals.refusals.isEmpty, ContinuousClock.now - self.lookedForHaltsAt >= Self.haltLookDistance
        else { return }
        self.lookedForHaltsAt = .now
        try await self.refusals.count(self.stage.workers)
        guard !self.refusals.isInForce else { return }
        for (index, worker) in self.stage.workers.enumerated() where worker.isUp && !worker.isPaused {
            guard let readiness = try await worker.readiness(), !PartitionHalt.named(in: readiness).isEmpty else {
                continue
            }
            self.haltRestarts += 1
            worker.stop()
            self.remedies.append((nowMillis, .startWorker(index)))
        }
    }

    /// Ends every fault now.
    func endAll(nowMillis: Int64) async throws {
        for index in self.remedies.indices {
            self.remedies[index].dueMillis = min(nowMillis, self.remedies[index].dueMillis)
        }
        try await self.advance(nowMillis: nowMillis)
    }

    private func apply(_ remedy: Remedy, dueMillis: Int64, nowMillis: Int64) async throws {
        switch remedy {
        case .startWorker(let index): try self.startWorker(index, dueMillis: dueMillis, nowMillis: nowMillis)
        case .resumeWorker(let index):
            self.stage.workers[index].isPaused = false
            self.resumedMillis.append(Int64(Date().timeIntervalSince1970 * 1_000))
            self.stage.workers[index].process?.resume()
        case .startAPNs:
            self.apnsStarts += 1
            try await self.stage.startAPNs(seed: self.seed &+ self.apnsStarts)
        case .removeAPNsFault(let id): _ = try await LocalHTTP.delete("/faults/\(id)", port: self.stage.apnsControlPort)
        case .apnsLatency:
            let millis = ChaosStage.latencyMillis
            _ = try await self.apns("{\"kind\":\"latency\",\"millis\":\(millis),\"jitterMillis\":\(millis)}")
        case .kafkaUp: try await self.kafka("/broker/up")
        case .kafkaLatency: try await self.kafka("/latency?ms=0")
        case .kafkaErrors(let api): try await self.kafka("/errors/clear?api=\(api)")
        case .kafkaTakes: try await self.refusals.end()
        }
    }

    private func startWorker(_ index: Int, dueMillis: Int64, nowMillis: Int64) throws {
        let worker = self.stage.workers[index]
        guard let status = worker.process?.status else {
            guard !worker.isStopOverdue() else {
                throw CommandFailure("\(worker.name) was told to stop and did not: see \(worker.logPath)")
            }
            // The worker is still ending.
            self.remedies.append((dueMillis + 1, .startWorker(index)))
            return
        }
        if status < 0, status != -SIGKILL {
            self.crashes.append("\(worker.name) crashed with signal \(-status), see \(worker.logPath)")
        } else if status > 0, !self.endedByItself.contains(worker.name) {
            // The worker could not finish or write down something in time, for example because Kafka was away.
            self.uncleanStops.append("\(worker.name) stopped with \(status)")
        }
        self.endedByItself.remove(worker.name)
        self.refusals.hasEnded(worker)
        if let executable = self.releases?.executable(worker: index, atMillis: nowMillis),
            executable != worker.executable
        {
            worker.executable = executable
            self.releaseChanges[worker.name, default: 0] += 1
        }
        try self.stage.start(worker)
    }

    // MARK: Control APIs

    private func addAPNsFault(_ body: String, _ endsAtMillis: Int64) async throws -> Bool {
        guard let answer = try await self.apns(body) else { return false }
        let digits = answer.filter(\.isNumber)
        guard let id = Int(digits) else { throw CommandFailure("the simulated APNs refused \(body): \(answer)") }
        self.remedies.append((endsAtMillis, .removeAPNsFault(id: id)))
        return true
    }

    /// Posts a fault to APNs.
    /// - Returns: the answer's body, or `nil` when APNs is down.
    private func apns(_ body: String) async throws -> String? {
        guard let answer = try await LocalHTTP.post("/faults", body: body, port: self.stage.apnsControlPort) else {
            return nil
        }
        guard answer.status == 200 else { throw CommandFailure("the simulated APNs refused \(body): \(answer.body)") }
        return answer.body
    }

    private func kafka(_ path: String) async throws {
        guard let answer = try await LocalHTTP.post(path, port: self.stage.kafkaControlPort), answer.status == 200
        else {
            throw CommandFailure("the embedded Kafka refused POST \(path)")
        }
    }
}

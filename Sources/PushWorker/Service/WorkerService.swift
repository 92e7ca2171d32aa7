public import Logging
public import PushEngine
import PushModel
import PushTransport
public import ServiceLifecycle
import Synchronization
public import Tracing

/// A worker in this process. It joins the consumer group, carries events to APNs, and stops within a bounded time.
///
/// It may be used from any thread or task. Start it once, or give it to a `ServiceGroup`, whose graceful shutdown
/// drains it.
public final class WorkerService: Service, Sendable {
    /// The configuration that the worker was made with.
    public let configuration: WorkerConfiguration
    private let logger: Logger
    private let logLevel: LogLevelSwitch?
    private let metrics: PrometheusMetricsFactory?
    private let tracer: (any Tracer)?
    private let hub: SnapshotHub
    private let phase = Mutex(Phase.idle)
    private let reloads = Turnstile()
    /// Whether somebody has asked the worker to stop.
    private let isDrained = Mutex(false)
    /// Yields an error when the worker cannot go on.
    private let failures: AsyncStream<WorkerError>
    private let failing: AsyncStream<WorkerError>.Continuation

    private enum Phase {
        case idle
        case starting(Task<WorkerParts, any Error>)
        case running(WorkerParts)
        case stopping(Task<StopReport, Never>)
    }

    /// - Parameters:
    ///   - metrics: served with the worker's own metrics. Bootstrap swift-metrics with it to see the counters of
    ///     libraries.
    ///   - logLevel: set when `log.level` changes; `nil`: the setting is not followed.
    ///   - tracer: receives the spans of sampled events; `nil`: the tracer that `InstrumentationSystem` was
    ///     bootstrapped with, if any.
    /// - Throws: `ConfigurationError` with every fault of the configuration.
    public init(
        _ configuration: WorkerConfiguration, logger: Logger, metrics: PrometheusMetricsFactory? = nil,
        logLevel: LogLevelSwitch? = nil, tracer: (any Tracer)? = nil
    ) throws(ConfigurationError) {
        let faults = configuration.faults
        guard faults.isEmpty else { throw ConfigurationError(faults: faults) }
        self.configuration = configuration
        self.logger = logger
        self.logLevel = logLevel
        self.metrics = metrics
        let tracer = tracer ?? InstrumentationSystem.tracer
        self.tracer = tracer is NoOpTracer ? nil : tracer
        self.hub = SnapshotHub(shardCount: configuration.resolvedShardCount)
        (self.failures, self.failing) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))
    }

    /// Checks keys, topics and the admin port, then joins the group. Returns before partitions are assigned: wait for
    /// `isReady`. While Kafka cannot be reached, it keeps trying.
    /// - Throws: `WorkerError`, which names what is missing or wrong. Also when the task is cancelled.
    public func start() async throws(WorkerError) {
        let starting: Task<WorkerParts, any Error>? = self.phase.withLock { phase in
            guard case .idle = phase else { return nil }
            let task = Task {
                try await WorkerParts.start(
                    self.configuration, hub: self.hub, metrics: self.metrics, tracer: self.tracer, logger: self.logger,
                    fail: { [weak self] in self?.fail($0) }, drain: { [weak self] in self?.drain() })
            }
            phase = .starting(task)
            return task
        }
        guard let starting else { throw WorkerError("the worker was started before") }
        let parts: WorkerParts
        do {
            parts = try await withTaskCancellationHandler {
                try await starting.value
            } onCancel: {
                starting.cancel()
            }
        } catch {
            let failure =
                (error as? WorkerError)
                ?? WorkerError(error is CancellationError ? "stopped before it had started" : "\(error)")
            self.phase.withLock { $0 = .stopping(Task { StopReport(isClean: true, detail: "") }) }
            self.hub.end(failure)
            throw failure
        }
        self.phase.withLock { $0 = .running(parts) }
        self.hub.updateConfiguration { status in
            // A reload may have changed the status in between.
            guard status.takenAtSeconds == 0 else { return }
            status.hash = self.configuration.hash
            status.takenAtSeconds = MachineClock.now().wallSeconds
        }
    }

    /// Waits until the worker can take another configuration.
    /// - Returns: `false` when the worker has ended, or the task is cancelled.
    func runs() async -> Bool {
        (try? await self.hub.wait { $0.configuration.takenAtSeconds > 0 }) != nil
    }

    // MARK: Another configuration

    /// Takes the configuration that `load` returns, without a stop. If anything is wrong with the configuration, the
    /// present one stays. Settings that need a restart keep their values. The result is logged, and metrics show it.
    ///
    /// A call waits until the call before it has ended, and calls `load` only then. So the configuration that was
    /// loaded last is used in the end.
    /// - Throws: what is wrong with the configuration, that the worker does not run, or that too many calls wait.
    @discardableResult
    public func reload(
        _ load: () throws(ConfigurationError) -> WorkerConfiguration
    ) async throws(ConfigurationError) -> ReloadReport {
        try await self.reload(load, whenAsked: {})
    }

    /// Takes the configuration that `load` returns.
    /// - Parameters:
    ///   - toldFaults: faults found at the last attempt. They are not logged as errors again.
    ///   - whenAsked: see `Reconfigurer.take`.
    func reload(
        _ load: () throws(ConfigurationError) -> WorkerConfiguration, toldFaults: [ConfigurationFault] = [],
        whenAsked: () async -> Void
    ) async throws(ConfigurationError) -> ReloadReport {
        guard await self.reloads.enter() else {
            // The waiting calls will load the configuration that this call would load.
            throw ConfigurationError(faults: [
                ConfigurationFault(
                    setting: "worker",
                    text: "has \(Turnstile.waitingMax) further reloads waiting: try again later")
            ])
        }
        defer { self.reloads.leave() }
        do throws(ConfigurationError) {
            let report = try await self.take(try load(), whenAsked: whenAsked)
            self.log(report)
            return report
        } catch {
            self.hub.updateConfiguration { $0.isLastTaken = false }
            for fault in error.faults {
                self.logger.log(
                    level: toldFaults.contains(fault) ? .debug : .error,
                    "the new configuration is not used; the previous one stays", metadata: ["fault": "\(fault)"])
            }
            throw error
        }
    }

    /// Number of reloads that wait for an earlier reload to end.
    var waitingReloadCount: Int { self.reloads.waitingCount }

    /// The present value of `reload.watch`; `nil`: the worker does not run.
    var watchesFile: Bool? {
        self.phase.withLock { phase in
            if case .running(let parts) = phase { parts.reconfigurer.configuration.watchesFile } else { nil }
        }
    }

    private func take(
        _ new: WorkerConfiguration, whenAsked: () async -> Void
    ) async throws(ConfigurationError) -> ReloadReport {
        let faults = new.faults
        guard faults.isEmpty else { throw ConfigurationError(faults: faults) }
        let parts: WorkerParts? = self.phase.withLock { phase in
            if case .running(let parts) = phase { parts } else { nil }
        }
        guard let parts else {
            throw ConfigurationError(faults: [
                ConfigurationFault(
                    setting: "worker", text: "is starting or stopping: try again when it runs")
            ])
        }
        return try await parts.reconfigurer.take(new, whenAsked: whenAsked)
    }

    private func log(_ report: ReloadReport) {
        self.hub.updateConfiguration { status in
            status.hash = report.hash
            status.isLastTaken = report.refusingShards.isEmpty
            status.takenAtSeconds = MachineClock.now().wallSeconds
            status.awaitingRestart = report.held.map(\.setting)
        }
        for change in report.taken {
            self.logger.notice("setting changed", metadata: Self.metadata(change))
            if change.setting == "log.level", let name = change.after, let level = Logger.Level(rawValue: name) {
                self.logLevel?.level = level
            }
        }
        if report.wantsAppsNamed {
            self.logger.warning(
                "there is more than one app now: events without \"app\" are refused and become dead letters from now on"
            )
        }
        for change in report.held {
            self.logger.warning(
                "a changed setting needs a restart and does not take effect", metadata: Self.metadata(change))
        }
        // Each shard that refused the configuration has its own log line already.
        guard report.refusingShards.isEmpty else { return }
        self.logger.notice(
            "configuration reloaded",
            metadata: [
                "changed": "\(report.taken.count)", "awaiting-restart": "\(report.held.count)",
                "hash": "\(report.hash)",
            ])
    }

    private static func metadata(_ change: SettingChange) -> Logger.Metadata {
        [
            "setting": "\(change.setting)", "before": "\(change.before ?? "none")",
            "after": "\(change.after ?? "none")",
            "effect": "\(change.effect.rawValue)",
        ]
    }

    /// Starts the worker, runs until graceful shutdown or a fatal error, and drains.
    /// - Throws: `WorkerError` when the worker could not start, could not go on, or could not finish everything in
    ///   time.
    public func run() async throws {
        do {
            try await cancelWhenGracefulShutdown { try await self.start() }
        } catch {
            // A stop that was requested before the start is not a failure.
            if Task.isCancelled || Task.isShuttingDownGracefully || self.isDrained.withLock({ $0 }) { return }
            throw error
        }
        let failure = await withTaskCancellationOrGracefulShutdownHandler {
            await self.failures.first { _ in true }
        } onCancelOrGracefulShutdown: {
            self.failing.finish()
        }
        let report = await self.stop()
        if let failure { throw failure }
        if !report.isClean { throw WorkerError("stopped, but not in good order: \(report.detail)") }
    }

    /// Stops the worker within `drain-timeout`. It takes nothing new, awaits answers to pushes in flight, writes down
    /// the rest, commits, and leaves the group. Idempotent.
    @discardableResult
    public func stop() async -> StopReport {
        let task: Task<StopReport, Never>? = self.phase.withLock { phase in
            switch phase {
            case .idle, .starting: return nil
            case .stopping(let task): return task
            case .running(let parts):
                // A task of its own, which the caller cannot cancel: a drain that has begun is finished.
                let task = Task.detached { await parts.stop() }
                phase = .stopping(task)
                return task
            }
        }
        guard let task else { return StopReport(isClean: true, detail: "") }
        let report = await task.value
        self.hub.end(WorkerError("the worker has stopped"))
        return report
    }

    /// Asks the worker to stop: `run` then returns without an error. A start that waits for Kafka stops waiting.
    func drain() {
        self.isDrained.withLock { $0 = true }
        self.failing.finish()
        self.phase.withLock { phase in
            guard case .starting(let task) = phase else { return }
            self.hub.updateGroup { $0.isDraining = true }
            task.cancel()
        }
        Task.detached { await self.stop() }
    }

    /// The worker's state, a fraction of a second old.
    public func snapshot() -> WorkerSnapshot { self.hub.snapshot }

    /// Waits until the snapshot satisfies `condition`, which is checked at each report of a shard or of the group. A
    /// shard reports at most once in 50 ms.
    /// - Returns: the snapshot that satisfied it.
    /// - Throws: `CancellationError` when the task is cancelled; `WorkerError` when the worker ended before.
    @discardableResult
    public func waitUntil(_ condition: @escaping @Sendable (WorkerSnapshot) -> Bool) async throws -> WorkerSnapshot {
        try await self.hub.wait(until: condition)
    }

    /// The number of the admin port; `nil` when the worker does not run, or the port is off.
    public var adminPort: Int? {
        self.phase.withLock { phase in
            if case .running(let parts) = phase { parts.admin?.port } else { nil }
        }
    }

    /// The reconfigurer; `nil` when the worker does not run.
    var reconfigurer: Reconfigurer? {
        self.phase.withLock { phase in
            if case .running(let parts) = phase { parts.reconfigurer } else { nil }
        }
    }

    /// The pages about the worker's knowledge; `nil` when the worker does not run.
    var statePages: StatePages? {
        self.phase.withLock { phase in
            if case .running(let parts) = phase { parts.state } else { nil }
        }
    }

    /// The content of the admin port's `/metrics`, in the Prometheus text format; `nil` when the worker does not run,
    /// or the port is off.
    public var metricsText: String? {
        let pages: AdminServer.Pages? = self.phase.withLock { phase in
            if case .running(let parts) = phase { parts.admin?.pages } else { nil }
        }
        // Writing the page takes a moment, so it happens outside of the lock.
        return pages.map { String(decoding: $0.metrics(.prometheus), as: UTF8.self) }
    }

    /// What the worker knows about an activity, as the admin port's `/activities/<key>` shows it.
    /// - Parameters:
    ///   - key: the key of its records.
    ///   - app: bundle id; `nil`: the only app that has it.
    /// - Returns: `nil` when nothing is known, or the worker does not run or is too busy to answer.
    public func activityReport(key: String, app: String? = nil) async -> ActivityReport? {
        await self.statePages?.activityPage(id: key, app: app)?.report
    }

    /// What the next push of an activity waits for. Takes the same parameters as `activityReport(key:app:)`.
    /// - Returns: `nil` when nothing waits, nothing is known, or the worker does not run or is too busy to answer.
    public func activityWait(key: String, app: String? = nil) async -> ActivityWait? {
        await self.statePages?.activityPage(id: key, app: app)?.waitsFor
    }

    /// The app of an activity, and the token that its pushes go to. The token is a secret, meant for simulated phones
    /// in the worker's own process. No port shows it.
    /// - Parameters:
    ///   - key: the key of its records.
    ///   - app: bundle id; `nil`: the only app that has it.
    /// - Returns: `nil` when there is no token, or the worker does not run or is too busy to answer.
    package func activityToken(key: String, app: String? = nil) async -> (token: [UInt8], app: String)? {
        await self.statePages?.activityToken(id: key, app: app)
    }

    /// What the owner of an audience knows about it, as the admin port's `/audiences/<id>` shows it.
    /// - Parameters:
    ///   - id: the audience's id.
    ///   - app: bundle id; `nil`: the only app that has it.
    /// - Returns: `nil` when nothing is known, the owner is another worker, or this worker does not run or is too busy.
    public func audienceReport(id: String, app: String? = nil) async -> AudienceReport? {
        await self.statePages?.audienceReport(id: id, app: app)
    }

    private func fail(_ reason: String) {
        let error = WorkerError(reason, isRetriable: true)
        if case .enqueued = self.failing.yield(error) {
            self.logger.critical("the worker cannot go on", metadata: ["cause": "\(reason)"])
        }
        self.hub.end(error)
    }
}

/// How a worker stopped.
public struct StopReport: Sendable, Equatable {
    /// Whether everything was finished or written down, and committed, in time.
    public var isClean: Bool
    /// What was left unfinished; empty when clean.
    public var detail: String
}

/// Why a worker cannot start or go on: one line for an operator.
public struct WorkerError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Whether another start may help.
    public var isRetriable: Bool
    public var description: String

    public init(_ description: String, isRetriable: Bool = false) {
        self.description = description
        self.isRetriable = isRetriable
    }
}

public import Logging
public import ServiceLifecycle

/// A worker in this process: joins the consumer group, carries events to APNs, stops within a bounded time.
///
/// May be used from any thread or task. Start it once; or give it to a `ServiceGroup`, whose graceful shutdown drains it.
public final class WorkerService: Service, Sendable {
    public let configuration: WorkerConfiguration

    /// - Throws: `ConfigurationError` with every fault of the configuration.
    public init(_ configuration: WorkerConfiguration, logger: Logger) throws(ConfigurationError) {
        let faults = configuration.faults
        guard faults.isEmpty else { throw ConfigurationError(faults: faults) }
        self.configuration = configuration
    }

    /// Checks keys, topics and the admin port, then joins the group. Returns before partitions are assigned: wait for `isReady`.
    /// - Throws: `WorkerError`, naming what cannot be.
    public func start() async throws(WorkerError) {}

    /// Starts, serves until graceful shutdown or a fatal error, drains.
    public func run() async throws {}

    /// Stops taking, finishes what is in flight, writes down the rest, commits, leaves the group: within `drain-timeout`. Idempotent.
    @discardableResult
    public func stop() async -> StopReport { StopReport(isClean: true, detail: "") }

    /// How it stands, a fraction of a second old.
    public func snapshot() -> WorkerSnapshot { WorkerSnapshot() }

    /// Waits until the snapshot satisfies `condition`, looked at each time a shard or the group reports.
    /// - Returns: the snapshot that satisfied it.
    /// - Throws: `CancellationError` when the task is cancelled; `WorkerError` when the worker ended before.
    public func waitUntil(_ condition: @escaping @Sendable (WorkerSnapshot) -> Bool) async throws -> WorkerSnapshot {
        self.snapshot()
    }

    /// The admin port; `nil` before the start, or when it is off.
    public var adminPort: Int? { nil }
}

/// How a worker ended.
public struct StopReport: Sendable, Equatable {
    /// Everything was finished or written down, and committed, in time.
    public var isClean: Bool
    /// What was not; empty when clean.
    public var detail: String
}

/// Why a worker cannot start or go on: one line for an operator.
public struct WorkerError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Starting it again may help.
    public var isRetriable: Bool
    public var description: String

    public init(_ description: String, isRetriable: Bool = false) {
        self.description = description
        self.isRetriable = isRetriable
    }
}

import DeviceModel
import Glibc
import NIOCore
import Synchronization
import TLSSession

/// What connections and callers share: the judge behind its lock, the open connections, and the callers that wait.
final class SharedSimulator: Sendable {
    let configuration: SimulatorConfiguration
    let tls: TLSContext
    private let state: Mutex<SimulatorState>
    private let registry = Mutex<Registry>(Registry())

    private struct Registry {
        var connections: [Int: SimulatedConnection] = [:]
        var nextNumber = 1
        var waiters: [Int: Waiter] = [:]
        var nextWaiter = 1
        var isStopped = false
    }

    private struct Waiter {
        var condition: @Sendable (SimulatorStatistics) -> Bool
        var continuation: CheckedContinuation<SimulatorStatistics, any Error>
    }

    init(configuration: SimulatorConfiguration, keys: [RegisteredKey], tls: TLSContext) {
        self.configuration = configuration
        self.tls = tls
        self.state = Mutex(SimulatorState(configuration: configuration, keys: keys))
    }

    /// The present time, milliseconds since 1970.
    func nowMillis() -> Int64 { self.configuration.clock?() ?? SystemClock.wallMillis() }

    func withState<Result: Sendable>(_ body: (inout SimulatorState) -> Result) -> Result {
        self.state.withLock { state in
            defer { state.journal?.flush() }
            return body(&state)
        }
    }

    /// Reads the state without changing it; `body` may change its caller's own values.
    func look(_ body: (inout SimulatorState) -> Void) { self.state.withLock { state in body(&state) } }

    /// Like `withState`, but for a connection's loop: `body` may change the connection's own values.
    func judge(_ body: (inout SimulatorState) -> Void) {
        self.state.withLock { state in
            body(&state)
            // The journal is flushed before any answer leaves: a restarted simulator must have every push that a sender
            // knows of.
            state.journal?.flush()
        }
    }

    /// Restores the phones of a journal, and continues to write it.
    func openJournal(_ path: String) throws(JournalReader.Fault) {
        let configuration = self.configuration
        var phones = JournaledPhones(configuration: configuration, rules: configuration.deviceRules)
        var byteCount: Int64 = 0
        if access(path, F_OK) == 0 {
            var reader = try JournalReader(path: path)
            try phones.read(&reader)
            byteCount = reader.entriesByteCount
        }
        let writer = try JournalWriter(path: path, keeping: byteCount)
        let store = phones.store
        self.state.withLock { state in
            state.store = store
            state.journal = writer
        }
    }

    func closeJournal() {
        self.state.withLock { state in
            state.journal?.close()
            state.journal = nil
        }
    }

    func statistics() -> SimulatorStatistics {
        self.withState {
            var statistics = $0.counters.statistics(tokens: $0.store.tokens.count, devices: $0.store.devices.count)
            statistics.providerTokens = $0.providerTokens.tokenCount
            statistics.channels = $0.store.channels.registeredCount
            statistics.bothWays = $0.store.bothWaysCount
            statistics.starts = $0.store.starts.count
            statistics.startsOverBudget = $0.store.startsOverBudgetCount
            statistics.updateTokens = $0.store.updateTokens.count
            return statistics
        }
    }

    // MARK: Connections

    /// Registers a new connection. Returns `nil` if it must be closed at once.
    func admit(_ door: Door) -> Int? {
        let number = self.registry.withLock { registry -> Int? in
            guard !registry.isStopped, registry.connections.count < self.configuration.connectionsMax else {
                return nil
            }
            defer { registry.nextNumber += 1 }
            return registry.nextNumber
        }
        let admitted = self.withState { state -> Int? in
            guard let number, !state.refusesConnections else {
                state.counters.connectionsRefused += 1
                return nil
            }
            state.counters.connectionsAccepted += 1
            var connection = SimulatorStatistics.Connection()
            connection.number = number
            connection.isForManagement = door == .management
            state.counters.connections[number] = connection
            return number
        }
        if admitted == nil { self.changed() }
        return admitted
    }

    /// Adds an open connection. Returns `false` if the simulator was stopped meanwhile.
    func opened(_ connection: SimulatedConnection, number: Int) -> Bool {
        let isServed = self.registry.withLock { registry -> Bool in
            guard !registry.isStopped else { return false }
            registry.connections[number] = connection
            return true
        }
        self.changed()
        return isServed
    }

    /// Counts `count` delayed answers as no longer waiting: they are about to be written, or their connection is gone.
    /// `tokens` are the tokens that the answers are about.
    func delayedEnded(_ count: Int, tokens: [Int32] = []) {
        guard count > 0 else { return }
        self.withState { state in
            state.counters.delayed -= count
            state.answered(tokens)
        }
        self.changed()
    }

    func closed(_ statistics: SimulatorStatistics.Connection) {
        self.registry.withLock { $0.connections[statistics.number] = nil }
        self.withState { $0.counters.connectionClosed(statistics) }
        self.changed()
    }

    /// Hands an action to all connections, or to one. Each result is fulfilled when its action is done.
    func perform(_ action: ConnectionAction, connection: Int?) -> [EventLoopFuture<Void>] {
        let targets = self.registry.withLock { registry in
            registry.connections.compactMap { connection == nil || connection == $0.key ? $0.value : nil }
        }
        return targets.map { $0.perform(action) }
    }

    /// Admits no further connection, and returns the open ones; `nil` if the simulator was stopped before.
    func stop() -> [SimulatedConnection]? {
        let (connections, waiters) = self.registry.withLock { registry -> ([SimulatedConnection]?, [Waiter]) in
            guard !registry.isStopped else { return (nil, []) }
            registry.isStopped = true
            defer { registry.waiters.removeAll() }
            return (Array(registry.connections.values), Array(registry.waiters.values))
        }
        for waiter in waiters { waiter.continuation.resume(throwing: CancellationError()) }
        return connections
    }

    // MARK: Waiting

    /// Lets waiting callers check their conditions after a change. The call costs one lock if nobody waits.
    func changed() {
        guard self.registry.withLock({ !$0.waiters.isEmpty }) else { return }
        let statistics = self.statistics()
        let satisfied = self.registry.withLock { registry -> [Waiter] in
            let ids = registry.waiters.filter { $0.value.condition(statistics) }.map(\.key)
            return ids.compactMap { registry.waiters.removeValue(forKey: $0) }
        }
        for waiter in satisfied { waiter.continuation.resume(returning: statistics) }
    }

    func wait(within limit: Duration, until condition: @escaping @Sendable (SimulatorStatistics) -> Bool) async throws
        -> SimulatorStatistics
    {
        let id = self.registry.withLock { registry in
            defer { registry.nextWaiter += 1 }
            return registry.nextWaiter
        }
        let alarm = Task {
            try await Task.sleep(for: limit)
            self.endWait(id, SimulatorWaitTimeout(limit: limit, statistics: self.statistics()))
        }
        defer { alarm.cancel() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isStopped = self.registry.withLock { registry in
                    if !registry.isStopped {
                        registry.waiters[id] = Waiter(condition: condition, continuation: continuation)
                    }
                    return registry.isStopped
                }
                if isStopped || Task.isCancelled {
                    // The caller must be resumed exactly once. A registered caller is resumed by the code that removes
                    // its registration.
                    if isStopped {
                        continuation.resume(throwing: CancellationError())
                    } else {
                        self.endWait(id, CancellationError())
                    }
                } else {
                    self.changed()
                }
            }
        } onCancel: {
            self.endWait(id, CancellationError())
        }
    }

    private func endWait(_ id: Int, _ error: any Error) {
        self.registry.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume(throwing: error)
    }
}

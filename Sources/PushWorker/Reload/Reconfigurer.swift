import Logging
import NIOPosix
import PushEngine
import PushTransport
import ShardLoop
import Synchronization

/// Gives a running worker another configuration. The configuration is checked first. The shards get it only if all of
/// them can take it.
final class Reconfigurer: Sendable {
    private struct State {
        var configuration: WorkerConfiguration
        var plan: WorkerPlan
        /// Whether event loops may have ended. A loop that has ended never answers.
        var isClosed = false
    }

    private let state: Mutex<State>
    /// Lets in one caller at a time: a change that asks shards, or the worker's stop.
    private let loops = Turnstile()
    private let partitionCount: Int32
    private let clusterID: String
    private let tokens: ProviderTokenStore
    private let shards: [ShardHandle]
    private let channels: ChannelDesk?
    private let hub: SnapshotHub
    private let logger: Logger

    init(
        _ configuration: WorkerConfiguration, plan: WorkerPlan, partitionCount: Int32, clusterID: String,
        tokens: ProviderTokenStore, shards: [ShardHandle], channels: ChannelDesk?, hub: SnapshotHub, logger: Logger
    ) {
        self.state = Mutex(State(configuration: configuration, plan: plan))
        self.partitionCount = partitionCount
        self.clusterID = clusterID
        self.tokens = tokens
        self.shards = shards
        self.channels = channels
        self.hub = hub
        self.logger = logger
    }

    /// The configuration in use.
    var configuration: WorkerConfiguration { self.state.withLock { $0.configuration } }

    /// Takes another configuration. Must not be called while another call has not returned.
    /// - Parameters:
    ///   - new: a configuration without faults.
    ///   - whenAsked: called when all checks have passed and nothing has changed yet.
    /// - Throws: the faults that prevent the change. Nothing has changed then.
    func take(
        _ new: WorkerConfiguration, whenAsked: () async -> Void = {}
    ) async throws(ConfigurationError) -> ReloadReport {
        let current = self.state.withLock { (configuration: $0.configuration, plan: $0.plan) }
        let change = ConfigurationChange(from: current.configuration, to: new)
        // Settings that kept their old values may contradict the new ones.
        let faults = change.effective.faults
        guard faults.isEmpty else {
            let names = change.held.map(\.setting).joined(separator: ", ")
            throw ConfigurationError(
                faults: faults.map {
                    ConfigurationFault(
                        setting: $0.setting, location: $0.location, text: "\($0.text); needs a restart with \(names)")
                })
        }
        try await self.lookAtFiles(change.effective, before: current.configuration)
        let plan = try await self.withTLS(
            WorkerPlan(change.effective, following: current.plan), knownRouteCount: current.plan.routes.count)
        let keys = try await self.readKeys(plan.keys)
        // This always lets the caller in: at most two call it, this method and `close`.
        _ = await self.loops.enter()
        defer { self.loops.leave() }
        guard !self.state.withLock({ $0.isClosed }) else {
            throw Self.error("worker", "is stopping: the change takes effect when it is started again")
        }
        try await self.askShards(plan)
        await whenAsked()
        self.tokens.use(keys)
        let refusing = await self.reconfigureShards(plan)
        do {
            try await self.channels?.follow(plan, providerTokens: self.tokens)
        } catch {
            self.logger.error(
                "channels of apps that were added cannot be asked about before a restart",
                metadata: ["cause": "\(error)"])
        }
        self.state.withLock { state in
            state.configuration = change.effective
            state.plan = plan
        }
        return ReloadReport(
            taken: change.taken, held: change.held, refusingShards: refusing, hash: change.effective.hash,
            wantsAppsNamed: current.configuration.apps.count == 1 && change.effective.apps.count > 1)
    }

    /// Prevents further questions to event loops, so that the loops may end afterwards. A change that has begun to ask
    /// shards is completed first. A change that still reads files is not awaited.
    func close() async {
        _ = await self.loops.enter()
        self.state.withLock { $0.isClosed = true }
        self.loops.leave()
    }

    private static func error(_ setting: String, _ text: String) -> ConfigurationError {
        ConfigurationError(faults: [ConfigurationFault(setting: setting, text: text)])
    }

    /// Checks the files of apps that are new or have another key. Files of other apps are not needed for this change,
    /// and may be missing by now.
    private func lookAtFiles(
        _ new: WorkerConfiguration, before: WorkerConfiguration
    ) async throws(ConfigurationError) {
        let apps = new.apps.filter { app in
            !before.apps.contains {
                $0.bundleID == app.bundleID && $0.providerKey() == app.providerKey()
            }
        }
        let faults = try? await NIOThreadPool.singleton.runIfActive {
            apps.flatMap { WorkerConfiguration.appFileFaults($0) }.eachOnce
        }
        guard let faults, !faults.isEmpty else { return }
        throw ConfigurationError(faults: faults)
    }

    /// The plan with the TLS contexts of its new routes. The contexts are made here, because making them on an event
    /// loop would block the loop.
    private func withTLS(_ plan: WorkerPlan, knownRouteCount: Int) async throws(ConfigurationError) -> WorkerPlan {
        let newRoutes = knownRouteCount..<plan.routes.count
        guard !newRoutes.isEmpty else { return plan }
        do {
            return try await NIOThreadPool.singleton.runIfActive {
                var plan = plan
                try plan.makeTLSContexts(of: newRoutes)
                return plan
            }
        } catch {
            throw Self.error("ca-file", "\(error)")
        }
    }

    /// Reads changed key files, on a thread for blocking work. A hanging disk then blocks neither an event loop nor the
    /// threads of tasks.
    private func readKeys(_ keys: [ProviderKey]) async throws(ConfigurationError) -> ProviderTokenStore.KeyChange {
        let tokens = self.tokens
        do {
            return try await NIOThreadPool.singleton.runIfActive { try tokens.read(keys) }
        } catch let error as TransportError {
            throw Self.error("apns.key-file", "\(error)")
        } catch {
            throw Self.error("apns.key-file", "cannot be read: \(error)")
        }
    }

    /// Throws unless all shards can take the plan.
    private func askShards(_ plan: WorkerPlan) async throws(ConfigurationError) {
        var faults: [ConfigurationFault] = []
        for shard in self.shards {
            let configuration = plan.loopConfiguration(partitionCount: self.partitionCount, clusterID: self.clusterID)
            // This fails only when the loop has ended.
            let found = (try? await shard.reconfigurationFaults(configuration)) ?? []
            for fault in found {
                let fault = ConfigurationFault(setting: fault.name, text: fault.text)
                if !faults.contains(fault) { faults.append(fault) }
            }
        }
        guard faults.isEmpty else { throw ConfigurationError(faults: faults) }
    }

    /// Gives the plan to all shards.
    /// - Returns: the shards that refused it and use the old configuration. They may take the new one at the next
    ///   reload.
    private func reconfigureShards(_ plan: WorkerPlan) async -> [Int] {
        var refusing: [(shard: Int, text: String)] = []
        for shard in self.shards {
            do {
                try await shard.reconfigure(
                    plan.loopConfiguration(partitionCount: self.partitionCount, clusterID: self.clusterID),
                    routes: plan.routes(shard: shard.number, of: self.shards.count), bundleIDs: plan.bundleIDs)
            } catch {
                // The shard had agreed before. It may have taken over a partition since, and skipped records that
                // concern the new configuration.
                self.logger.error(
                    "a shard still uses the old configuration; restart the worker",
                    metadata: ["shard": "\(shard.number)", "cause": "\(error)"])
                refusing.append(
                    (shard.number, "shard \(shard.number) uses the old configuration until a restart: \(error)"))
            }
        }
        let text = refusing.isEmpty ? nil : refusing.map(\.text).joined(separator: "; ")
        self.hub.updateGroup { $0.errors["configuration"] = text }
        return refusing.map(\.shard)
    }
}

import PushEngine
import PushTransport
import ShardLoop

/// One shard's part of a snapshot, taken between two turns.
struct ShardReport: Sendable {
    var engine = EngineCounters()
    /// Bundle ids of `engine.apps`, in their order.
    var bundleIDs: [String] = []
    var routes: [WorkerSnapshot.Route] = []
    var partitions: [WorkerSnapshot.Partition] = []
    var channelListings: [ChannelListing] = []
    var recordToAccepted = LatencyDistribution()
    var takenToAccepted = LatencyDistribution()
    var memberFreshness = LatencyDistribution()
    var drain = DrainEstimate()
    var kafka = KafkaCounters()
    var tracing = TracingCounters()
    /// Next offsets to be committed, by input topic and partition; the lag is measured from them.
    var watermarks: [CommitPosition] = []
    /// Whether known causes keep the shard from taking records: Kafka does not take what it writes, or memory is full.
    var isHeldUp = false
    /// Errors in plain words.
    var errors: [String] = []
    /// Faults that are shown but do not make the worker unready.
    var degraded: [String] = []
    /// Faults of single apps, in plain words.
    var refusedTopics: [String] = []
    /// The status of each app: routes of its pushes, and whether APNs accepts its topic.
    var apps: [AppStatus] = []
}

/// Whether an app's pushes can leave, as one shard knows it.
struct AppStatus: Sendable, Equatable {
    /// The app's bundle identifier.
    var bundleID: String
    /// The routes of the app's pushes, by the names in `WorkerSnapshot.Route`.
    var routes: [String]
    /// Whether APNs refuses the app's topic in an environment.
    var isRefused: Bool
}

extension ShardReport {
    /// Takes the numbers of this moment. Latencies are not among them: they are recorded in each turn.
    mutating func take(from loop: borrowing ShardLoop, transport: ShardTransport, shard: Int, nowMillis: Int64) {
        self.engine = loop.engine.counters
        // Apps are never removed.
        if self.bundleIDs.count < self.engine.apps.count {
            self.bundleIDs = loop.engine.configuration.apps.map(\.bundleID)
        }
        self.channelListings = loop.engine.channelListings
        let (members, starts) = (self.engine.members, self.engine.startMembers)
        let served = members.accepted &+ members.gone &+ members.failed
        let started = starts.accepted &+ starts.gone &+ starts.failed &+ starts.unknown
        self.drain.add(
            waiting: self.engine.membersDue, served: served &+ started, nowMillis: nowMillis)
        for route in self.routes.indices {
            self.routes[route].counters = transport.counters(route: UInt16(route))
            self.routes[route].status = transport.status(route: UInt16(route))
        }
        self.partitions = loop.partitionReports.map { WorkerSnapshot.Partition($0, shard: shard) }
        self.kafka.outbox = loop.outboxCounters
        self.kafka.restoredRecords = loop.restoredRecordCount
        self.watermarks = loop.watermarks
        self.isHeldUp = loop.isHeldUp
        self.errors = loop.errors
        self.refusedTopics = loop.refusedTopics
        self.apps = self.statuses(of: loop.engine.configuration.apps, heldBack: loop.engine.appsHeldBack.map(\.app))
        self.degraded = loop.degraded(nowMillis: nowMillis)
    }
}

extension ShardReport {
    private func statuses(of apps: [AppConfiguration], heldBack: [UInt16]) -> [AppStatus] {
        apps.indices.map { app in
            let routes = [apps[app].productionRoute, apps[app].developmentRoute].compactMap { $0 }.map { Int($0) }
            return AppStatus(
                bundleID: apps[app].bundleID,
                routes: routes.filter(self.routes.indices.contains).map { self.routes[$0].name },
                isRefused: heldBack.contains(UInt16(app)))
        }
    }
}

extension WorkerSnapshot.Partition {
    init(_ report: PartitionReport, shard: Int) {
        self.init(
            number: report.number, shard: shard, phase: WorkerSnapshot.PartitionPhase(report.life),
            restoredRecords: report.restoredRecords, restoreRecordsMax: report.restoreRecordsMax,
            reason: report.haltReason)
    }
}

extension WorkerSnapshot.PartitionPhase {
    init(_ life: PartitionLife) {
        self =
            switch life {
            case .claiming: .claiming
            case .restoring: .restoring
            case .running: .running
            case .inlet: .inlet
            case .halted, .haltedUnrestored: .halted
            case .quieting, .writing, .left: .releasing
            }
    }
}

extension EngineCounters {
    /// Number of members that wait for a version or a start. Members of paused audiences do not count.
    var membersDue: Int {
        max(0, Int(clamping: self.members.waiting &+ self.startMembers.waiting) - self.membersPaused)
    }
}

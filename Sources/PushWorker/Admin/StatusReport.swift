import PushEngine
import PushTransport

/// The content of `/status`, as JSON. Pure.
struct StatusReport: Encodable, Equatable {
    struct Configuration: Encodable, Equatable {
        var hash: String
        /// Whether all shards took the last configuration that was given.
        var isLastTaken: Bool
        var takenAtSeconds: Int64
        var awaitingRestart: [String]
    }
    struct Shard: Encodable, Equatable {
        var number: Int
        var partitions: Int
        /// Milliseconds since the shard's loop last took a turn, as far as is known.
        var silenceMillis: Int64
    }
    struct Partition: Encodable, Equatable {
        var number: Int32
        var shard: Int
        var phase: String
        var restoredRecords: Int64
        /// Maximum number of records to restore. Compaction may have removed some of them.
        var restoreRecordsMax: Int64
        /// Number of unresolved records of the partition in all input topics, `routed` included; `nil`: not known yet.
        var lagRecords: Int64?
        /// Why the partition is halted or waits; `nil` when it does neither.
        var reason: String?
    }
    struct Route: Encodable, Equatable {
        var name: String
        var shard: Int
        /// The host and port of the push service, `host:port`.
        var peer: String
        var connectionsOpen: Int
        var connectionsConnecting: Int
        var connectionsDraining: Int
        var inFlight: Int
        /// A description of what is wrong with the route; `nil` when no fault is known.
        var trouble: String?
    }
    struct Work: Encodable, Equatable {
        var activities: Int
        var eventsPending: UInt64
        var inFlight: Int
        var members: Int
        var membersWaiting: Int
        /// How long it takes to send what members are owed, at the recent pace, seconds.
        var fanoutDrainSeconds: Double
    }

    var version = MailboatVersion.current
    var uptimeSeconds: Int64
    var isReady: Bool
    var isDraining: Bool
    var errors: [String]
    var degraded: [String]
    var configuration: Configuration
    var partitionCount: Int32?
    var work: Work
    var shards: [Shard]
    var partitions: [Partition]
    var routes: [Route]

    /// - Parameters:
    ///   - partitionCount: number of partitions that `state` was written for; `nil`: not known yet.
    ///   - lags: the lag of each topic and partition.
    init(
        _ snapshot: WorkerSnapshot, uptimeSeconds: Int64, partitionCount: Int32?, lags: [WorkerMetrics.Lag],
        silencesMillis: [Int64]
    ) {
        let readiness = Readiness(snapshot)
        self.uptimeSeconds = uptimeSeconds
        self.isReady = readiness.ready
        self.isDraining = readiness.draining
        self.errors = readiness.errors
        self.degraded = readiness.degraded
        let status = snapshot.configuration
        self.configuration = Configuration(
            hash: status.hash, isLastTaken: status.isLastTaken, takenAtSeconds: status.takenAtSeconds,
            awaitingRestart: status.awaitingRestart)
        self.partitionCount = partitionCount
        self.work = Work(
            activities: snapshot.engine.slots, eventsPending: snapshot.engine.pending,
            inFlight: snapshot.engine.inFlight, members: snapshot.engine.membersHeld,
            membersWaiting: snapshot.engine.membersDue, fanoutDrainSeconds: snapshot.fanoutDrainSeconds)
        self.shards = silencesMillis.enumerated().map { number, silence in
            Shard(
                number: number, partitions: snapshot.partitions.count { $0.shard == number }, silenceMillis: silence)
        }
        self.partitions = snapshot.partitions.map { partition in
            let own = lags.filter { $0.partition == partition.number }
            return Partition(
                number: partition.number, shard: partition.shard, phase: partition.phase.rawValue,
                restoredRecords: partition.restoredRecords, restoreRecordsMax: partition.restoreRecordsMax,
                lagRecords: own.isEmpty ? nil : own.reduce(0) { $0 + $1.records },
                reason: partition.reason.isEmpty ? nil : partition.reason)
        }
        self.routes = snapshot.routes.map { route in
            Route(
                name: route.name, shard: route.shard, peer: "\(route.status.host):\(route.status.port)",
                connectionsOpen: route.counters.connectionsOpen,
                connectionsConnecting: route.counters.connectionsConnecting,
                connectionsDraining: route.counters.connectionsDraining, inFlight: route.counters.streamsInFlight,
                trouble: route.status.trouble.map { "\($0)" })
        }
    }
}

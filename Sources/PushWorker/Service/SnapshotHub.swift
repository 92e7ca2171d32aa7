import KafkaLog
import PushEngine
import PushTransport
import Synchronization

/// Collects the reports of shards and group, and gives them to all readers. Each shard reports at most every 50 ms. May
/// be used from any thread.
final class SnapshotHub: Sendable {
    private struct State {
        var shards: [ShardReport]
        var group = GroupReport()
        var configuration = ConfigurationStatus()
        var waiters: [UInt64: Waiter] = [:]
        var lastWaiter: UInt64 = 0
        var end: WorkerError?
    }

    private struct Waiter {
        var condition: @Sendable (WorkerSnapshot) -> Bool
        var continuation: CheckedContinuation<WorkerSnapshot, any Error>
    }

    private let state: Mutex<State>

    init(shardCount: Int) { self.state = Mutex(State(shards: Array(repeating: ShardReport(), count: shardCount))) }

    func publish(_ report: ShardReport, shard: Int) { self.change { $0.shards[shard] = report } }

    func updateGroup(_ change: (inout GroupReport) -> Void) { self.change { change(&$0.group) } }

    func updateConfiguration(_ change: (inout ConfigurationStatus) -> Void) {
        self.change { change(&$0.configuration) }
    }

    /// Remembers that the worker has ended, and why. Everyone who waits gets the reason.
    func end(_ error: WorkerError) { self.change { $0.end = error } }

    var snapshot: WorkerSnapshot { self.state.withLock { Self.sum($0) } }
    var group: GroupReport { self.state.withLock { $0.group } }
    /// Watermarks of all shards.
    var watermarks: [CommitPosition] { self.state.withLock { $0.shards.flatMap(\.watermarks) } }

    /// The progress of each input topic's partition, measured against these log ends, and of each restore, measured
    /// against its number of records.
    func readings(inputTopics: [String], logEnds: [CommitPosition]) -> [PartitionProgress.Reading] {
        let ends = LogEnds(logEnds)
        return self.state.withLock { state in
            state.shards.flatMap { shard in
                let reading = shard.watermarks.compactMap { watermark -> PartitionProgress.Reading? in
                    guard let end = ends.nextOffset(of: watermark) else { return nil }
                    return PartitionProgress.Reading(
                        subject: .init(topic: inputTopics[Int(watermark.topic)], partition: watermark.partition),
                        position: watermark.nextOffset, leftCount: max(0, end - watermark.nextOffset),
                        isExcused: shard.isHeldUp)
                }
                let restoring = shard.partitions.filter { $0.phase == .claiming || $0.phase == .restoring }.map {
                    PartitionProgress.Reading(
                        subject: .init(topic: nil, partition: $0.number), position: $0.restoredRecords,
                        leftCount: max(1, $0.restoreRecordsMax - $0.restoredRecords), isExcused: shard.isHeldUp)
                }
                return reading + restoring
            }
        }
    }

    /// The lag of each log: from the watermark to the log's end when Kafka was last asked for it.
    func lags(inputTopics: [String]) -> [WorkerMetrics.Lag] {
        let (watermarks, logEnds) = self.state.withLock { ($0.shards.flatMap(\.watermarks), $0.group.logEnds) }
        let ends = LogEnds(logEnds)
        return watermarks.compactMap { watermark in
            guard let end = ends.nextOffset(of: watermark) else { return nil }
            return WorkerMetrics.Lag(
                topic: inputTopics[Int(watermark.topic)], partition: watermark.partition,
                records: max(0, end - watermark.nextOffset))
        }
    }

    private func change(_ change: (inout State) -> Void) {
        var ready: [(Waiter, Result<WorkerSnapshot, any Error>)] = []
        self.state.withLock { state in
            change(&state)
            guard !state.waiters.isEmpty else { return }
            let snapshot = Self.sum(state)
            for (id, waiter) in state.waiters {
                if waiter.condition(snapshot) {
                    ready.append((waiter, .success(snapshot)))
                } else if let end = state.end {
                    ready.append((waiter, .failure(end)))
                } else {
                    continue
                }
                state.waiters[id] = nil
            }
        }
        for (waiter, result) in ready { waiter.continuation.resume(with: result) }
    }

    func wait(until condition: @escaping @Sendable (WorkerSnapshot) -> Bool) async throws -> WorkerSnapshot {
        let id = self.state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result: Result<WorkerSnapshot, any Error>? = self.state.withLock { state in
                    let snapshot = Self.sum(state)
                    if condition(snapshot) { return .success(snapshot) }
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if let end = state.end { return .failure(end) }
                    state.waiters[id] = Waiter(condition: condition, continuation: continuation)
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            let waiter = self.state.withLock { $0.waiters.removeValue(forKey: id) }
            waiter?.continuation.resume(throwing: CancellationError())
        }
    }

    /// The texts without repetitions. Shards report the same text about a thing that they share.
    private static func eachOnce(_ texts: [String]) -> [String] {
        var seen: Set<String> = []
        return texts.filter { seen.insert($0).inserted }
    }

    /// Whether at least one app is well on all shards. APNs accepts such an app's topic, each route of its pushes has
    /// been reached, and none of these routes has a known fault.
    private static func isAnAppWell(_ shards: [ShardReport], routes: [WorkerSnapshot.Route]) -> Bool {
        let apps = shards.flatMap(\.apps)
        let refused = Set(apps.filter(\.isRefused).map(\.bundleID))
        return apps.contains { app in
            guard !refused.contains(app.bundleID), !app.routes.isEmpty else { return false }
            return app.routes.allSatisfy { name in
                let statuses = routes.filter { $0.name == name }.map(\.status)
                return statuses.allSatisfy { $0.trouble == nil } && statuses.contains(where: \.wasReached)
            }
        }
    }

    private static func sum(_ state: State) -> WorkerSnapshot {
        var snapshot = WorkerSnapshot()
        snapshot.shardCount = state.shards.count
        snapshot.configuration = state.configuration
        for shard in state.shards {
            snapshot.engine.add(shard.engine)
            if shard.bundleIDs.count > snapshot.bundleIDs.count { snapshot.bundleIDs = shard.bundleIDs }
            snapshot.routes += shard.routes
            snapshot.partitions += shard.partitions
            snapshot.channelListings += shard.channelListings
            snapshot.recordToAccepted.add(shard.recordToAccepted)
            snapshot.takenToAccepted.add(shard.takenToAccepted)
            snapshot.memberFreshness.add(shard.memberFreshness)
            snapshot.fanoutDrainSeconds = max(snapshot.fanoutDrainSeconds, shard.drain.seconds)
            snapshot.kafka.add(shard.kafka)
            snapshot.tracing.add(shard.tracing)
            snapshot.errors += shard.errors
            snapshot.degraded += shard.degraded
        }
        snapshot.partitions += state.group.waiting.map { number, reason in
            WorkerSnapshot.Partition(
                number: number, shard: AssignmentPlan.shard(of: number, shardCount: state.shards.count),
                phase: .waiting, restoredRecords: 0, restoreRecordsMax: 0, reason: reason)
        }
        snapshot.partitions.sort { $0.number < $1.number }
        snapshot.hasJoinedGroup = state.group.hasJoined
        snapshot.awaitedPartitionCount = state.group.given.subtracting(snapshot.partitions.map(\.number)).count
        snapshot.isDraining = state.group.isDraining
        snapshot.errors += state.group.errors.values.sorted()
        if let end = state.end { snapshot.errors.append(end.description) }
        // The fault of one app must not stop a rollout for all apps.
        let isAnAppWell = Self.isAnAppWell(state.shards, routes: snapshot.routes)
        let refusedTopics = state.shards.flatMap(\.refusedTopics)
        if isAnAppWell { snapshot.degraded += refusedTopics } else { snapshot.errors += refusedTopics }
        for complaint in RouteComplaint.about(snapshot.routes) {
            if complaint.isError, !(complaint.isOfApps && isAnAppWell) {
                snapshot.errors.append(complaint.text)
            } else {
                snapshot.degraded.append(complaint.text)
            }
        }
        // No other worker can ask Kafka about the partition either, so this one stays ready.
        for partition in snapshot.partitions where partition.phase == .waiting {
            snapshot.degraded.append("partition \(partition.number) waits: \(partition.reason)")
        }
        let inlets = snapshot.partitions.filter { $0.phase == .inlet }.map { "\($0.number)" }
        if !inlets.isEmpty {
            snapshot.degraded.append(
                "an input topic has got more partitions than state was written for: records of partition \(inlets.joined(separator: ", ")) are forwarded, after those of the other partitions; \(CoPartitionCount.remedy)"
            )
        }
        if let strangers = state.group.strangers { snapshot.degraded.append(strangers) }
        if let warning = state.group.loginWarning { snapshot.degraded.append(warning) }
        snapshot.errors = Self.eachOnce(snapshot.errors)
        snapshot.degraded = Self.eachOnce(snapshot.degraded + state.group.keyComplaints)
        if let complaint = state.group.outflowComplaint {
            snapshot.nothingLeaves = true
            snapshot.degraded.append(complaint)
        }
        snapshot.kafka.rebalances = state.group.rebalances
        snapshot.kafka.commits = state.group.commits
        snapshot.kafka.commitsFailed = state.group.commitsFailed
        return snapshot
    }
}

/// Log ends by index. With a search for each watermark, a scrape would take time proportional to the square of the
/// number of partitions.
private struct LogEnds {
    /// Offsets by topic and partition; -1: not known.
    private var offsets: [[Int64]] = []

    init(_ positions: [CommitPosition]) {
        for position in positions where position.partition >= 0 {
            let (topic, partition) = (Int(position.topic), Int(position.partition))
            while self.offsets.count <= topic { self.offsets.append([]) }
            let missing = partition + 1 - self.offsets[topic].count
            if missing > 0 { self.offsets[topic].append(contentsOf: repeatElement(-1, count: missing)) }
            if self.offsets[topic][partition] < 0 { self.offsets[topic][partition] = position.nextOffset }
        }
    }

    /// The end of the log that a watermark belongs to; `nil`: not known.
    func nextOffset(of watermark: CommitPosition) -> Int64? {
        let (topic, partition) = (Int(watermark.topic), Int(watermark.partition))
        guard topic < self.offsets.count, self.offsets[topic].indices.contains(partition),
            self.offsets[topic][partition] >= 0
        else { return nil }
        return self.offsets[topic][partition]
    }
}

/// The worker's state as a member of its group.
struct GroupReport: Sendable {
    var hasJoined = false
    /// Partitions the group has given this worker.
    var given: Set<Int32> = []
    /// Partitions that have not begun, each with the reason.
    var waiting: [Int32: String] = [:]
    var isDraining = false
    var rebalances: UInt64 = 0
    var commits: UInt64 = 0
    var commitsFailed: UInt64 = 0
    /// Errors by subject, so that an error can be removed when its subject is well again.
    var errors: [String: String] = [:]
    /// A doubt whether Kafka can be reached. It begins when a connection to Kafka ends. Kafka is then asked at once. If
    /// Kafka does not answer for a while, the doubt becomes an error (`LagWatch`).
    var kafkaDoubt: (text: String, sinceMillis: Int64)?
    /// A warning about a token for Kafka that cannot be renewed.
    var loginWarning: String?
    /// Complaints about provider keys that another key replaces for now.
    var keyComplaints: [String] = []
    /// A complaint that events arrive and no push leaves (`OutflowWatch`).
    var outflowComplaint: String?
    /// A complaint about members that are not workers (`GroupWatch`).
    var strangers: String?
    /// Partitions that made no progress at the last look.
    var stalls: [PartitionProgress.Stall] = []
    /// The time of the last look, on the steady clock; `nil`: none yet.
    var lookedAtMillis: Int64?
    /// Log ends at the last question, by input topic index and partition.
    var logEnds: [CommitPosition] = []
}

import APNSProtocol
import KafkaLog
import Logging
import NIOCore
import PushEngine
import PushModel
import PushTransport
import Synchronization

/// Runs one shard: owns its engine, its way to APNs, its producer and the queues of its partitions; carries out what
/// the engine decides. No policy of its own. Confined to one event loop: made, called and closed there.
///
/// Work is done in turns of bounded size. Between turns the loop serves sockets; what comes from other threads only
/// asks for a turn.
final class ShardRunner {
    let number: Int
    let eventLoop: any EventLoop
    let logger: Logger
    let shared: ShardShared
    var engine: ShardEngine
    var outbox: Outbox
    let transport: ShardTransport
    var waker: ShardWaker?
    var partitions: [OwnedPartition] = []
    var releases: [Release] = []
    var repairs: [Repair] = []
    /// Taken from the engine, not handed to the committer yet.
    var commits: [CommitPosition] = []
    var report = ShardReport()
    /// Nothing more is taken in: the worker stops.
    var isDraining = false
    var isClosed = false

    private let inputTopics: [String]
    private let routeCount: UInt16
    private var firstPartition = 0
    /// Empty between two turns.
    private var inputBatch = InputBatch()
    private var firstRoute: UInt16 = 0
    /// There is more to do than this turn did.
    var hasMore = false
    private var isInTurn = false
    private var lastTurnMicros = Int64.min / 2
    /// A turn that Kafka has asked for waits for its time.
    private var isWakeUpDue = false
    /// The loop has a turn among its tasks that goes on where the last one stopped: never two.
    private var isContinuing = false
    private var holdsLease = true
    private var timer: Scheduled<Void>?
    private var timerMillis = Int64.max
    private var commitDueMillis: Int64?
    private var publishDueMillis: Int64?
    private var hasChanged = true
    /// When the next line about restores is due; `nil`: nothing is being restored.
    var restoreTellDueMillis: Int64?

    /// Bounds of one turn; together a few milliseconds of work. What is read is pushed before more is read, and answers come in between: with
    /// 2,048 records and 4,096 deliveries, and records handed over however many, the 99th percentile was twice as long at 95,000 updates a
    /// second of one core.
    static let recordsPerQueueMax = 256
    static let recordsPerTurnMax = 512
    static let restoresPerTurnMax = 2_048
    static let deliveriesPerTurnMax = 1_024
    static let pushesPerTurnMax = 2_048
    /// The least time between a turn and the next that Kafka asks for. Its threads hand over partition by partition, and each would be
    /// interrupted by a turn for what it has handed over so far: at 2,000 pushes a second that was a third of what one cost.
    static let wakeUpDistanceMicros: Int64 = 1_000
    /// The least time between two reports.
    static let publishMillis: Int64 = 50
    /// How often a restore that takes long says how far it is.
    static let restoreTellMillis: Int64 = 5_000
    /// How often a shard looks whether the group has confirmed its partitions.
    static let leaseLookMillis: Int64 = 10

    init(
        number: Int, eventLoop: any EventLoop, plan: WorkerPlan, partitionCount: Int32, shared: ShardShared,
        producer: KafkaProducer,
        providerTokens: ProviderTokenStore, randomSeed: UInt64
    ) throws {
        self.number = number
        self.eventLoop = eventLoop
        var logger = shared.logger
        logger[metadataKey: "shard"] = "\(number)"
        self.logger = logger
        self.shared = shared
        self.inputTopics = plan.inputTopics
        self.routeCount = UInt16(plan.routes.count)
        self.engine = ShardEngine(
            configuration: plan.engineConfiguration(partitionCount: partitionCount, clusterID: shared.clusterID),
            randomSeed: randomSeed)
        self.outbox = try Outbox(
            producer: producer, topics: shared.configuration.topics,
            pace: OutboxPace(
                holdMillis: shared.configuration.stateFlushMillis,
                unacknowledgedMax: shared.configuration.limits.unacknowledged))
        self.transport = try ShardTransport(
            eventLoop: eventLoop,
            routes: plan.routes(shard: number, of: shared.configuration.resolvedShardCount), bundleIDs: plan.bundleIDs,
            providerTokens: providerTokens,
            randomSeed: ~randomSeed,
            logger: logger)
        self.report.routes = plan.routes.map {
            WorkerSnapshot.Route(name: $0.name, shard: number, counters: RouteCounters())
        }
    }

    /// Begins to turn. The transport's callbacks hold the runner until `close`.
    func start(waker: ShardWaker) {
        self.waker = waker
        self.transport.onAnswers = { answers in self.answered(answers) }
        self.transport.onCredit = { self.turn() }
        self.transport.onNews = { self.transportChanged() }
        self.transport.start()
        self.turn()
    }

    // MARK: Turns

    /// Something waits with Kafka. What comes within a moment is taken together; after a pause it is taken at once.
    func wokenUp() {
        guard !self.isWakeUpDue else { return }
        let waitMicros = self.lastTurnMicros + Self.wakeUpDistanceMicros - ShardClock.steadyMicros()
        guard waitMicros > 0 else { return self.turn() }
        self.isWakeUpDue = true
        self.eventLoop.assumeIsolated().scheduleTask(in: .microseconds(waitMicros)) {
            self.isWakeUpDue = false
            self.turn()
        }
    }

    func turn() {
        guard !self.isClosed, !self.isInTurn else { return }
        self.isInTurn = true
        self.waker?.reset()
        self.hasMore = false
        let now = ShardClock.now()
        self.drainDeliveries(now)
        self.restore(now)
        self.tellRestores(now)
        if self.mayAct(now) {
            self.outbox.advance(nowMillis: now.steadyMillis)
            self.repairState(now)
            self.readRecords(now)
            if let due = self.engine.nextDeadlineMillis, due <= now.steadyMillis { self.engine.advance(now: now) }
            self.push(now)
        }
        self.transport.flushAll()
        self.finishTurn(now)
        self.lastTurnMicros = ShardClock.steadyMicros()
        self.isInTurn = false
    }

    /// The transport's turn: answers are taken in, and what they made room for leaves at once. It flushes by itself.
    private func answered(_ answers: [PushAnswer]) {
        let now = ShardClock.now()
        self.engine.answered(answers, now: now)
        self.hasChanged = true
        guard !self.isInTurn, !self.isClosed else { return }
        self.isInTurn = true
        if self.mayAct(now) { self.push(now) }
        self.finishTurn(now)
        self.isInTurn = false
    }

    private func finishTurn(_ now: EngineTime) {
        self.takeRecords(now)
        self.claimPartitions(now)
        self.advanceReleases(now)
        self.takeRecords(now)
        self.handOverCommits(now)
        self.checkFatal()
        self.takeSamples(now)
        self.publishIfDue(now)
        if self.hasMore {
            self.continueSoon()
        } else {
            self.armTimer(now)
        }
    }

    /// What this turn had no room for is the next one's; sockets come in between. Not by the waker: its lock may be in the hand of a thread
    /// that this loop has interrupted.
    private func continueSoon() {
        guard !self.isContinuing else { return }
        self.isContinuing = true
        self.eventLoop.assumeIsolated().execute {
            self.isContinuing = false
            self.turn()
        }
    }

    // MARK: What Kafka gets, and its answers

    /// Whether the partitions are still this worker's, as far as it can know. Without that it pushes nothing, writes nothing and commits
    /// nothing (contract §6); what it learns meanwhile waits.
    private func mayAct(_ now: EngineTime) -> Bool {
        let isHeld = self.partitions.isEmpty || self.shared.lease.isHeld(nowMillis: now.steadyMillis)
        if isHeld != self.holdsLease {
            self.holdsLease = isHeld
            self.hasChanged = true
        }
        return isHeld
    }

    /// Hands the engine's records on. What somebody waits for does not gather with others.
    func takeRecords(_ now: EngineTime) {
        guard self.mayAct(now) else { return }
        let isUrgent = self.isDraining || !self.releases.isEmpty
        self.outbox.take(from: &self.engine, nowMillis: now.steadyMillis, isUrgent: isUrgent)
        if self.outbox.hasRest { self.hasMore = true }
    }

    private func drainDeliveries(_ now: EngineTime) {
        let count = self.outbox.drain(into: &self.engine, max: Self.deliveriesPerTurnMax, now: now)
        guard count > 0 else { return }
        self.hasChanged = true
        if count >= Self.deliveriesPerTurnMax { self.hasMore = true }
    }

    private func checkFatal() {
        guard let failure = self.outbox.failure, failure.isFatal else { return }
        self.shared.fail("the Kafka producer of shard \(self.number) has ended: \(failure)")
    }

    // MARK: Records

    private func readRecords(_ now: EngineTime) {
        guard !self.isDraining, !self.partitions.isEmpty, !self.outbox.isBlocked else { return }
        // Asked once a turn.
        var room = min(Self.recordsPerTurnMax, self.engine.recordRoom)
        guard room > 0 else { return }
        // Each turn begins with another partition, so that a full turn starves none.
        self.firstPartition = (self.firstPartition + 1) % self.partitions.count
        reading: for step in self.partitions.indices {
            let index = (self.firstPartition + step) % self.partitions.count
            guard self.partitions[index].phase == .running else { continue }
            for topic in self.partitions[index].inputs.indices {
                guard room > 0 else {
                    self.hasMore = true
                    break reading
                }
                guard self.partitions[index].inputs[topic].takeReadable() else { continue }
                room -= self.readQueue(index, topic, max: min(room, Self.recordsPerQueueMax), now)
            }
        }
        self.engine.consume(&self.inputBatch, now: now)
        guard self.engine.hasMisplacements else { return }
        for misplacement in self.engine.takeMisplacements() {
            self.shared.placementWarnings.tell(misplacement, inputTopics: self.inputTopics, logger: self.shared.logger)
        }
    }

    /// What is read last may stay in the batch: many queues with little each are taken together.
    private func readQueue(_ index: Int, _ topic: Int, max: Int, _ now: EngineTime) -> Int {
        let reader = self.partitions[index].inputs[topic].reader
        let isRouted = topic == self.inputTopics.count - 1
        let result = reader.read(max: max) { record in
            self.take(record, topic: UInt16(topic), isRouted: isRouted, now)
        }
        self.partitions[index].inputs[topic].mayHaveMore = result.mayHaveMore
        if result.mayHaveMore { self.hasMore = true }
        if result.recordCount > 0 { self.hasChanged = true }
        if let reason = result.failure?.inputHaltReason {
            // What was read before the failure was read while the partition ran.
            self.engine.consume(&self.inputBatch, now: now)
            self.halt(index, reason)
        } else if let failure = result.failure {
            self.logger.warning("a partition cannot be read for now", metadata: ["cause": "\(failure)"])
        }
        return result.recordCount
    }

    private func take(_ record: borrowing KafkaRecord, topic: UInt16, isRouted: Bool, _ now: EngineTime) {
        var input = InputRecord(
            topic: topic, partition: record.partition, offset: record.offset,
            timestampMillis: Swift.max(0, record.timestampMillis),
            hasKey: record.hasKey, hasValue: record.hasValue, origin: nil)
        if isRouted { RoutedOrigin.read(record, inputTopics: self.inputTopics, into: &input) }
        let (key, value) = (record.key, record.value)
        record.withHeader("traceparent") { traceparent, _ in
            if self.inputBatch.append(input, key: key, value: value, traceparent: traceparent) { return }
            self.engine.consume(&self.inputBatch, now: now)
            if self.inputBatch.append(input, key: key, value: value, traceparent: traceparent) { return }
            // Larger than any event may be.
            self.engine.consume(input, key: key, value: value, traceparent: traceparent, now: now)
        }
    }

    // MARK: Pushes

    private func push(_ now: EngineTime) {
        var room = Self.pushesPerTurnMax
        // Each turn begins with another route, so that a busy one starves none.
        self.firstRoute = self.routeCount == 0 ? 0 : (self.firstRoute + 1) % self.routeCount
        for step in 0..<self.routeCount {
            let route = (self.firstRoute + step) % self.routeCount
            guard self.engine.hasReady(route: route) else { continue }
            while room > 0,
                self.transport.submit(route: route, fill: { self.engine.nextPush(route: route, into: &$0, now: now) })
            {
                room -= 1
                self.hasChanged = true
            }
            guard self.engine.hasReady(route: route) else { continue }
            if room == 0 {
                self.hasMore = true
                return
            }
            self.transport.wantsCredit(route: route)
        }
    }

    // MARK: Commits

    private func handOverCommits(_ now: EngineTime) {
        if self.hasChanged, self.commitDueMillis == nil {
            self.commitDueMillis = now.steadyMillis + self.shared.configuration.commitIntervalMillis
        }
        guard let due = self.commitDueMillis, due <= now.steadyMillis, self.mayAct(now) else { return }
        self.commitDueMillis = nil
        self.takeCommits()
        guard !self.commits.isEmpty else { return }
        self.shared.committer.add(self.commits.map(self.position(of:)))
        self.commits.removeAll(keepingCapacity: true)
    }

    func takeCommits() {
        for commit in self.engine.takeCommits() {
            if let index = self.commits.firstIndex(where: {
                $0.topic == commit.topic && $0.partition == commit.partition
            }) {
                self.commits[index] = commit
            } else {
                self.commits.append(commit)
            }
        }
    }

    func position(of commit: CommitPosition) -> TopicPartitionOffset {
        TopicPartitionOffset(
            topic: self.inputTopics[Int(commit.topic)], partition: commit.partition, offset: commit.nextOffset)
    }

    // MARK: Reports

    func noteChange() { self.hasChanged = true }

    /// Connections come and go without a record or an answer: reports show it all the same.
    private func transportChanged() {
        self.hasChanged = true
        guard !self.isInTurn, !self.isClosed else { return }
        let now = ShardClock.now()
        self.publishIfDue(now)
        self.armTimer(now)
    }

    private func publishIfDue(_ now: EngineTime) {
        if self.hasChanged, self.publishDueMillis == nil {
            self.publishDueMillis = self.lastPublishMillis + Self.publishMillis
        }
        guard let due = self.publishDueMillis, due <= now.steadyMillis else { return }
        self.publish(now)
    }

    /// In the turn of the answers: then is now.
    private func takeSamples(_ now: EngineTime) {
        self.engine.takeAcceptedSamples { sample in
            self.report.recordToAccepted.record(millis: now.wallMillis - sample.recordMillis)
            self.report.takenToAccepted.record(micros: sample.queuedMillis * 1_000 + sample.apnsMicros)
        }
    }

    private var lastPublishMillis: Int64 = 0

    /// Copies the counters out.
    func publish(_ now: EngineTime) {
        self.publishDueMillis = nil
        self.hasChanged = false
        self.lastPublishMillis = now.steadyMillis
        self.report.engine = self.engine.counters
        for route in self.report.routes.indices {
            self.report.routes[route].counters = self.transport.counters(route: UInt16(route))
            self.report.routes[route].standing = self.transport.standing(route: UInt16(route))
        }
        self.report.partitions = self.partitions.map { partition in
            var report = partition.report
            report.shard = self.number
            return report
        }
        let restored = self.report.kafka.restoredRecords
        self.report.kafka = self.outbox.counters
        self.report.kafka.restoredRecords = restored
        self.report.watermarks = self.watermarks()
        self.report.isHeldUp =
            self.isDraining || self.outbox.isBlocked || self.outbox.failure != nil || !self.engine.wantsRecords
        self.report.errors = self.currentErrors()
        self.shared.hub.publish(self.report, shard: self.number)
    }

    private func watermarks() -> [CommitPosition] {
        var positions: [CommitPosition] = []
        for partition in self.partitions where partition.phase == .running {
            for topic in self.inputTopics.indices {
                guard let next = self.engine.watermark(topic: UInt16(topic), partition: partition.number) else {
                    continue
                }
                positions.append(CommitPosition(topic: UInt16(topic), partition: partition.number, nextOffset: next))
            }
        }
        return positions
    }

    private func currentErrors() -> [String] {
        var errors = self.partitions.filter { $0.phase == .halted }.map {
            "partition \($0.number) is halted: \($0.haltReason)"
        }
        if let failure = self.outbox.failure { errors.append("records cannot be written: \(failure)") }
        if !self.holdsLease {
            errors.append(
                "the consumer group has not confirmed lately that this worker's partitions are its own: nothing is sent"
            )
        }
        for held in self.engine.appsHeldBack {
            let bundleID = self.engine.configuration.apps[Int(held.app)].bundleID
            errors.append("APNs refuses the topic of app \(bundleID) in \(held.environment)")
        }
        return errors
    }

    // MARK: Time

    private func armTimer(_ now: EngineTime) {
        var next = Int64.max
        for due in [
            self.engine.nextDeadlineMillis, self.outbox.dueMillis, self.commitDueMillis, self.publishDueMillis,
            self.releaseDueMillis, self.restoreTellDueMillis,
        ] {
            if let due { next = min(next, due) }
        }
        // What is due waits until the group has answered.
        if !self.holdsLease { next = min(now.steadyMillis + Self.leaseLookMillis, self.releaseDueMillis ?? .max) }
        // A timer that fires early only looks again.
        guard next < self.timerMillis else { return }
        self.timer?.cancel()
        self.timerMillis = next
        let delay = Swift.max(1, next - now.steadyMillis)
        self.timer = self.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(delay)) {
            self.timer = nil
            self.timerMillis = .max
            self.turn()
        }
    }

    // MARK: The end

    /// Closes the connections and lets go of everything. Partitions have left by now.
    func close() {
        guard !self.isClosed else { return }
        self.transport.close()
        self.publish(ShardClock.now())
        self.isClosed = true
        self.timer?.cancel()
        for index in self.partitions.indices { self.partitions[index].section?.close() }
        self.forgetRepairs(of: self.partitions.map(\.number))
        self.partitions = []
        self.waker?.end()
        self.waker = nil
    }
}

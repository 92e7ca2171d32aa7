import KafkaLog
import Logging
import PushEngine
import PushModel
import PushTransport
import ShardLoop
import Synchronization

/// Carries out what the consumer group decides: it begins assigned partitions in their shards, and lets revoked ones
/// leave. Handles one event after the other, in the order in which Kafka's control thread reported them.
final class GroupCoordinator: Sendable {
    let configuration: WorkerConfiguration
    /// Number of partitions that `state` was written for, see `CoPartitionCount`. Partitions that were added later are
    /// inlets, or wait.
    private let partitionCount: Int32
    let seat: GroupSeat
    private let shards: [ShardHandle]
    let committer: Committer
    private let logLook: LogLook
    let hub: SnapshotHub
    let logger: Logger
    let kafkaLines: KafkaLines
    let fail: @Sendable (String) -> Void
    private let events: AsyncStream<Incoming>
    let incoming: AsyncStream<Incoming>.Continuation
    /// Partitions that have not begun, with the assignments they belong to.
    private let waiting = Mutex(Waiting())
    /// Whether the worker is stopping. If so, answers from APNs may be awaited longer, and nobody asks about waiting
    /// partitions again.
    let isStopping = Mutex(false)
    let departures = Mutex(Departures())
    /// Whether another process has replaced this worker in the group.
    let isFenced = Mutex(false)

    /// How long a rebalance waits for positions. A partition whose positions are not known by then begins later.
    private static let positionsDurationMax: Duration = .seconds(5)
    private static let commitDurationMax: Duration = .seconds(3)

    init(
        configuration: WorkerConfiguration, partitionCount: Int32, seat: GroupSeat, shards: [ShardHandle],
        committer: Committer, logLook: LogLook, hub: SnapshotHub,
        logger: Logger, kafkaLines: KafkaLines, fail: @escaping @Sendable (String) -> Void
    ) {
        self.configuration = configuration
        self.partitionCount = partitionCount
        self.seat = seat
        self.shards = shards
        self.committer = committer
        self.logLook = logLook
        self.hub = hub
        self.logger = logger
        self.kafkaLines = kafkaLines
        self.fail = fail
        (self.events, self.incoming) = AsyncStream.makeStream()
    }

    /// An event for the coordinator; events are handled one after the other.
    enum Incoming: Sendable {
        case event(ConsumerEvent)
        /// It is time to ask again about waiting partitions.
        case askAgain
        case answered(PositionsResult, asked: [(number: Int32, assignment: Int)])
        /// The process that had replaced this worker has gone.
        case instanceIDIsFree
    }
    typealias PositionsResult = Result<PositionAnswers, KafkaError>

    private struct Waiting {
        var partitions = WaitingPartitions()
        var assignments: [Int: PartitionAssignment] = [:]
        var assignmentCount = 0
        /// The partitions that have begun and were added after `state` was written.
        var inlets: Set<Int32> = []
        /// Whether a task asks about waiting partitions, or is about to.
        var isAsking = false
    }

    /// Joins the group. Events wait until `run` handles them.
    /// - Parameter clusterID: Kafka's identifier of the cluster; empty: not known.
    func start(clusterID: String) throws(KafkaError) {
        try self.start(self.seat.consumer)
        self.logger.info(
            "waiting for partitions from the group",
            metadata: Self.metadata(ofWaitingIn: self.configuration.kafka, clusterID: clusterID))
    }

    /// What the log says while the worker waits for its first partitions. The embedded Kafka takes long after a
    /// restart, which would otherwise look like a fault of the worker.
    static func metadata(ofWaitingIn kafka: WorkerConfiguration.Kafka, clusterID: String) -> Logger.Metadata {
        var metadata: Logger.Metadata = ["group": "\(kafka.groupID)"]
        if EmbeddedKafka.isEmbedded(clusterID: clusterID) {
            let seconds = DurationText.format(millis: max(0, kafka.sessionTimeoutMillis - 1_000))
            metadata["hint"] =
                "this is the embedded Kafka: it gives partitions after 3s to a group's first worker, and after \(seconds) when workers come or go, which a real Kafka does at once; session.timeout.ms of kafka.consumer, less 1s, decides"
        }
        return metadata
    }

    func start(_ consumer: KafkaConsumer) throws(KafkaError) {
        try consumer.start { [incoming] event in incoming.yield(.event(event)) }
    }

    /// Handles events until `finish`.
    func run() async {
        for await item in self.events {
            switch item {
            case .event(let event): await self.handle(event)
            case .askAgain: self.askAboutWaiting()
            case .answered(let result, let asked): await self.answered(result, asked: asked)
            case .instanceIDIsFree: self.sitDown()
            }
        }
    }

    private func handle(_ event: ConsumerEvent) async {
        switch event {
        case .assigned(let assignment): await self.assigned(assignment)
        case .revoked(let revocation): await self.revoked(revocation)
        case .rebalanceOverdue(let partitions, let isAssignment):
            await self.overdue(partitions, isAssignment: isAssignment)
        case .failed(let error): await self.failed(error)
        case .statistics: break
        }
    }

    /// Marks that the worker is stopping. From now on partitions leave for good, and may take the whole drain time.
    func beginStopping() { self.isStopping.withLock { $0 = true } }
    func finish() { self.incoming.finish() }

    /// What a stopped worker has left unfinished; empty when there is nothing. Valid after `run` has returned.
    var stopFaults: [String] { self.departures.withLock(\.faults) }

    /// Remembers unfinished work if the worker is stopping. In a rebalance it is not remembered, because another worker
    /// continues the work.
    private func addDeparture(_ body: (inout Departures) -> Void) {
        guard self.isStopping.withLock({ $0 }) else { return }
        self.departures.withLock { body(&$0) }
    }

    private func shard(of partition: Int32) -> Int {
        AssignmentPlan.shard(of: partition, shardCount: self.shards.count)
    }

    // MARK: Assignment

    private func assigned(_ assignment: PartitionAssignment) async {
        self.departures.withLock { $0.assigned() }
        self.hub.updateGroup { report in
            report.hasJoined = true
            report.given.formUnion(assignment.partitions)
            report.rebalances += 1
        }
        self.logger.info("partitions assigned", metadata: ["partitions": "\(Self.list(assignment.partitions))"])
        guard !assignment.partitions.isEmpty else {
            assignment.complete { _ in nil }
            return
        }
        let number = self.waiting.withLock { waiting in
            waiting.assignmentCount += 1
            waiting.assignments[waiting.assignmentCount] = assignment
            return waiting.assignmentCount
        }
        let (wanted, left) = self.split(assignment.partitions)
        if !left.isEmpty { self.leaveOut(left, of: number) }
        let result = await Self.positions(
            wanted.flatMap(self.topicPartitions), consumer: self.seat.consumer, within: Self.positionsDurationMax)
        await self.begin(wanted, of: number, assignment, result, endsRebalance: true)
    }

    private func isInlet(_ number: Int32) -> Bool { number >= self.partitionCount }

    /// Separates partitions that can begin from those that cannot be read. With `placement: trust`, the worker does not
    /// know where the records of an added partition belong.
    private func split(_ numbers: [Int32]) -> (wanted: [Int32], left: [Int32]) {
        guard self.configuration.engine.placement == .trust else { return (numbers, []) }
        return (numbers.filter { !self.isInlet($0) }, numbers.filter(self.isInlet))
    }

    private func leaveOut(_ numbers: [Int32], of assignmentNumber: Int) {
        let reason =
            "it is beyond the \(self.partitionCount) partitions that \(self.configuration.topics.state) was written for, and with placement: trust it is unknown where its records belong; \(CoPartitionCount.remedy)"
        self.waiting.withLock { waiting in
            for number in numbers {
                _ = waiting.partitions.wait(number, assignment: assignmentNumber, reason: reason, isForGood: true)
            }
        }
        self.logger.error(
            "partitions are not read", metadata: ["partitions": "\(Self.list(numbers))", "cause": "\(reason)"])
        self.waitingChanged()
    }

    /// The partitions with this number, of all topics that are read.
    private func topicPartitions(_ number: Int32) -> [TopicPartition] {
        let topics = self.isInlet(number) ? self.configuration.topics.events : self.seat.configuration.topics
        return topics.map { TopicPartition(topic: $0, partition: number) }
    }

    /// The logs whose positions must be known before the partition with this number begins. For an added partition,
    /// this is only the log of the first input topic, because other topics may not have that partition.
    private func needed(_ number: Int32) -> [TopicPartition] {
        self.isInlet(number) ? [self.topicPartitions(number)[0]] : self.topicPartitions(number)
    }

    private static func positions(
        _ wanted: [TopicPartition], consumer: KafkaConsumer, within limit: Duration
    ) async -> PositionsResult {
        await NamedThread.run("kafka-positions") {
            do throws(KafkaError) {
                return .success(try consumer.positionsOfEach(wanted, within: limit))
            } catch {
                return .failure(error)
            }
        }
    }

    /// Begins the partitions that can begin; the others wait.
    private func begin(
        _ numbers: [Int32], of assignmentNumber: Int, _ assignment: PartitionAssignment, _ result: PositionsResult,
        endsRebalance: Bool
    ) async {
        var answers = PositionAnswers()
        switch result {
        case .success(let found):
            answers = found
            self.hub.updateGroup { $0.errors["positions"] = nil }
        case .failure(let error):
            guard !error.isFatal else { return self.fail("the group's positions cannot be read: \(error)") }
            self.logger.warning(
                "positions cannot be read; asking again", metadata: self.configuration.kafka.metadata(of: error))
            self.hub.updateGroup { $0.errors["positions"] = "the group's positions cannot be read: \(error)" }
        }
        let asked = AskedPartitions(numbers, answers: answers, needed: self.needed)
        let findings = await self.logLook.findings(
            asked.ready.filter { !self.isInlet($0) }, topics: assignment.topics, positions: answers.known,
            startFrom: self.configuration.startFrom)
        let topicCount = assignment.topics.count
        var readers: [Int32: [PartitionReader]] = [:]
        for number in asked.ready {
            readers[number] = assignment.topics.indices.compactMap {
                assignment.reader(topicIndex: $0, partition: number)
            }
        }
        let plan = AssignmentPlan(
            partitions: asked.ready, topics: assignment.topics, positions: answers.known,
            startFrom: self.configuration.startFrom, findings: findings,
            stateTopic: self.configuration.topics.state, shardCount: self.shards.count,
            inlets: Set(asked.ready.filter(self.isInlet)),
            hasQueues: { readers[$0]?.count == topicCount })
        self.committer.metadataStore.own(plan.metadata)
        self.committer.own(asked.ready, starts: plan.toRead, toConfirm: plan.toConfirm)
        if endsRebalance {
            // The call fails if it comes too late. Either the partitions were taken away, which another event reports.
            // Or the consumer has started them itself, which the readers notice.
            guard assignment.complete({ plan.starts[$0].map { .offset($0) } }) else { return }
        } else {
            assignment.begin { plan.starts[$0].map { .offset($0) } }
            if !asked.ready.isEmpty {
                self.logger.notice(
                    "partitions begin after a wait", metadata: ["partitions": "\(Self.list(asked.ready))"])
            }
        }
        self.wait(asked, of: assignmentNumber, isAnswered: (try? result.get()) != nil)
        guard !asked.ready.isEmpty else { return }
        self.committer.add(plan.toCommit)
        // The shards begin when the group has confirmed that this worker is a member.
        self.committer.ask()
        for (shard, grants) in plan.grants {
            self.shards[shard].assign(grants.map { (grant: $0, readers: readers[$0.number] ?? []) })
        }
        let inlets = asked.ready.filter(self.isInlet)
        guard !inlets.isEmpty else { return }
        self.waiting.withLock { $0.inlets.formUnion(inlets) }
        self.logger.warning(
            "an input topic has got more partitions; records of the additional ones are forwarded after those of the others",
            metadata: [
                "partitions": "\(Self.list(inlets))", "count": "\(self.partitionCount)",
                "remedy": "\(CoPartitionCount.remedy)",
            ])
    }

    // MARK: Inlets

    /// This worker's inlets: partitions that were added after `state` was written. It forwards their records.
    var inlets: Set<Int32> { self.waiting.withLock { $0.inlets } }

    /// Lets the shards forward records of inlets, that is, of added partitions, up to these positions. See
    /// `ShardCommand.letIn`.
    func letIn(_ positions: [CommitPosition]) {
        for (number, shard) in self.shards.enumerated() {
            let mine = positions.filter { self.shard(of: $0.partition) == number }
            if !mine.isEmpty { shard.letIn(mine) }
        }
    }

    // MARK: Waiting

    /// Marks partitions as waiting if some of their positions are not known.
    /// - Parameter isAnswered: whether Kafka has answered. If not, one reason applies to all partitions, and it has
    ///   been logged already.
    private func wait(_ asked: AskedPartitions, of assignmentNumber: Int, isAnswered: Bool) {
        let news = self.waiting.withLock { waiting in
            waiting.partitions.remove(asked.ready)
            return asked.unknown.filter {
                waiting.partitions.wait($0.key, assignment: assignmentNumber, reason: $0.value)
            }
        }
        for (number, reason) in news.sorted(by: { $0.key < $1.key }) where isAnswered {
            self.logger.warning(
                "a partition cannot be asked about; it begins when it can be",
                metadata: ["partition": "\(number)", "cause": "\(reason)"])
        }
        self.waitingChanged()
    }

    /// Reports which partitions wait, and schedules the next question about them.
    private func waitingChanged() {
        let (waits, delayMillis) = self.waiting.withLock { waiting -> ([Int32: WaitingPartitions.Wait], Int64?) in
            let used = Set(waiting.partitions.waits.values.map(\.assignment))
            waiting.assignments = waiting.assignments.filter { used.contains($0.key) }
            guard !waiting.isAsking, !waiting.partitions.toAsk.isEmpty else { return (waiting.partitions.waits, nil) }
            waiting.isAsking = true
            return (waiting.partitions.waits, waiting.partitions.nextDelayMillis())
        }
        self.hub.updateGroup { $0.waiting = waits.mapValues(\.reason) }
        guard let delayMillis else { return }
        Task { [incoming] in
            try? await Task.sleep(for: .milliseconds(delayMillis))
            incoming.yield(.askAgain)
        }
    }

    /// Asks about waiting partitions in a task of its own, so that a rebalance does not wait for it.
    private func askAboutWaiting() {
        let asked = self.waiting.withLock { $0.partitions.toAsk }
        guard !asked.isEmpty, !self.isStopping.withLock({ $0 }) else {
            return self.waiting.withLock { $0.isAsking = false }
        }
        let (consumer, incoming, wanted) = (
            self.seat.consumer, self.incoming, asked.map(\.number).flatMap(self.topicPartitions)
        )
        Task {
            let result = await Self.positions(wanted, consumer: consumer, within: Self.positionsDurationMax)
            incoming.yield(.answered(result, asked: asked))
        }
    }

    private func answered(_ result: PositionsResult, asked: [(number: Int32, assignment: Int)]) async {
        let current = self.waiting.withLock { waiting in
            waiting.isAsking = false
            return asked.filter { waiting.partitions.waits[$0.number]?.assignment == $0.assignment }
                .compactMap { asked in waiting.assignments[asked.assignment].map { (asked, $0) } }
        }
        for number in Set(current.map(\.0.assignment)).sorted() {
            let mine = current.filter { $0.0.assignment == number }
            guard let assignment = mine.first?.1 else { continue }
            await self.begin(mine.map(\.0.number), of: number, assignment, result, endsRebalance: false)
        }
        self.waitingChanged()
    }

    // MARK: Leaving

    private func revoked(_ revocation: PartitionRevocation) async {
        self.hub.updateGroup { $0.rebalances += 1 }
        self.logger.info(
            revocation.isLost ? "partitions lost" : "partitions revoked",
            metadata: ["partitions": "\(Self.list(revocation.partitions))"])
        if revocation.isLost {
            self.departures.withLock { $0.lost(revocation.partitions) }
        } else {
            await self.release(revocation)
        }
        _ = self.committer.take(revocation.partitions)
        self.committer.metadataStore.forget(revocation.partitions)
        await self.forget(revocation.partitions)
        if !revocation.complete() {
            self.addDeparture { $0.left(unfinished: revocation.partitions) }
            self.logger.warning(
                "partitions were given up late", metadata: ["partitions": "\(Self.list(revocation.partitions))"])
        }
    }

    private func release(_ revocation: PartitionRevocation) async {
        let left = Self.millis(revocation.deadline - .now)
        let isStopping = self.isStopping.withLock { $0 }
        let times = ReleaseTimes(
            leftMillis: left, isStopping: isStopping, quietWaitMillis: self.configuration.quietWaitMillis)
        var positions: [CommitPosition] = []
        var unfinished: [Int32] = []
        await withTaskGroup(of: ReleasedPositions?.self) { group in
            for (number, shard) in self.shards.enumerated() {
                let mine = revocation.partitions.filter { self.shard(of: $0) == number }
                guard !mine.isEmpty else { continue }
                group.addTask { try? await shard.release(mine, times: times) }
            }
            for await released in group {
                positions += released?.positions ?? []
                unfinished += released?.unfinished ?? []
            }
        }
        if !unfinished.isEmpty {
            self.addDeparture { $0.left(unfinished: unfinished) }
            self.logger.warning(
                "partitions left before Kafka had acknowledged everything; the next owner repeats what is not committed",
                metadata: ["partitions": "\(Self.list(unfinished))"])
        }
        let last = CommitGathering.last(waiting: self.committer.take(revocation.partitions), released: positions)
        await self.committer.settle()
        let wanted = self.committer.named(last, releasedWallMillis: MachineClock.now().wallMillis)
        guard !wanted.isEmpty else { return }
        let consumer = self.seat.consumer
        let result = await NamedThread.run("kafka-commit") {
            consumer.commitSync(wanted, within: Self.commitDurationMax)
        }
        self.addDeparture { $0.committed(result) }
        if let refusal = result.refused.first {
            self.logger.warning(
                "the last commit of partitions was refused; the next owner repeats what is not committed",
                metadata: [
                    "partitions": "\(result.refused.count)", "first": "\(refusal.position)",
                    "cause": "\(refusal.error)",
                ])
        }
    }

    func forget(_ partitions: [Int32]) async {
        defer { self.hub.updateGroup { $0.given.subtract(partitions) } }
        self.waiting.withLock {
            $0.partitions.remove(partitions)
            $0.inlets.subtract(partitions)
        }
        self.waitingChanged()
        for (number, shard) in self.shards.enumerated() {
            let mine = partitions.filter { self.shard(of: $0) == number }
            guard !mine.isEmpty else { continue }
            // The call fails only when the loop has ended, and then there is nothing to forget.
            try? await shard.forget(mine)
        }
    }

    private func overdue(_ partitions: [Int32], isAssignment: Bool) async {
        self.logger.error(
            isAssignment ? "an assignment took too long" : "a revocation took too long",
            metadata: ["partitions": "\(Self.list(partitions))"])
        guard !isAssignment else { return }
        _ = self.committer.take(partitions)
        await self.forget(partitions)
    }

    // MARK: Errors

    private func failed(_ error: KafkaError) async {
        if error.code == .fencedInstance, error.isFatal, let id = self.configuration.kafka.groupInstanceID {
            await self.fenced(id, error)
        } else if error.isFatal {
            self.fail("the Kafka consumer has ended: \(error)")
        } else {
            self.kafkaLines.warn("Kafka", error)
            // `LoginWatch` reports when a token is missing, and when there is one again.
            guard !error.isWithoutToken else { return }
            let brokers = error.isOfConnection ? " (\(self.configuration.kafka.shownBrokers))" : ""
            let text = "Kafka\(brokers): \(error)"
            // A broker may close connections at any time, and closes all of them when a token has expired. Clients open
            // them again within a moment.
            let nowMillis = MachineClock.now().steadyMillis
            self.hub.updateGroup { report in
                guard error.isOfConnection else { return report.errors["kafka"] = text }
                report.kafkaDoubt = (text, report.kafkaDoubt?.sinceMillis ?? nowMillis)
            }
        }
    }

    private static func list(_ partitions: [Int32]) -> String { partitions.map { "\($0)" }.joined(separator: ",") }

    private static func millis(_ duration: Duration) -> Int64 {
        duration.components.seconds * 1_000 + duration.components.attoseconds / 1_000_000_000_000_000
    }
}

import APNSProtocol
import KafkaLog
import Logging
import NIOCore
import PushEngine
import PushModel
import PushTransport
import ShardLoop

/// Runs one shard's loop on an event loop: tells it the time, gives it its turns, passes commands in and news out. No policy of its own.
/// Confined to its event loop: made, called and closed there.
///
/// What comes from other threads only asks for a turn; between turns the event loop serves sockets.
final class ShardRunner {
    let number: Int
    let eventLoop: any EventLoop
    let transport: ShardTransport
    let log: KafkaShardLog
    private let logger: Logger
    private let shared: ShardShared
    private let inputTopics: [String]
    private let waker: ShardWaker
    private var loop: ShardLoop
    private var report = ShardReport()
    /// Releases that are under way, by their number.
    private var releases: [Int: EventLoopPromise<ReleasedPositions>] = [:]
    private var releaseCount = 0
    private var isClosed = false
    /// The loop has its turn: what the transport has to say meanwhile, as when a write fails, waits until it is over.
    private var isInTurn = false
    private var answersInTurn: [PushAnswer] = []
    private var hasTransportNews = false
    private var lastTurnMicros = Int64.min / 2
    /// A turn that Kafka has asked for waits for its time.
    private var isWakeUpDue = false
    /// The event loop has a turn among its tasks that goes on where the last one stopped: never two.
    private var isContinuing = false
    private var timer: Scheduled<Void>?
    private var timerMillis = Int64.max
    private var reportDueMillis: Int64?
    private var lastReportMillis: Int64 = 0

    /// The least time between a turn and the next that Kafka asks for. Its threads hand over partition by partition, and each would be
    /// interrupted by a turn for what it has handed over so far: at 2,000 pushes a second that was a third of what one cost.
    static let wakeUpDistanceMicros: Int64 = 1_000
    /// The least time between two reports.
    static let reportDistanceMillis: Int64 = 50

    init(
        number: Int, eventLoop: any EventLoop, plan: WorkerPlan, partitionCount: Int32, shared: ShardShared,
        producer: KafkaProducer, providerTokens: ProviderTokenStore, waker: ShardWaker, randomSeed: UInt64
    ) throws {
        self.number = number
        self.eventLoop = eventLoop
        var logger = shared.logger
        logger[metadataKey: "shard"] = "\(number)"
        self.logger = logger
        self.shared = shared
        self.inputTopics = plan.inputTopics
        self.waker = waker
        self.log = try KafkaShardLog(producer: producer, shared: shared, inputTopics: plan.inputTopics, waker: waker)
        self.transport = try ShardTransport(
            eventLoop: eventLoop,
            routes: plan.routes(shard: number, of: shared.configuration.resolvedShardCount), bundleIDs: plan.bundleIDs,
            providerTokens: providerTokens,
            randomSeed: ~randomSeed,
            logger: logger)
        self.loop = ShardLoop(
            configuration: plan.loopConfiguration(partitionCount: partitionCount, clusterID: shared.clusterID),
            randomSeed: randomSeed, log: self.log, push: TransportPushSide(self.transport))
        self.report.routes = plan.routes.map {
            WorkerSnapshot.Route(name: $0.name, shard: number, counters: RouteCounters())
        }
    }

    /// Begins to turn. The transport's callbacks hold the runner until `close`.
    func start() {
        self.waker.attach { self.wokenUp() }
        self.shared.committer.whenLeaseReturns { [waker = self.waker] in waker.wake() }
        self.transport.onAnswers = { answers in self.answered(answers) }
        self.transport.onCredit = { self.turn() }
        self.transport.onNews = { self.transportChanged() }
        self.transport.start()
        self.turn()
    }

    // MARK: Turns

    /// Something waits with Kafka. What comes within a moment is taken together; after a pause it is taken at once.
    private func wokenUp() {
        guard !self.isWakeUpDue else { return }
        let waitMicros = self.lastTurnMicros + Self.wakeUpDistanceMicros - ShardClock.steadyMicros()
        guard waitMicros > 0 else { return self.turn() }
        self.isWakeUpDue = true
        self.eventLoop.assumeIsolated().scheduleTask(in: .microseconds(waitMicros)) {
            self.isWakeUpDue = false
            self.turn()
        }
    }

    private func turn() {
        guard !self.isClosed, !self.isInTurn else { return }
        self.isInTurn = true
        self.waker.reset()
        let now = ShardClock.now()
        self.loop.turn(now: now)
        if !self.answersInTurn.isEmpty {
            self.loop.answered(self.answersInTurn, now: now)
            self.answersInTurn.removeAll(keepingCapacity: true)
            self.transport.flushAll()
        }
        self.isInTurn = false
        self.finishTurn(now)
        self.lastTurnMicros = ShardClock.steadyMicros()
    }

    /// In the transport's turn, which flushes afterwards.
    private func answered(_ answers: [PushAnswer]) {
        guard !self.isClosed else { return }
        guard !self.isInTurn else { return self.answersInTurn.append(contentsOf: answers) }
        self.isInTurn = true
        let now = ShardClock.now()
        self.loop.answered(answers, now: now)
        self.isInTurn = false
        self.finishTurn(now)
    }

    private func finishTurn(_ now: EngineTime) {
        for news in self.loop.takeNews() { self.tell(news) }
        // In the turn of the answers: then is now.
        self.loop.takeAcceptedSamples { sample in
            self.report.recordToAccepted.record(millis: now.wallMillis - sample.recordMillis)
            self.report.takenToAccepted.record(micros: sample.queuedMillis * 1_000 + sample.apnsMicros)
        }
        self.publishIfDue(now, hasChanged: self.loop.takesChange() || self.hasTransportNews)
        self.hasTransportNews = false
        if self.loop.hasMore { self.continueSoon() } else { self.armTimer(now) }
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

    private func armTimer(_ now: EngineTime) {
        let next = min(self.loop.deadlineMillis ?? .max, self.reportDueMillis ?? .max)
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

    // MARK: Commands and news

    func carryOut(_ command: ShardCommand) {
        guard !self.isClosed else { return }
        self.loop.carryOut(command, now: ShardClock.now())
        self.turn()
        // Nobody shall read of partitions that are another's.
        if case .forget = command { self.publish() }
    }

    func assign(_ grants: [(grant: PartitionGrant, readers: [PartitionReader])]) {
        for (grant, readers) in grants { self.log.own(grant.number, readers) }
        self.carryOut(.assign(grants.map(\.grant)))
    }

    /// See `ShardCommand.release`.
    func release(
        _ partitions: [Int32], times: ReleaseTimes
    ) -> EventLoopFuture<ReleasedPositions> {
        let promise = self.eventLoop.makePromise(of: ReleasedPositions.self)
        self.releaseCount += 1
        self.releases[self.releaseCount] = promise
        self.carryOut(.release(number: self.releaseCount, partitions, times: times))
        return promise.futureResult
    }

    private func tell(_ news: ShardNews) {
        switch news {
        case .released(let number, let commits, let unfinished):
            self.releases.removeValue(forKey: number)?.succeed(
                ReleasedPositions(positions: commits, unfinished: unfinished))
        case .failed(let text): self.shared.fail("shard \(self.number): \(text)")
        case .misplaced(let misplacement):
            self.shared.placementWarnings.tell(
                misplacement, inputTopics: self.inputTopics, logger: self.shared.logger)
        default: ShardLines.write(news, stateTopic: self.shared.configuration.topics.state, to: self.logger)
        }
    }

    // MARK: Reports

    /// Connections come and go without a record or an answer: reports show it all the same.
    private func transportChanged() {
        guard !self.isClosed else { return }
        guard !self.isInTurn else {
            self.hasTransportNews = true
            return
        }
        let now = ShardClock.now()
        self.publishIfDue(now, hasChanged: true)
        self.armTimer(now)
    }

    private func publishIfDue(_ now: EngineTime, hasChanged: Bool) {
        if hasChanged, self.reportDueMillis == nil {
            self.reportDueMillis = self.lastReportMillis + Self.reportDistanceMillis
        }
        guard let due = self.reportDueMillis, due <= now.steadyMillis else { return }
        self.reportDueMillis = nil
        self.lastReportMillis = now.steadyMillis
        self.publish()
    }

    /// Copies the counters out.
    private func publish() {
        self.report.take(from: self.loop, transport: self.transport, shard: self.number)
        self.shared.hub.publish(self.report, shard: self.number)
    }

    // MARK: The end

    /// Closes the connections and lets go of everything. Partitions have left by now.
    func close() {
        guard !self.isClosed else { return }
        self.transport.close()
        self.publish()
        self.isClosed = true
        self.timer?.cancel()
        self.loop.close(now: ShardClock.now())
        for promise in self.releases.values { promise.succeed(ReleasedPositions(positions: [], unfinished: [])) }
        self.releases = [:]
        self.waker.end()
    }
}

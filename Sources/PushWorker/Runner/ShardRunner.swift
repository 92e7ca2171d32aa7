import APNSProtocol
import KafkaLog
import Logging
import NIOCore
import PushEngine
import PushModel
import PushTransport
import ShardLoop

/// Runs one shard's loop on an event loop: passes it the time, gives it its turns, and carries commands in and news
/// out. Has no policy of its own. Confined to its event loop: made, called and closed there.
///
/// Signals from other threads only request a turn; between turns the event loop serves sockets.
final class ShardRunner {
    let number: Int
    let eventLoop: any EventLoop
    let transport: ShardTransport
    let log: KafkaShardLog
    /// Traces of events; `nil`: nothing is traced.
    private let traces: EventTraces?
    private let logger: Logger
    private let shared: ShardShared
    private let inputTopics: [String]
    private let waker: ShardWaker
    private var loop: ShardLoop
    private var report = ShardReport()
    /// A promise for each release that has not ended, by the release's number.
    private var releases: [Int: EventLoopPromise<ReleasedPositions>] = [:]
    /// The partitions of each release.
    private var releasing: [Int: [Int32]] = [:]
    private var releaseCount = 0
    private var refusalLines: RefusalLines
    private var tokenRefusalLines = TokenRefusalLines()
    private var isClosed = false
    private var turns: TurnScheduler?
    private var lastTurnMicros = Int64.min / 2
    private var reportDueMillis: Int64?
    private var lastReportMillis: Int64 = 0

    /// The least time between a turn and the next that Kafka requests. Kafka's threads hand over partition by
    /// partition, and a turn for each part would interrupt them. Such turns made up a third of a push's cost at 2,000
    /// pushes a second.
    static let wakeUpDistanceMicros: Int64 = 1_000
    /// A turn that takes this long is logged. The clock is read when a turn begins, so a push that is submitted late in
    /// a long turn leaves later than its recorded time.
    static let longTurnMillis: Int64 = 250
    /// The least time between two reports.
    static let reportDistanceMillis: Int64 = 50

    init(
        number: Int, eventLoop: any EventLoop, plan: WorkerPlan, partitionCount: Int32, shared: ShardShared,
        makeProducer: @escaping () throws(KafkaError) -> KafkaProducer, providerTokens: ProviderTokenStore,
        waker: ShardWaker, randomSeed: UInt64
    ) throws {
        self.number = number
        self.eventLoop = eventLoop
        var logger = shared.logger
        logger[metadataKey: "shard"] = "\(number)"
        self.logger = logger
        self.refusalLines = RefusalLines(brokers: shared.configuration.kafka.shownBrokers)
        self.shared = shared
        self.inputTopics = plan.inputTopics
        self.waker = waker
        self.traces = shared.tracer.map { tracer in
            EventTraces(tracer: tracer, plan.tracing, randomSeed: randomSeed ^ 0x7261_6365, on: .elsewhere)
        }
        self.log = try KafkaShardLog(
            makeProducer: makeProducer, shared: shared, inputTopics: plan.inputTopics, traces: self.traces,
            waker: waker)
        self.transport = try ShardTransport(
            eventLoop: eventLoop,
            routes: plan.routes(shard: number, of: shared.configuration.resolvedShardCount), bundleIDs: plan.bundleIDs,
            providerTokens: providerTokens,
            randomSeed: ~randomSeed,
            logger: logger)
        self.loop = ShardLoop(
            configuration: plan.loopConfiguration(partitionCount: partitionCount, clusterID: shared.clusterID),
            randomSeed: randomSeed, log: self.log, push: TransportPushSide(self.transport))
        self.loop.tracesPasses = self.traces != nil
        self.report.routes = plan.routes.map {
            WorkerSnapshot.Route(name: $0.name, shard: number, counters: RouteCounters())
        }
    }

    /// Begins to take turns. The sources of turn requests keep the runner alive until `close`.
    func start() {
        let turns = TurnScheduler(eventLoop: self.eventLoop) { self.turn() }
        self.turns = turns
        self.waker.attach { self.wokenUp() }
        self.shared.committer.whenLeaseReturns { [waker = self.waker] in waker.wake() }
        self.transport.onWork = { turns.soon() }
        self.transport.start()
        turns.take()
    }

    // MARK: Turns

    /// Handles a wake-up by Kafka. Records that arrive within a moment are taken together; after a pause they are taken
    /// at once.
    private func wokenUp() {
        let waitMicros = self.lastTurnMicros + Self.wakeUpDistanceMicros - MachineClock.steadyMicros()
        if waitMicros > 0 { self.turns?.within(micros: waitMicros) } else { self.turns?.take() }
    }

    private func turn() {
        guard !self.isClosed else { return }
        self.waker.reset()
        let now = self.transport.beginTurn()
        self.traces?.turnBegan(now: now)
        self.loop.turn(now: now)
        if let traces = self.traces { self.takeTraceNotices(traces, now) }
        for news in self.loop.takeNews() { self.handle(news) }
        if self.loop.takesQuestionForLimits() { self.shared.limits.ask() }
        // Samples are taken in the turn of the answers, so the present time is the time of the answers.
        self.loop.takeAcceptedSamples { sample in
            // `state` may hold impossible record times, because former versions copied them.
            let ageMillis =
                now.wallMillis - RecordTime.believed(millis: sample.recordMillis, nowMillis: now.wallMillis)
            if sample.isMember { return self.report.memberFreshness.record(millis: ageMillis) }
            self.report.recordToAccepted.record(millis: ageMillis)
            self.report.takenToAccepted.record(micros: sample.queuedMillis * 1_000 + sample.apnsMicros)
        }
        // Connections open and close without any record or answer. Reports show these changes, too.
        let hasChanged = self.loop.takesChange()
        self.publishIfDue(now, hasChanged: self.transport.takesNews() || hasChanged)
        self.askForNextTurn(now)
        self.lastTurnMicros = MachineClock.steadyMicros()
        let millis = self.lastTurnMicros / 1_000 - now.steadyMillis
        if millis >= Self.longTurnMillis { self.logLongTurn(millis: millis) }
    }

    private func takeTraceNotices(_ traces: EventTraces, _ now: EngineTime) {
        self.loop.takeTraceNotices { note in
            guard let accepted = traces.take(note) else { return }
            self.report.recordToAccepted.keepExample(
                of: accepted.context, millis: accepted.recordToAcceptedMillis, wallMillis: now.wallMillis)
            self.report.takenToAccepted.keepExample(
                of: accepted.context, micros: accepted.takenToAcceptedMicros, wallMillis: now.wallMillis)
        }
        traces.handOver()
    }

    private func logLongTurn(millis: Int64) {
        self.logger.notice(
            "a turn took long: the machine has too few processors, or a restore is under way",
            metadata: ["ms": "\(millis)", "ended-ms": "\(MachineClock.now().wallMillis)"])
    }

    private func askForNextTurn(_ now: EngineTime) {
        // Work that this turn had no room for is left to the next one, so that sockets are served in between.
        if self.loop.hasMore { self.turns?.afterPause() }
        let dueMillis = min(
            self.loop.deadlineMillis ?? .max, self.transport.deadlineMillis ?? .max, self.reportDueMillis ?? .max)
        self.turns?.at(steadyMillis: dueMillis, now: now.steadyMillis)
    }

    // MARK: Commands and news

    func carryOut(_ command: ShardCommand) {
        guard !self.isClosed else { return }
        self.loop.carryOut(command, now: MachineClock.now())
        self.turns?.take()
        // The report and the traces of partitions that now belong to another worker are dropped at once.
        guard case .forget(let partitions) = command else { return }
        if let traces = self.traces {
            // The notices are taken first, because they say how far the passes had come.
            self.takeTraceNotices(traces, MachineClock.now())
            traces.partitionsLeft(partitions)
        }
        self.publish()
    }

    /// Reads the engine's state without changing it.
    func look<Answer>(_ body: (borrowing ShardEngine, EngineTime) -> Answer) -> Answer {
        body(self.loop.engine, MachineClock.now())
    }

    func reconfigurationFaults(_ configuration: ShardLoopConfiguration) -> [ReconfigurationFault] {
        self.loop.engine.reconfigurationFaults(configuration.engine)
    }

    /// Takes another configuration between two turns. Routes are changed first, because the loop may then name the new
    /// ones.
    func reconfigure(
        _ configuration: ShardLoopConfiguration, routes: [RouteConfiguration], bundleIDs: [String]
    ) throws {
        guard !self.isClosed else { return }
        // Faults are found before anything has changed.
        let faults = self.reconfigurationFaults(configuration)
        guard faults.isEmpty else { throw ReconfigurationRefusal(faults: faults) }
        try self.transport.follow(routes: routes, bundleIDs: bundleIDs)
        try self.loop.reconfigure(configuration, now: MachineClock.now())
        self.traces?.follow(bundleIDs: bundleIDs, routes: routes.map { ($0.host, $0.port) })
        for (index, route) in routes.enumerated() {
            if index < self.report.routes.count {
                self.report.routes[index].name = route.name
            } else {
                self.report.routes.append(
                    WorkerSnapshot.Route(name: route.name, shard: self.number, counters: RouteCounters()))
            }
        }
        self.turns?.take()
    }

    func assign(_ grants: [(grant: PartitionGrant, readers: [PartitionReader])]) {
        for (grant, readers) in grants { self.log.own(grant.number, readers) }
        self.carryOut(.assign(grants.map(\.grant)))
    }

    /// Releases partitions, see `ShardCommand.release`.
    func release(
        _ partitions: [Int32], times: ReleaseTimes
    ) -> EventLoopFuture<ReleasedPositions> {
        let promise = self.eventLoop.makePromise(of: ReleasedPositions.self)
        self.releaseCount += 1
        self.releases[self.releaseCount] = promise
        self.releasing[self.releaseCount] = partitions
        self.carryOut(.release(number: self.releaseCount, partitions, times: times))
        return promise.futureResult
    }

    private func handle(_ news: ShardNews) {
        switch news {
        case .released(let number, let commits, let unfinished):
            if let partitions = self.releasing.removeValue(forKey: number) { self.traces?.partitionsLeft(partitions) }
            self.releases.removeValue(forKey: number)?.succeed(
                ReleasedPositions(positions: commits, unfinished: unfinished))
        case .failed(let text): self.shared.fail("shard \(self.number): \(text)")
        case .misplaced(let misplacement):
            self.shared.placementWarnings.warn(
                misplacement, inputTopics: self.inputTopics, logger: self.shared.logger)
        case .untimed(let record):
            self.shared.recordTimeWarnings.warn(
                record, inputTopics: self.inputTopics, logger: self.shared.logger)
        case .refused(let notice):
            self.refusalLines.write(notice, nowMillis: MachineClock.now().steadyMillis, to: self.logger)
        case .tokenRefused(let notice):
            self.tokenRefusalLines.write(notice, nowMillis: MachineClock.now().steadyMillis, to: self.logger)
        default: ShardLines.write(news, self.shared.configuration, to: self.logger)
        }
    }

    // MARK: Reports

    private func publishIfDue(_ now: EngineTime, hasChanged: Bool) {
        // Waiting members are reported even when nothing changes, so that a stall is seen.
        if hasChanged || self.loop.engine.counters.membersDue > 0, self.reportDueMillis == nil {
            self.reportDueMillis = self.lastReportMillis + Self.reportDistanceMillis
        }
        guard let due = self.reportDueMillis, due <= now.steadyMillis else { return }
        self.reportDueMillis = nil
        self.lastReportMillis = now.steadyMillis
        self.publish()
    }

    /// Publishes a copy of the counters.
    private func publish() {
        self.refusalLines.writeHeldBack(nowMillis: MachineClock.now().steadyMillis, to: self.logger)
        self.tokenRefusalLines.writeHeldBack(nowMillis: MachineClock.now().steadyMillis, to: self.logger)
        self.report.take(
            from: self.loop, transport: self.transport, shard: self.number, nowMillis: MachineClock.now().steadyMillis)
        if let traces = self.traces { self.report.tracing = traces.counters }
        self.shared.hub.publish(self.report, shard: self.number)
    }

    // MARK: The end

    /// Closes the connections and releases everything. All partitions must have left before.
    func close() {
        guard !self.isClosed else { return }
        self.transport.close()
        // This last turn handles the answers to what was still in flight.
        self.turns?.take()
        self.traces?.close()
        self.publish()
        self.isClosed = true
        self.turns?.end()
        self.turns = nil
        self.loop.close(now: MachineClock.now())
        for promise in self.releases.values { promise.succeed(ReleasedPositions(positions: [], unfinished: [])) }
        self.releases = [:]
        self.waker.end()
    }
}

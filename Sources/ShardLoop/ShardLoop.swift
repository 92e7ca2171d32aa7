import APNSProtocol
public import PushEngine
public import PushModel

/// Runs one shard, turn by turn. It connects the engine, which decides about activities, with two ports: Kafka and
/// APNs. The loop decides when something may be done, by each partition's phase and by the lease. It also reads
/// records, writes records, and commits.
///
/// The type is pure: the time and the ports are passed to it, and it has no thread and no clock of its own. The worker
/// runs it on an event loop, the simulation on a virtual clock. Both call `turn` when `hasMore` is true, at
/// `deadlineMillis`, and when a port requests a turn. After a turn they take the news.
///
/// Work is done in turns of bounded size, so that sockets are served in between.
public struct ShardLoop: ~Copyable {
    /// The loop's configuration, with later changes from `reconfigure`.
    public internal(set) var configuration: ShardLoopConfiguration
    /// The engine, for reading. Only the loop changes it.
    public internal(set) var engine: ShardEngine
    let log: any ShardLog
    let push: any PushSide
    var outbox: Outbox
    var partitions: [OwnedPartition] = []
    var releases: [Release] = []
    var repairs: [Repair] = []
    /// Gaps that wait until one of `repairs` ends. A partition has at most one.
    var gaps: [StateGap] = []
    var commits = CommitGathering()
    /// Reports that the worker or the simulation takes after each turn.
    var news: [ShardNews] = []
    /// Whether there was more to do than the last turn could do.
    public internal(set) var hasMore = false
    /// Whether no more records are taken, because the worker stops.
    public internal(set) var isDraining = false
    /// Whether the last turn had the lease; see `mayAct`.
    public private(set) var holdsLease = true
    /// Number of records of `state` that restores have read since the start.
    public internal(set) var restoredRecordCount: UInt64 = 0
    /// Whether something happened that a report shows, or that may allow a commit.
    var hasChanged = true
    /// When the next log line about restores is due; `nil` if nothing is being restored.
    var restoreReportDueMillis: Int64?

    /// Whether some of `partitions` are being restored. If neither this nor `hasReadable` is true, as in most turns, a
    /// turn does not go through the partitions.
    var isRestoring = false
    /// Whether the queue of a running partition may have records.
    var hasReadable = false

    /// Whether something has happened after which the engine may ask for an action.
    var mayHaveActions = false

    /// The records that a turn is reading. Empty between two turns.
    var inputBatch = InputBatch()
    /// The answers of APNs that a turn takes. Empty between two turns, and kept to reuse its memory.
    private var answers: [PushAnswer] = []
    /// The actions that the engine asks for in a turn. Empty between two turns, and kept to reuse its memory.
    var actions: [PartitionAction] = []
    /// Index of the partition that was read first when records were last read. The next reading begins with the
    /// partition after it.
    var firstPartition = 0
    /// The route that the last pushing turn began with. The next one begins with the route after it.
    var firstRoute: UInt16 = 0

    /// Limits of one turn, which together allow a few milliseconds of work. Records that were read are pushed before
    /// more are read, and answers are taken in between. Larger limits were tried: 2,048 records, 4,096 deliveries, and
    /// any number of records handed over. The 99th percentile of the latency was then twice as long, at 95,000 updates
    /// a second on one core.
    static let recordsPerQueueMax = 256
    static let recordsPerTurnMax = 512
    static let restoresPerTurnMax = 2_048
    static let deliveriesPerTurnMax = 1_024
    static let pushesPerTurnMax = 2_048

    /// Makes a shard without partitions.
    /// - Parameters:
    ///   - configuration: the configuration to begin with.
    ///   - randomSeed: seed of all random choices. Equal seeds and equal calls give equal results.
    ///   - log: the shard's way to Kafka.
    ///   - push: the shard's way to APNs.
    public init(configuration: ShardLoopConfiguration, randomSeed: UInt64, log: any ShardLog, push: any PushSide) {
        self.configuration = configuration
        self.engine = ShardEngine(configuration: configuration.engine, randomSeed: randomSeed)
        self.log = log
        self.push = push
        self.outbox = Outbox(
            pace: OutboxPace(
                holdMillis: configuration.settings.recordHoldMillis,
                unacknowledgedMax: configuration.engine.settings.unacknowledgedMax))
    }

    // MARK: Turns

    /// Does everything that is due, up to the limits of a turn.
    public mutating func turn(now: EngineTime) {
        self.hasMore = false
        self.takeAnswers(now)
        self.takeDeliveries(now)
        if self.outbox.renewal.isDue { self.renewProducer(now) }
        if self.mayHaveActions { self.carryOutActions(now) }
        self.restore(now)
        self.reportRestores(now)
        if self.mayAct(now) {
            self.outbox.advance(from: &self.engine, to: self.log, now: now)
            self.repairState(now)
            self.readRecords(now)
            if let due = self.engine.nextDeadlineMillis, due <= now.steadyMillis { self.engine.advance(now: now) }
            self.pushReady(now)
        }
        self.push.flush()
        self.finishTurn(now)
    }

    // This function is separate from `turn`, because inside `turn` its code costs 16 more instructions for each record
    // that is written.
    @inline(never) private mutating func finishTurn(_ now: EngineTime) {
        // Records are handed over before anything else, because they would be lost if the process died now.
        self.takeRecords(now)
        self.advanceReleases(now)
        self.handOverCommits(now)
        if self.outbox.hasNewRecords {
            self.outbox.hasNewRecords = false
            self.hasMore = true
        }
        if self.outbox.refusals.hasNews { self.reportRefusals() }
        if self.outbox.renewal.isDue, !self.outbox.renewal.isGivingBack { self.hasMore = true }
    }

    /// Whether the partitions still belong to this worker, as far as it can know. If not, the loop pushes nothing,
    /// writes nothing and commits nothing (contract: One owner). Records and answers that arrive meanwhile wait.
    mutating func mayAct(_ now: EngineTime) -> Bool {
        let isHeld = self.partitions.isEmpty || now.steadyMillis < self.log.leaseEndsMillis
        if isHeld != self.holdsLease {
            self.holdsLease = isHeld
            self.hasChanged = true
        }
        return isHeld
    }

    /// When the next turn is due even if no port requests one, on the steady clock; `nil` if nothing is due at a known
    /// time.
    public var deadlineMillis: Int64? {
        var next = min(self.releaseDueMillis ?? .max, self.restoreReportDueMillis ?? .max)
        if self.outbox.renewal.isDue { next = min(next, self.renewalDueMillis ?? .max) }
        if self.holdsLease {
            next = min(
                next, self.engine.nextDeadlineMillis ?? .max, self.outbox.dueMillis ?? .max,
                self.commits.dueMillis ?? .max)
            // A turn is due when the lease ends, because reports show whether it is held. When the lease is extended,
            // the log requests a turn.
            if !self.partitions.isEmpty { next = min(next, self.log.leaseEndsMillis) }
        }
        return next == .max ? nil : next
    }

    /// Returns the news since the last call.
    public mutating func takeNews() -> [ShardNews] {
        guard !self.news.isEmpty else { return [] }
        defer { self.news.removeAll() }
        return self.news
    }

    // MARK: Kafka

    private mutating func takeDeliveries(_ now: EngineTime) {
        let count = self.outbox.takeDeliveries(
            from: self.log, into: &self.engine, max: Self.deliveriesPerTurnMax, now: now)
        guard count > 0 else { return }
        self.hasChanged = true
        self.mayHaveActions = true
        if count >= Self.deliveriesPerTurnMax { self.hasMore = true }
    }

    /// Hands the engine's records to the outbox. Records that somebody waits for leave without gathering.
    mutating func takeRecords(_ now: EngineTime) {
        guard self.mayAct(now) else { return }
        let isUrgent = self.isDraining || !self.releases.isEmpty
        self.outbox.take(from: &self.engine, to: self.log, now: now, isUrgent: isUrgent)
        if self.outbox.hasRest { self.hasMore = true }
    }

    private mutating func handOverCommits(_ now: EngineTime) {
        if self.hasChanged {
            self.commits.wait(untilMillis: now.steadyMillis + self.configuration.settings.commitIntervalMillis)
        }
        guard let due = self.commits.dueMillis, due <= now.steadyMillis, self.mayAct(now) else { return }
        self.commits.gather(from: &self.engine, now: now)
        let positions = self.commits.takeAll()
        if !positions.isEmpty { self.log.commit(positions) }
    }

    // MARK: APNs

    private mutating func takeAnswers(_ now: EngineTime) {
        self.push.takeAnswers(into: &self.answers)
        guard !self.answers.isEmpty else { return }
        self.engine.answered(self.answers, now: now)
        self.answers.removeAll(keepingCapacity: true)
        self.hasChanged = true
        self.mayHaveActions = true
    }

    private mutating func pushReady(_ now: EngineTime) {
        if self.engine.hasVersionsReady { self.engine.publishVersions(now: now) }
        let routeCount = self.configuration.routeCount
        guard routeCount > 0 else { return }
        var room = Self.pushesPerTurnMax
        // Each turn begins with another route, so that every route gets its share even if one is busy.
        self.firstRoute = (self.firstRoute + 1) % routeCount
        for step in 0..<routeCount {
            let route = (self.firstRoute + step) % routeCount
            guard self.engine.hasReady(route: route) else { continue }
            let count = self.push.submit(route: route, max: room) {
                self.engine.nextPush(route: route, into: &$0, now: now)
            }
            if count > 0 { self.hasChanged = true }
            room -= count
            guard self.engine.hasReady(route: route) else { continue }
            if room == 0 {
                self.hasMore = true
                return
            }
            self.push.wantsCredit(route: route)
        }
    }

    // MARK: Reports

    /// Whether something that a report shows has changed since the last call.
    public mutating func takesChange() -> Bool {
        defer { self.hasChanged = false }
        return self.hasChanged
    }

    /// See `ShardEngine.tracesPasses`.
    public var tracesPasses: Bool {
        get { self.engine.tracesPasses }
        set { self.engine.tracesPasses = newValue }
    }

    /// See `ShardEngine.takeTraceNotices`.
    public mutating func takeTraceNotices(_ body: (TraceNotice) -> Void) {
        if self.engine.hasTraceNotices { self.engine.takeTraceNotices(body) }
    }

    /// See `ShardEngine.takeAcceptedSamples`.
    public mutating func takeAcceptedSamples(_ body: (AcceptedSample) -> Void) {
        self.engine.takeAcceptedSamples(body)
    }
}

import APNSProtocol
public import PushModel

/// The connections of one route (environment × credential) of one shard: how many there are, which carries the next
/// push, what an answer means for them. Decides; its runner owns the sockets and carries out `actions`.
///
/// Each push that began ends exactly once: by `accepted`, `answered`, `failed`, among `timedOut` or among what
/// `connectionEnded` gives.
public struct ConnectionPool: Sendable {
    /// When the connections were last renewed for an app whose topic they refused.
    struct TopicRefresh: Sendable {
        static let pauseMillisMin: Int64 = 60_000
        static let pauseMillisMax: Int64 = 3_600_000

        /// Connections that began before this moment are no judges of the topic.
        var atMillis: Int64 = .min
        var notBeforeMillis: Int64 = .min
        var pauseMillis = TopicRefresh.pauseMillisMin
    }

    /// A connection's number, and who has it.
    struct Member: Sendable {
        /// The number is taken, by a connection that lives, drains or is being closed.
        let isInUse: Bool
        /// Closed where the number is free, so that whatever is still told about it changes nothing.
        var life: ConnectionLife
        /// What this connection adds to `creditSum`.
        var credit = 0
        var requestsBegan = 0
        var isReady = false
        /// It has been of no use for long, and how.
        var slowness: RouteTrouble?
        /// It has been counted as a failed attempt, however long it lived, or it ends because we want it to: its end
        /// says nothing more about the endpoint.
        var endIsCounted = false
        /// Streams the peer refused since the last answer, and how many it may before the connection is given up.
        var refusedInRow = 0
        var refusedInRowMax = 0
        /// Generation of the provider token it last carried; 0: none yet.
        var tokenGeneration: UInt32 = 0
        /// When it last carried another token than before.
        var tokenChangedMillis: Int64?
        /// Numbers of the last two tokens that the connection has carried; 0: none.
        var tokenNumber: UInt32 = 0
        var tokenNumberBefore: UInt32 = 0

        /// A free number.
        init(configuration: ConnectionPoolConfiguration) {
            self.isInUse = false
            self.life = ConnectionLife(configuration: configuration, now: EngineTime(steadyMillis: 0, wallMillis: 0))
            self.life.ended()
        }

        /// A connection that begins.
        init(configuration: ConnectionPoolConfiguration, beginningAt now: EngineTime) {
            self.isInUse = true
            self.life = ConnectionLife(configuration: configuration, now: now)
        }
    }

    /// Requests given to one connection before the next is chosen: this many fit one TLS record, and a burst still
    /// spreads.
    static let runLength = 32
    /// Without a call of `wanted` for this long, the demand of before is forgotten.
    static let demandMemoryMillis: Int64 = 1_000
    /// Streams refused in a row, on top of those in flight when the row began, after which a connection is given up.
    static let refusedInRowMax = 8
    /// Numbers for connections that drain or are being closed, at least; more when more are used.
    static let drainingMin = 4

    /// What the pool was made with, or told since by `follow`.
    public private(set) var configuration: ConnectionPoolConfiguration
    /// Connections there can be at once: usable ones, and as many (at least four) still draining or closing.
    public let connectionCountMax: Int
    /// To be carried out after each call; `takeActions` hands them over.
    public internal(set) var actions: [PoolAction] = []
    /// Pushes that got no answer in time, filled by `advance`; what became of them is not known.
    public internal(set) var timedOut: [TimedOutPush] = []

    /// Never used: it keeps the pool at one address, as in `ShardEngine`. It was copied whole for each look at its deadline and its credit.
    private let addressOnly: any Sendable = ()
    var members: [Member]
    var streams: StreamTable
    var creditSum = 0
    var window: InFlightWindow
    /// Pushes wait although there are streams: for the window, which only time or answers open.
    var waitsForWindow = false
    var busyGate: RouteGate
    var credentialGate: RouteGate
    var tokenGate: RouteGate
    var random: SplitMix64
    var connectBackoff: JitteredBackoff
    var connectNotBeforeMillis: Int64 = 0
    /// When a failure last made the wait longer. Attempts that began before are of the same round.
    var backoffRaisedMillis: Int64 = .min
    var health = RouteHealth()
    /// What the alarm about the provider token said.
    var tokenAlarm: RouteAlarm?
    var isStarted = false
    var isShutDown = false
    var tokenGeneration: UInt32 = 0
    /// Tokens are numbered as they come; a token that returns has the number it had. The current one, the one before
    /// it, and how many there were.
    var tokenNumber: UInt32 = 0
    var tokenNumberBefore: UInt32 = 0
    var tokenCount: UInt32 = 0
    /// The first generation of the key in use. Nobody has seen APNs take it yet; and if it does not, there is another.
    var keyGeneration: UInt32 = 0
    var isKeyUnproven = false
    var isKeyOnTrial = false

    // Demand: pushes wait although nothing more may begin.
    var hasDemand = false
    var waitingSinceMillis: Int64 = 0
    var lastWantedMillis: Int64 = .min / 2
    var replacementsDue = 0
    /// By app: apps whose topic was refused by a connection that may have begun before the key was told of them.
    var topicRefreshes: [UInt16: TopicRefresh] = [:]

    // The connection that gets the next requests, and how many more.
    private var current = 0
    private var runLeft = 0

    /// A pool without connections; `start` opens the warm ones. `randomSeed` decides all jitter: the same seed and the
    /// same events give the same actions.
    public init(configuration: ConnectionPoolConfiguration, randomSeed: UInt64) {
        self.configuration = configuration
        let connectionsMax = max(1, configuration.connectionsMax)
        self.connectionCountMax = connectionsMax + max(connectionsMax, Self.drainingMin)
        self.members = Array(repeating: Member(configuration: configuration), count: self.connectionCountMax)
        self.streams = StreamTable(
            connectionCount: self.connectionCountMax,
            streamsMax: self.connectionCountMax * max(1, configuration.streamsPerConnectionMax))
        self.window = InFlightWindow(atFirst: configuration.inFlightAtFirst, min: configuration.inFlightMin)
        self.busyGate = RouteGate(
            streakMax: configuration.busyStreakMax, restMillisMin: configuration.backoffMinMillis,
            restMillisMax: configuration.backoffMaxMillis)
        self.credentialGate = RouteGate(
            streakMax: configuration.refusedStreakMax, restMillisMin: configuration.refusedProbeMinMillis,
            restMillisMax: configuration.refusedProbeMaxMillis)
        self.tokenGate = RouteGate(
            streakMax: 1, restMillisMin: configuration.backoffMinMillis,
            restMillisMax: max(configuration.backoffMaxMillis, configuration.tokenProbeMaxMillis))
        self.random = SplitMix64(seed: randomSeed)
        self.connectBackoff = JitteredBackoff(
            millisMin: configuration.backoffMinMillis, millisMax: configuration.backoffMaxMillis)
    }

    /// Takes of another configuration what can change while connections live: how many are kept warm, from now on, and the times of a
    /// connection, for those that begin from now on. The rest stays as it was.
    public mutating func follow(_ new: ConnectionPoolConfiguration) {
        self.configuration.connectionsWarm = min(new.connectionsWarm, self.configuration.connectionsMax)
        self.configuration.connectTimeoutMillis = new.connectTimeoutMillis
        self.configuration.pingAfterSilenceMillis = new.pingAfterSilenceMillis
        self.configuration.pingTimeoutMillis = new.pingTimeoutMillis
        self.configuration.idleCloseMillis = new.idleCloseMillis
    }

    // MARK: Standing

    /// Requests that may begin now.
    public var credit: Int {
        guard !self.isShutDown else { return 0 }
        let inFlight = self.unansweredCount
        let room = self.configuration.limitsInFlight ? max(0, self.window.count - inFlight) : .max
        let credit = self.busyGate.limited(min(self.creditSum, room), inFlight: inFlight)
        return self.tokenGate.limited(self.credentialGate.limited(credit, inFlight: inFlight), inFlight: inFlight)
    }

    /// One answered as timed out counts no more, though its stream lingers.
    var unansweredCount: Int { self.streams.inUse - self.streams.abandonedCount }

    /// Requests not over yet, those answered as timed out included while their stream lives.
    public var inFlight: Int { self.streams.inUse }

    /// `nil`: the number is free.
    public func phase(connection: Int) -> ConnectionLife.Phase? {
        self.members[connection].isInUse ? self.members[connection].life.phase : nil
    }

    /// How many connections are in this phase.
    public func count(_ phase: ConnectionLife.Phase) -> Int {
        self.members.count { $0.isInUse && $0.life.phase == phase }
    }

    /// Whether the route stands still, but for a probe perhaps, because APNs answers with server errors.
    public var isBreakerOpen: Bool { self.busyGate.isHolding }
    /// Whether the route stands still, but for a probe perhaps, because APNs refuses the credentials.
    public var isPausedByCredentials: Bool { self.credentialGate.isHolding }

    /// Moves the actions into `target`, whose memory is used for the next ones.
    public mutating func takeActions(into target: inout [PoolAction]) {
        target.removeAll(keepingCapacity: true)
        swap(&self.actions, &target)
    }

    /// Moves the pushes that timed out into `target`, whose memory is used for the next ones.
    public mutating func takeTimedOut(into target: inout [TimedOutPush]) {
        target.removeAll(keepingCapacity: true)
        swap(&self.timedOut, &target)
    }

    // MARK: Pushes

    /// Chooses a connection for the next request; `nil` without credit. Follow with `began` or `takeBack`.
    public mutating func lease(now: EngineTime) -> StreamLease? {
        guard self.credit > 0 else { return nil }
        if self.runLeft == 0 || self.members[self.current].credit == 0 { self.chooseConnection() }
        guard let tag = self.streams.reserve(connection: self.current) else { return nil }
        self.runLeft -= 1
        self.hasDemand = false
        self.waitsForWindow = false
        self.members[self.current].life.streamBegan(now: now)
        self.members[self.current].requestsBegan += 1
        self.refreshCredit(self.current)
        return StreamLease(connection: self.current, tag: tag)
    }

    /// Nothing was sent for this lease.
    public mutating func takeBack(_ lease: StreamLease) {
        self.streams.release(lease.tag)
        self.members[lease.connection].life.streamTakenBack()
        self.members[lease.connection].requestsBegan -= 1
        self.refreshCredit(lease.connection)
    }

    /// The request of a lease was queued on its connection. `micros`: steady time.
    public mutating func began(
        _ lease: StreamLease, push: PushID, app: UInt16, streamID: Int32, tokenGeneration: UInt32, now: EngineTime,
        micros: Int64
    ) {
        self.streams.began(
            lease.tag, push: push, app: app, streamID: streamID, tokenGeneration: tokenGeneration, micros: micros)
        if self.members[lease.connection].tokenGeneration != tokenGeneration {
            self.tokenChanged(on: lease.connection, generation: tokenGeneration, now: now)
        }
        if self.members[lease.connection].life.requestsLeft == 0 {
            // Stream ids run out: RFC 9113 §5.1.1 demands a new connection.
            self.replacementsDue += 1
            self.retire(lease.connection, now: now)
            self.connectWhatIsDue(now: now)
        }
    }

    /// Least loaded first, but one that waits for its first request comes before all: only a request can open it up.
    private mutating func chooseConnection() {
        var best = -1
        var bestLoad = Int.max
        for offset in 1...self.connectionCountMax {
            let index = (self.current + offset) % self.connectionCountMax
            guard self.members[index].credit > 0 else { continue }
            let load = self.members[index].life.phase == .probing ? -1 : self.members[index].life.inFlight
            if load < bestLoad { (best, bestLoad) = (index, load) }
        }
        if best >= 0 { self.current = best }
        self.runLeft = Self.runLength
    }

    // MARK: Internals

    private mutating func tokenChanged(on connection: Int, generation: UInt32, now: EngineTime) {
        if self.members[connection].tokenGeneration != 0 {
            self.members[connection].tokenChangedMillis = now.steadyMillis
        }
        self.members[connection].tokenGeneration = generation
        if self.members[connection].tokenNumber != self.tokenNumber {
            self.members[connection].tokenNumberBefore = self.members[connection].tokenNumber
            self.members[connection].tokenNumber = self.tokenNumber
        }
    }

    mutating func refreshCredit(_ connection: Int) {
        let credit = self.members[connection].life.credit
        self.creditSum += credit - self.members[connection].credit
        self.members[connection].credit = credit
    }

    /// No new requests on this connection; those in flight finish.
    mutating func retire(_ connection: Int, now: EngineTime, reason: ConnectionCloseReason = .drained) {
        let action = self.members[connection].life.drain(now: now)
        self.refreshCredit(connection)
        switch action {
        case .closeNow: self.actions.append(.close(connection: connection, reason: reason))
        case .waitForStreams, .alreadyDraining, .alreadyClosed: break
        }
    }

    /// Counts a connection as a failed attempt, once: the next one waits. Told before the connection is retired or
    /// closed.
    mutating func countFailure(_ connection: Int, now: EngineTime) {
        let member = self.members[connection]
        guard !member.endIsCounted else { return }
        self.members[connection].endIsCounted = true
        self.backOff(for: member, now: now)
    }

    /// The next attempt waits, and twice as long if this was not of the same round as the failure before: connections
    /// that end together, or hang side by side, are one failure.
    mutating func backOff(for member: Member, now: EngineTime) {
        if member.life.isProven, now.steadyMillis - member.life.beganMillis >= self.configuration.servedMillisMin {
            self.connectBackoff.succeeded()
        } else if member.life.beganMillis <= self.backoffRaisedMillis {
            return
        }
        self.backoffRaisedMillis = now.steadyMillis
        // Attempts are so far apart from beginning to beginning: one that hung for long has waited already.
        let delayMillis = self.connectBackoff.failed(using: &self.random)
        let begunMillis = member.isReady ? now.steadyMillis : member.life.beganMillis
        self.connectNotBeforeMillis = max(
            self.connectNotBeforeMillis, begunMillis + delayMillis,
            now.steadyMillis + self.connectBackoff.millisMin / 2)
    }

    /// Every connection that has carried a request, or may have: credentials tie themselves to a connection with the
    /// first. One still being made has seen nothing yet.
    mutating func retireUsed(now: EngineTime) {
        for connection in self.members.indices where self.members[connection].isReady {
            self.members[connection].endIsCounted = true
            self.retire(connection, now: now)
        }
    }
}

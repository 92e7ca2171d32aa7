import APNSProtocol
public import PushModel

/// The connections of one route (environment × credential) of one shard. The pool decides how many connections there
/// are, which one carries the next push, and what an answer means for them. The pool's runner owns the sockets and
/// carries out `actions`.
///
/// Each push that began ends exactly once: by `accepted`, `answered` or `failed`, in `timedOut`, or in the result of
/// `connectionEnded`.
public struct ConnectionPool: Sendable {
    /// When the connections were last renewed for an app whose topic was refused.
    struct TopicRefresh: Sendable {
        static let pauseMillisMin: Int64 = 60_000
        static let pauseMillisMax: Int64 = 3_600_000

        /// Connections that began before this time may not know the topic, steady milliseconds.
        var atMillis: Int64 = .min
        var notBeforeMillis: Int64 = .min
        var pauseMillis = TopicRefresh.pauseMillisMin
    }

    /// One of the pool's connection numbers, with the connection that has it, if any.
    struct Member: Sendable {
        /// Whether the number is taken, by a connection that lives, drains or is being closed.
        let isInUse: Bool
        /// The connection. While the number is free, its life is closed, so that delayed events change nothing.
        var life: ConnectionLife
        /// This connection's part of `creditSum`.
        var credit = 0
        var requestsBegan = 0
        var isReady = false
        /// The trouble of a connection that has offered no streams for `RouteHealth.slowMillis`; `nil` without trouble.
        var slowness: RouteTrouble?
        /// Whether the connection's end needs no counting: a failure was counted already, or the pool itself ends the
        /// connection.
        var endIsCounted = false
        /// Number of streams the peer refused since the last answer.
        var refusedInRow = 0
        var refusedInRowMax = 0
        /// Generation of the provider token that the connection last carried; 0 before the first.
        var tokenGeneration: UInt32 = 0
        /// When the connection last began to carry another token.
        var tokenChangedMillis: Int64?
        /// Number of the token that the connection last carried; 0 before the first.
        var tokenNumber: UInt32 = 0
        var tokenNumberBefore: UInt32 = 0

        /// Makes the entry of a connection number that is free.
        init(configuration: ConnectionPoolConfiguration) {
            self.isInUse = false
            self.life = ConnectionLife(configuration: configuration, now: EngineTime(steadyMillis: 0, wallMillis: 0))
            self.life.ended()
        }

        /// Makes the entry of a connection that begins.
        init(configuration: ConnectionPoolConfiguration, beginningAt now: EngineTime) {
            self.isInUse = true
            self.life = ConnectionLife(configuration: configuration, now: now)
        }
    }

    /// Number of requests given to one connection before the next is chosen. These requests fit one TLS record, and a
    /// burst is still spread over connections.
    static let runLength = 32
    /// Demand is forgotten this long after the last call of `wanted`, milliseconds.
    static let demandMemoryMillis: Int64 = 1_000
    /// A connection is retired after this number of refused streams in a row. The number in flight when the row began
    /// is added to it.
    static let refusedInRowMax = 8
    /// Least number of connection numbers for connections that drain or are being closed.
    static let drainingMin = 4

    /// The pool's configuration, with later changes from `follow`.
    public private(set) var configuration: ConnectionPoolConfiguration
    /// Maximum number of connections at once: usable ones, and as many again, at least four, that drain or close.
    public let connectionCountMax: Int
    /// The actions to carry out after each call. `takeActions` returns them.
    public internal(set) var actions: [PoolAction] = []
    /// Pushes that got no answer in time, added by `advance`. Their result is not known.
    public internal(set) var timedOut: [TimedOutPush] = []

    /// Never used. It keeps the pool at one address, as in `ShardEngine`: without it the pool was copied at each check
    /// of its deadline and credit.
    private let addressOnly: any Sendable = ()
    var members: [Member]
    var streams: StreamTable
    var creditSum = 0
    var window: InFlightWindow
    /// Whether pushes wait for the in-flight window although streams are free. Another connection would make no room in
    /// the window.
    var waitsForWindow = false
    var busyGate: RouteGate
    var credentialGate: RouteGate
    var tokenGate: RouteGate
    var random: SplitMix64
    var connectBackoff: JitteredBackoff
    var connectNotBeforeMillis: Int64 = 0
    /// When a failure last made the delay longer, steady milliseconds. Failures of attempts that began before this time
    /// do not make the delay longer again.
    var backoffRaisedMillis: Int64 = .min
    var health = RouteHealth()
    /// The alarm about the provider token that is raised now; `nil` if there is none.
    var tokenAlarm: RouteAlarm?
    var isStarted = false
    var isShutDown = false
    var tokenGeneration: UInt32 = 0
    /// Number of the current token. Tokens are numbered in order of arrival, and a token that returns keeps its number.
    var tokenNumber: UInt32 = 0
    /// Number of the previous token.
    var tokenNumberBefore: UInt32 = 0
    /// Number of new provider tokens that the pool has taken so far.
    var tokenCount: UInt32 = 0
    /// Generation of the first token that was signed with the key in use.
    var keyGeneration: UInt32 = 0
    /// Whether APNs has not accepted the key in use yet, or has refused it since.
    var isKeyUnproven = false
    /// Whether there is another key to return to if APNs refuses the key in use.
    var isKeyOnTrial = false

    // Whether pushes wait for a free stream, a connection or a gate.
    var hasDemand = false
    var waitingSinceMillis: Int64 = 0
    var lastWantedMillis: Int64 = .min / 2
    var replacementsDue = 0
    /// By app: the last renewal of connections after a refused topic. An old connection may refuse a topic that the key
    /// was allowed later.
    var topicRefreshes: [UInt16: TopicRefresh] = [:]

    // The connection that gets the next requests, and how many more it gets.
    private var current = 0
    private var runLeft = 0

    /// A pool without connections; `start` opens the warm ones. `randomSeed` decides all jitter: with the same seed,
    /// the same events cause the same actions.
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

    /// Takes from another configuration what can change in a running pool: the number of warm connections, and the
    /// times of connections that begin from now on. The rest stays.
    public mutating func follow(_ new: ConnectionPoolConfiguration) {
        self.configuration.connectionsWarm = min(new.connectionsWarm, self.configuration.connectionsMax)
        self.configuration.connectTimeoutMillis = new.connectTimeoutMillis
        self.configuration.pingAfterSilenceMillis = new.pingAfterSilenceMillis
        self.configuration.pingTimeoutMillis = new.pingTimeoutMillis
        self.configuration.idleCloseMillis = new.idleCloseMillis
    }

    // MARK: State

    /// Number of requests that may begin now.
    public var credit: Int {
        guard !self.isShutDown else { return 0 }
        let inFlight = self.unansweredCount
        let room = self.configuration.limitsInFlight ? max(0, self.window.count - inFlight) : .max
        let credit = self.busyGate.limited(min(self.creditSum, room), inFlight: inFlight)
        return self.tokenGate.limited(self.credentialGate.limited(credit, inFlight: inFlight), inFlight: inFlight)
    }

    /// Number of requests that wait for an answer. A push that has timed out does not count, although its stream is
    /// still open.
    var unansweredCount: Int { self.streams.inUse - self.streams.abandonedCount }

    /// Number of streams in use, including those of pushes that have timed out.
    public var inFlight: Int { self.streams.inUse }

    /// The phase of a connection; `nil` if the number is free.
    public func phase(connection: Int) -> ConnectionLife.Phase? {
        self.members[connection].isInUse ? self.members[connection].life.phase : nil
    }

    /// Number of connections in this phase.
    public func count(_ phase: ConnectionLife.Phase) -> Int {
        self.members.count { $0.isInUse && $0.life.phase == phase }
    }

    /// Whether the route is stopped because APNs answers with server errors. A probe may still leave.
    public var isBreakerOpen: Bool { self.busyGate.isHolding }
    /// Whether the route is stopped because APNs refuses the credentials. A probe may still leave.
    public var isPausedByCredentials: Bool { self.credentialGate.isHolding }

    /// Moves the actions into `target`, whose memory is reused for the next ones.
    public mutating func takeActions(into target: inout [PoolAction]) {
        target.removeAll(keepingCapacity: true)
        swap(&self.actions, &target)
    }

    /// Moves the pushes that timed out into `target`, whose memory is reused for the next ones.
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

    /// Takes back a lease for which nothing was sent.
    public mutating func takeBack(_ lease: StreamLease) {
        self.streams.release(lease.tag)
        self.members[lease.connection].life.streamTakenBack()
        self.members[lease.connection].requestsBegan -= 1
        self.refreshCredit(lease.connection)
    }

    /// Remembers the request of a lease, which was queued on the lease's connection. `micros` is steady time.
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
            // The connection's stream ids are used up: RFC 9113 §5.1.1 demands a new connection.
            self.replacementsDue += 1
            self.retire(lease.connection, now: now)
            self.connectWhatIsDue(now: now)
        }
    }

    /// Chooses the least loaded connection. A connection that waits for its first request comes before all others: only
    /// a request can open it.
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

    /// Stops new requests on this connection; those in flight finish.
    mutating func retire(_ connection: Int, now: EngineTime, reason: ConnectionCloseReason = .drained) {
        let action = self.members[connection].life.drain(now: now)
        self.refreshCredit(connection)
        switch action {
        case .closeNow: self.actions.append(.close(connection: connection, reason: reason))
        case .waitForStreams, .alreadyDraining, .alreadyClosed: break
        }
    }

    /// Counts a connection as a failed attempt, once, and delays the next attempt. Call it before the connection is
    /// retired or closed.
    mutating func countFailure(_ connection: Int, now: EngineTime) {
        let member = self.members[connection]
        guard !member.endIsCounted else { return }
        self.members[connection].endIsCounted = true
        self.backOff(for: member, now: now)
    }

    /// Delays the next attempt to connect. The delay doubles with each failure. Connections that end together, or hang
    /// at the same time, count as one failure.
    mutating func backOff(for member: Member, now: EngineTime) {
        if member.life.isProven, now.steadyMillis - member.life.beganMillis >= self.configuration.servedMillisMin {
            self.connectBackoff.succeeded()
        } else if member.life.beganMillis <= self.backoffRaisedMillis {
            return
        }
        self.backoffRaisedMillis = now.steadyMillis
        // The delay runs from the beginning of one attempt to the beginning of the next. An attempt that hung for long
        // has used up the delay.
        let delayMillis = self.connectBackoff.failed(using: &self.random)
        let begunMillis = member.isReady ? now.steadyMillis : member.life.beganMillis
        self.connectNotBeforeMillis = max(
            self.connectNotBeforeMillis, begunMillis + delayMillis,
            now.steadyMillis + self.connectBackoff.millisMin / 2)
    }

    /// Retires every connection that has carried a request, or may have: the first request ties a connection to its
    /// credentials. A connection that is still being made has carried none.
    mutating func retireUsed(now: EngineTime) {
        for connection in self.members.indices where self.members[connection].isReady {
            self.members[connection].endIsCounted = true
            self.retire(connection, now: now)
        }
    }
}

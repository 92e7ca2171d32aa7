import APNSPool
import APNSProtocol
import HTTP2Session
import Logging
import PushModel
import TLSSession

/// Carries out what the pool of one route decides, and reports events to the pool. It decides nothing itself.
final class RouteRunner {
    private(set) var configuration: RouteConfiguration
    let shard: ShardTransport
    var pool: ConnectionPool
    var counters = RouteCounters()
    /// Whether there was no credit at the last check. The shard must then be notified when there is credit again.
    var sawNoCredit = false
    var hasUnseenCredit: Bool { self.sawNoCredit && self.pool.credit > 0 }

    private var headers: RouteHeaders
    var token: ProviderToken
    var connections: [APNSConnection?]
    var actions: [PoolAction] = []
    var timedOut: [TimedOutPush] = []
    var random: SplitMix64
    /// APNs' last reason for a refusal, for the texts of alarms.
    var lastReason = ""
    /// Why the last failed connection could not be made; empty if none has failed.
    var connectFailure = ""
    var refusals = RefusalLog()
    let tlsContext: TLSContext
    private(set) var logger: Logger

    /// Number of unsent bytes in a channel at which the session stops writing. It writes again when all bytes have
    /// left.
    static let outputByteCountHigh = 1
    static let outputByteCountLow = 1
    /// Maximum number of bytes that one read takes: about a thousand answers.
    static let readByteCount = 131_072

    init(
        configuration: RouteConfiguration, shard: ShardTransport, bundleIDs: [String], token: ProviderToken,
        tlsContext: TLSContext,
        randomSeed: UInt64, logger: Logger
    ) {
        self.configuration = configuration
        self.shard = shard
        self.pool = ConnectionPool(configuration: configuration.pool, randomSeed: randomSeed)
        self.connections = Array(repeating: nil, count: self.pool.connectionCountMax)
        self.headers = RouteHeaders(authority: configuration.authority, bundleIDs: bundleIDs)
        self.token = token
        self.tlsContext = tlsContext
        self.random = SplitMix64(seed: ~randomSeed)
        var logger = logger
        logger[metadataKey: "route"] = "\(configuration.name)"
        self.logger = logger
        self.use(token, isReturn: false)
    }

    /// Takes over the settings that can change while connections are open. The route's target does not change.
    func follow(_ configuration: RouteConfiguration, bundleIDs: [String]) {
        self.headers.follow(bundleIDs: bundleIDs)
        self.configuration.pool = configuration.pool
        self.configuration.name = configuration.name
        self.logger[metadataKey: "route"] = "\(configuration.name)"
        self.pool.follow(configuration.pool)
    }

    // MARK: Pushes

    /// Queues the request on the leased stream. Returns `false` if the connection refused the request; nothing was sent
    /// then.
    func send(_ lent: borrowing LentRequest, _ lease: StreamLease) -> Bool {
        guard let connection = self.connections[lease.connection] else {
            self.pool.takeBack(lease)
            return false
        }
        switch self.headers.submit(lent.request, to: connection.session, tag: lease.tag) {
        case .submitted(let streamID):
            self.pool.began(
                lease, push: lent.request.id, app: lent.request.app, streamID: streamID,
                tokenGeneration: self.token.generation,
                now: self.shard.now,
                micros: self.shard.nowMicros)
            self.counters.requestsTotal += 1
            self.shard.markDirty(connection)
            return true
        case .noCredit:
            // A stream that we reset still counts in the session until its RST_STREAM is serialised. Requests wait
            // until the next flush.
            self.pool.takeBack(lease)
            self.pool.outputBlocked(lease.connection, true)
            self.shard.markDirty(connection)
            return false
        case .streamIDsExhausted, .closing:
            self.pool.takeBack(lease)
            self.pool.requestsRefused(lease.connection, now: self.shard.now)
            return false
        case .bodyTooLong(let byteCountMax):
            // The engine refuses events above 4 KiB, and a merged update never exceeds that size. A session takes 16
            // KiB.
            preconditionFailure(
                "a payload of \(lent.request.body.count) bytes reached the transport; \(byteCountMax) is the most it takes"
            )
        case .valueCountMismatch(let expected):
            // `RouteHeaders` makes the template and the values of each kind of request, so their numbers agree. Events
            // cannot change them.
            preconditionFailure("the request template has \(expected) variable fields, not as many were given")
        }
    }

    // MARK: Provider token

    /// Uses the store's current token, if it is not the one in use.
    func tokenChanged() {
        let token = self.shard.providerTokens.current(key: self.configuration.providerKey)
        guard token.generation != self.token.generation else { return }
        let isForNewConnections = token.connectionEpoch != self.token.connectionEpoch
        // If tokens in between were missed, it is unknown whether the present token was used before. It then counts as
        // new.
        let isReturn = token.isReturn && token.generation == self.token.generation &+ 1
        self.token = token
        if isForNewConnections {
            self.logger.notice(
                "a new provider key, or a token out of turn: connections that began with the previous one drain")
            self.pool.connectionsOutdated(now: self.shard.now)
        }
        self.use(token, isReturn: isReturn)
    }

    private func use(_ token: ProviderToken, isReturn: Bool) {
        self.headers.use(authorization: token.authorization)
        self.pool.tokenReplaced(generation: token.generation, isReturn: isReturn, now: self.shard.now)
        self.pool.keyReplaced(
            firstGeneration: token.keyGeneration, isUnproven: token.isUnproven, isOnTrial: token.isOnTrial)
    }

    // MARK: State

    var status: RouteStatus {
        var status = RouteStatus()
        status.carriesPushes = self.configuration.carriesPushes
        status.host = self.configuration.host
        status.port = self.configuration.port
        status.proxy = self.configuration.proxy?.shown
        status.trouble = self.pool.trouble
        status.wasReached = self.pool.wasReached
        status.connectFailure = self.connectFailure
        status.reason = self.lastReason
        return status
    }

    func currentCounters() -> RouteCounters {
        var counters = self.counters
        counters.connectionsOpen = self.pool.count(.open) + self.pool.count(.probing)
        counters.connectionsConnecting = self.pool.count(.connecting) + self.pool.count(.handshaking)
        counters.connectionsDraining = self.pool.count(.draining)
        counters.streamsInFlight = self.pool.inFlight
        counters.breakerOpen = self.pool.isBreakerOpen ? 1 : 0
        counters.credentialsRefused = self.pool.isPausedByCredentials ? 1 : 0
        return counters
    }
}

import APNSProtocol
import HTTP2Session
import Logging
import NIOCore
import NIOPosix
import PushEngine
import PushModel
import TLSSession

/// Carries out what the pool of one route decides, and tells it what happened. No policy of its own.
final class RouteRunner {
    let configuration: RouteConfiguration
    let shard: ShardTransport
    var pool: ConnectionPool
    var counters = RouteCounters()
    /// Whoever looked last saw no credit, and has to be told when there is some.
    var sawNoCredit = false
    var hasUnseenCredit: Bool { self.sawNoCredit && self.pool.credit > 0 }

    private var headers: RouteHeaders
    private var token: ProviderToken
    private var values = HTTP2HeaderValues()
    private var connections: [APNSConnection?]
    private var actions: [PoolAction] = []
    private var timedOut: [PushEnd] = []
    private var random: SeededRandom
    /// The last reason APNs gave for a refusal, for the alarm's text.
    private var lastReason = ""
    private let tlsContext: TLSContext
    private let logger: Logger

    /// Bytes a channel may hold unsent before the session keeps its frames, and at which it goes on.
    private static let outputByteCountHigh = 1_048_576
    private static let outputByteCountLow = 262_144
    /// A read takes in so much: about a thousand answers.
    private static let readByteCount = 131_072

    init(
        configuration: RouteConfiguration, shard: ShardTransport, bundleIDs: [String], token: ProviderToken, tlsContext: TLSContext,
        randomSeed: UInt64, logger: Logger
    ) {
        self.configuration = configuration
        self.shard = shard
        self.pool = ConnectionPool(configuration: configuration.pool, randomSeed: randomSeed)
        self.connections = Array(repeating: nil, count: self.pool.slotCount)
        self.headers = RouteHeaders(authority: configuration.authority, bundleIDs: bundleIDs)
        self.token = token
        self.tlsContext = tlsContext
        self.random = SeededRandom(seed: ~randomSeed)
        var logger = logger
        logger[metadataKey: "route"] = "\(configuration.name)"
        self.logger = logger
        self.use(token)
    }

    // MARK: Pushes

    /// Queues the request of a lease. `false`: the connection would not take it, and nothing was sent.
    func send(_ request: borrowing PushRequest, _ lease: StreamLease) -> Bool {
        guard let connection = self.connections[lease.connection] else {
            self.pool.takeBack(lease)
            return false
        }
        let template = self.headers.template(app: request.app, priority: request.priority)
        self.values.removeAll()
        self.values.appendPart(DeviceRequest.pathPrefix)
        self.values.appendPart(request.tokenHex.span)
        self.values.endValue()
        self.values.append(decimal: request.expirationSeconds)
        self.values.append(uuid: request.apnsID)
        switch connection.session.submit(template, values: self.values, body: request.body.span, tag: lease.tag) {
        case .submitted(let streamID):
            self.pool.began(
                lease, push: request.id, streamID: streamID, tokenGeneration: self.token.generation, now: self.shard.now,
                micros: self.shard.nowMicros)
            self.counters.requestsTotal += 1
            self.shard.markDirty(connection)
            return true
        case .noCredit:
            // The session counts a stream we have reset until its RST_STREAM has left: no more until the next flush.
            self.pool.takeBack(lease)
            self.pool.outputBlocked(lease.connection, true)
            self.shard.markDirty(connection)
            return false
        case .streamIDsExhausted, .closing:
            self.pool.takeBack(lease)
            self.pool.requestsRefused(lease.connection, now: self.shard.now)
            return false
        case .bodyTooLong(let byteCountMax):
            preconditionFailure("a payload of \(request.body.count) bytes reached the transport; \(byteCountMax) is the most it takes")
        case .valueCountMismatch(let expected):
            preconditionFailure("the request template has \(expected) variable fields, \(self.values.count) were given")
        }
    }

    // MARK: Events of connections

    func transportConnected(_ connection: APNSConnection, remote: SocketAddress?) {
        self.shard.readClock()
        self.pool.transportConnected(connection.slot, now: self.shard.now)
        self.logger.debug("connected, TLS handshake begins", metadata: ["address": "\(remote?.description ?? "unknown")"])
    }

    func bytesReceived(_ connection: APNSConnection) {
        self.shard.readClock()
        self.pool.bytesReceived(connection.slot, now: self.shard.now)
    }

    func outputBlocked(_ connection: APNSConnection, _ blocked: Bool) { self.pool.outputBlocked(connection.slot, blocked) }

    func ended(_ connection: APNSConnection, cause: String) {
        guard self.connections[connection.slot] === connection else { return }
        self.connections[connection.slot] = nil
        self.slotEnded(connection.slot, wasReady: connection.isReady, cause: cause)
    }

    private func slotEnded(_ slot: Int, wasReady: Bool, cause: String) {
        let metadata: Logger.Metadata = ["slot": "\(slot)", "cause": "\(cause)"]
        if wasReady {
            self.counters.closesTotal += 1
            self.logger.info("connection ended", metadata: metadata)
        } else {
            self.counters.connectFailuresTotal += 1
            self.logger.warning("cannot connect to \(self.configuration.host):\(self.configuration.port)", metadata: metadata)
        }
        for end in self.pool.connectionEnded(slot, now: self.shard.now, micros: self.shard.nowMicros) {
            self.counters.unknownTotal += 1
            self.shard.answers.append(PushAnswer(id: end.push, result: .unknown(detail: cause), apnsMicros: end.micros))
        }
    }

    func handle(_ events: borrowing HTTP2ClientEvents, of connection: APNSConnection) {
        for event in events.events {
            switch event {
            case .responseFinished(let tag, _, let status, let body, _, let retryAfterSeconds):
                self.counters.responses.count(status)
                if status == 200 {
                    if let end = self.pool.accepted(tag, connection: connection.slot, micros: self.shard.nowMicros) {
                        self.shard.answers.append(PushAnswer(id: end.push, result: .accepted, apnsMicros: end.micros))
                    }
                } else {
                    self.refused(
                        tag, connection, status: status, body: events.bytes.span.extracting(body), retryAfterSeconds: retryAfterSeconds)
                }
            case .streamFailed(let tag, _, let failure):
                self.streamFailed(tag, connection, failure)
            case .settingsChanged(let concurrentStreamsMax):
                self.settingsChanged(connection, concurrentStreamsMax)
            case .goAwayReceived(let lastStreamID, let errorCode, let debugData):
                self.goAwayReceived(
                    connection, lastStreamID: lastStreamID, errorCode, debugData: events.bytes.span.extracting(debugData))
            case .pingAcknowledged:
                // That bytes came has been noted already.
                break
            case .goAwaySent(let errorCode, let debugData):
                guard errorCode != .noError else { break }
                let detail = String(decoding: events.bytes[debugData], as: UTF8.self)
                self.logger.warning("the peer broke the protocol", metadata: ["code": "\(errorCode)", "detail": "\(detail)"])
                self.pool.requestsRefused(connection.slot, now: self.shard.now)
            }
        }
    }

    private func refused(
        _ tag: UInt32, _ connection: APNSConnection, status: UInt16, body: Span<UInt8>, retryAfterSeconds: Int64
    ) {
        let (reason, timestampMillis) = ErrorBody.parse(body)
        let retryAfter = retryAfterSeconds < 0 ? nil : retryAfterSeconds
        // An app added to the key after a connection's first push is disallowed on that connection only.
        let verdict = ReasonTable.verdict(
            status: status, reason: reason, timestampMillis: timestampMillis,
            mayTryAnotherConnection: self.pool.phase(connection: connection.slot) == .open)
        self.lastReason = reason.isEmpty ? "status \(status)" : reason
        let end = self.pool.answered(
            tag, connection: connection.slot, verdict: verdict, retryAfterSeconds: retryAfter, now: self.shard.now,
            micros: self.shard.nowMicros)
        guard let end else { return }
        self.shard.answers.append(
            PushAnswer(
                id: end.push,
                result: .response(status: status, reason: reason, timestampMillis: timestampMillis, retryAfterSeconds: retryAfter),
                apnsMicros: end.micros))
    }

    private func streamFailed(_ tag: UInt32, _ connection: APNSConnection, _ failure: HTTP2StreamFailure) {
        switch failure {
        case .resetByPeer: self.counters.resetsTotal += 1
        case .aboveGoAway, .requestIncomplete, .resetLocally, .connectionEnded, .malformedResponse: break
        }
        let isUnprocessed = failure.isKnownUnprocessed
        let end = self.pool.failed(
            tag, connection: connection.slot, failure: isUnprocessed ? .notProcessed : .unknown, now: self.shard.now,
            micros: self.shard.nowMicros)
        guard let end else { return }
        if isUnprocessed {
            self.counters.notProcessedTotal += 1
            self.shard.answers.append(PushAnswer(id: end.push, result: .notProcessed, apnsMicros: end.micros))
        } else {
            self.counters.unknownTotal += 1
            self.shard.answers.append(
                PushAnswer(id: end.push, result: .unknown(detail: Self.describe(failure)), apnsMicros: end.micros))
        }
    }

    private static func describe(_ failure: HTTP2StreamFailure) -> String {
        switch failure {
        case .resetByPeer(let code): "stream reset by APNs: \(code)"
        case .aboveGoAway: "above the last stream of a GOAWAY"
        case .requestIncomplete: "the request had not left"
        case .resetLocally(let code): "stream reset by us: \(code)"
        case .connectionEnded: "connection lost before the answer"
        case .malformedResponse: "the answer has no valid status"
        }
    }

    private func settingsChanged(_ connection: APNSConnection, _ concurrentStreamsMax: UInt32) {
        let wasReady = connection.isReady
        connection.isReady = true
        self.pool.settingsReceived(connection.slot, streamsMax: Int(concurrentStreamsMax), now: self.shard.now)
        if !wasReady {
            self.counters.connectsTotal += 1
            self.logger.info(
                "connection ready", metadata: ["slot": "\(connection.slot)", "streams": "\(concurrentStreamsMax)"])
        } else if Int(concurrentStreamsMax) < connection.session.openStreamCount {
            // What has not left need not wait for this connection to recover.
            connection.session.withdrawUnsent()
        }
    }

    private func goAwayReceived(
        _ connection: APNSConnection, lastStreamID: Int32, _ errorCode: HTTP2ErrorCode, debugData: Span<UInt8>
    ) {
        let (reason, _) = ErrorBody.parse(debugData)
        let name = reason.isEmpty ? "\(errorCode)" : reason
        let isKnown = self.counters.goAways[name] != nil || self.counters.goAways.count < RouteCounters.goAwayReasonsMax - 1
        self.counters.goAways[isKnown ? name : "other", default: 0] += 1
        self.logger.info(
            "GOAWAY", metadata: ["slot": "\(connection.slot)", "reason": "\(name)", "code": "\(errorCode)", "last-stream": "\(lastStreamID)"])
        self.pool.goAwayReceived(connection.slot, isError: errorCode != .noError, now: self.shard.now)
    }

    // MARK: Time and actions

    func advance() {
        self.pool.advance(now: self.shard.now, micros: self.shard.nowMicros)
        self.pool.takeTimedOut(into: &self.timedOut)
        for end in self.timedOut {
            self.counters.timeoutsTotal += 1
            self.counters.unknownTotal += 1
            self.shard.answers.append(
                PushAnswer(
                    id: end.push, result: .unknown(detail: "no answer within \(self.configuration.pool.requestTimeoutMillis) ms"),
                    apnsMicros: end.micros))
        }
    }

    /// Carries out what the pool has decided, and what it decides in consequence.
    func carryOutActions() {
        while !self.pool.actions.isEmpty {
            var actions: [PoolAction] = []
            swap(&actions, &self.actions)
            self.pool.takeActions(into: &actions)
            for action in actions { self.carryOut(action) }
            swap(&actions, &self.actions)
        }
    }

    private func carryOut(_ action: PoolAction) {
        switch action {
        case .connect(let slot):
            self.connect(slot)
        case .ping(let slot):
            guard let connection = self.connections[slot] else { return }
            self.counters.pingsTotal += 1
            connection.session.ping(payload: UInt64(bitPattern: self.shard.nowMicros))
            self.shard.markDirty(connection)
        case .reset(let slot, let streamID):
            guard let connection = self.connections[slot] else { return }
            connection.session.reset(streamID: streamID)
            self.shard.markDirty(connection)
        case .close(let slot, let reason):
            self.connections[slot]?.close(Self.describe(reason))
        case .renewToken(let generation):
            self.logger.warning("APNs calls the provider token expired", metadata: ["generation": "\(generation)"])
            self.shard.providerTokens.reportExpired(key: self.configuration.providerKey, generation: generation)
        case .revertToken(let generation):
            self.logger.warning("APNs calls the provider token renewed too often", metadata: ["generation": "\(generation)"])
            self.shard.providerTokens.reportTooManyUpdates(key: self.configuration.providerKey, generation: generation)
        case .alarmRaised(let alarm):
            self.logger.error("\(Self.describe(alarm))", metadata: ["reason": "\(self.lastReason)"])
        case .alarmCleared(let alarm):
            self.logger.notice("over: \(Self.describe(alarm))")
        }
    }

    /// Ends every connection now.
    func closeAll(now: EngineTime) {
        self.pool.shutDown(now: now)
        self.carryOutActions()
        for connection in self.connections { connection?.close("shutting down") }
        self.carryOutActions()
    }

    private static func describe(_ reason: ConnectionCloseReason) -> String {
        switch reason {
        case .connectTimeout: "no handshake in time"
        case .pingTimeout: "PING unanswered"
        case .drainTimeout: "requests did not finish in time after GOAWAY"
        case .drained: "drained"
        case .idle: "idle"
        case .shutdown: "shutting down"
        }
    }

    private static func describe(_ alarm: RouteAlarm) -> String {
        switch alarm {
        case .credentialsRefused: "APNs refuses our credentials; the route is paused but for probes"
        case .serverBusy: "APNs answers with server errors; the route rests"
        case .providerTokenRefused: "APNs refuses the provider token; check this machine's clock"
        }
    }

    private func connect(_ slot: Int) {
        let connection: APNSConnection
        do {
            var settings = HTTP2ClientSettings()
            settings.concurrentStreamsMax = self.configuration.pool.streamsPerConnectionMax
            connection = APNSConnection(
                slot: slot, route: self, tls: try TLSSession(client: self.tlsContext, serverName: self.configuration.serverName),
                session: HTTP2ClientSession(settings: settings))
        } catch {
            self.slotEnded(slot, wasReady: false, cause: "\(error)")
            return
        }
        self.connections[slot] = connection
        self.bootstrap().connect(host: self.configuration.host, port: self.configuration.port).assumeIsolated().whenComplete { result in
            switch result {
            case .success(let channel):
                // It may have been given up meanwhile.
                guard !connection.isEnded else {
                    channel.close(promise: nil)
                    return
                }
                do {
                    try channel.pipeline.syncOperations.addHandler(connection)
                } catch {
                    connection.end("\(error)")
                }
            case .failure(let error):
                self.shard.readClock()
                connection.end("\(error)")
                self.shard.finishTurn()
            }
        }
    }

    private func bootstrap() -> ClientBootstrap {
        ClientBootstrap(group: self.shard.eventLoop)
            .resolver(SpreadingResolver(eventLoop: self.shard.eventLoop, seed: self.random.next()))
            .connectTimeout(.milliseconds(self.configuration.pool.connectTimeoutMillis))
            // Everything is flushed in large pieces: waiting for more would only delay the last.
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: Self.readByteCount))
            .channelOption(
                .writeBufferWaterMark,
                value: ChannelOptions.Types.WriteBufferWaterMark(low: Self.outputByteCountLow, high: Self.outputByteCountHigh))
    }

    // MARK: Provider token

    /// The store has another token.
    func tokenChanged() {
        let token = self.shard.providerTokens.current(key: self.configuration.providerKey)
        guard token.generation != self.token.generation else { return }
        let keyChanged = token.keyGeneration != self.token.keyGeneration
        self.token = token
        self.use(token)
        if keyChanged {
            self.logger.notice("the provider key was replaced; connections begun under the old one drain")
            self.pool.keyReplaced(now: self.shard.now)
        }
    }

    private func use(_ token: ProviderToken) {
        self.headers.use(authorization: token.authorization)
        self.pool.tokenReplaced(generation: token.generation)
    }

    // MARK: Standing

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

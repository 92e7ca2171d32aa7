import APNSPool
import APNSProtocol
import HTTP2Session
import Logging
import NIOCore
import NIOPosix
import PushModel
import TLSSession

/// Carries out the pool's actions.
extension RouteRunner {
    /// Carries out the actions that the pool has decided since the last turn. `isDue` says that a deadline of the pool
    /// has been reached.
    func beginTurn(isDue: Bool) {
        self.pool.lookAtWindow(micros: self.shard.nowMicros, busyMicros: MachineClock.threadBusyMicros)
        if isDue { self.advance() }
        self.carryOutActions()
    }

    private func advance() {
        let before = self.pool.trouble
        self.pool.advance(now: self.shard.now, micros: self.shard.nowMicros)
        if self.pool.trouble != before { self.shard.hasNews = true }
        self.pool.takeTimedOut(into: &self.timedOut)
        if !self.timedOut.isEmpty { self.shard.hasNews = true }
        for end in self.timedOut {
            self.counters.timeoutsTotal += 1
            // A request that has not left cannot have been processed. The request stays here if the peer's window or
            // the socket is full.
            let hasLeft = self.connections[end.connection]?.session.hasLeft(streamID: end.streamID) ?? true
            if hasLeft {
                self.counters.unknownTotal += 1
                self.shard.answers.append(
                    PushAnswer(
                        id: end.push,
                        result: .unknown(detail: "no answer within \(self.configuration.pool.requestTimeoutMillis) ms"),
                        apnsMicros: end.micros))
            } else {
                self.counters.notProcessedTotal += 1
                self.shard.answers.append(PushAnswer(id: end.push, result: .notProcessed, apnsMicros: end.micros))
            }
        }
    }

    /// Carries out the pool's actions until no more follow.
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
        self.shard.hasNews = true
        switch action {
        case .connect(let number):
            self.connect(number)
        case .ping(let number):
            guard let connection = self.connections[number] else { return }
            self.counters.pingsTotal += 1
            connection.session.ping(payload: UInt64(bitPattern: self.shard.nowMicros))
            self.shard.markDirty(connection)
        case .reset(let number, let streamID):
            guard let connection = self.connections[number] else { return }
            connection.session.reset(streamID: streamID)
            self.shard.markDirty(connection)
        case .close(let number, let reason):
            guard let connection = self.connections[number] else { return }
            connection.close(self.describe(reason, of: connection))
        case .renewToken(let generation):
            self.logger.warning("APNs calls the provider token expired", metadata: ["generation": "\(generation)"])
            self.shard.providerTokens.reportExpired(key: self.configuration.providerKey, generation: generation)
        case .revertToken(let generation):
            self.logger.warning(
                "APNs calls the provider token renewed too often", metadata: ["generation": "\(generation)"])
            self.shard.providerTokens.reportTooManyUpdates(key: self.configuration.providerKey, generation: generation)
        case .doubtToken(let generation):
            self.shard.providerTokens.reportInvalid(
                key: self.configuration.providerKey, generation: generation, reason: self.lastReason)
        case .keyAccepted(let generation):
            self.shard.providerTokens.reportAccepted(key: self.configuration.providerKey, generation: generation)
        case .alarmRaised(let alarm):
            self.logger.error("\(Self.describe(alarm))", metadata: ["reason": "\(self.lastReason)"])
        case .alarmCleared(let alarm):
            self.logger.notice("over: \(Self.describe(alarm))")
        }
    }

    /// Closes every connection at once.
    func closeAll(now: EngineTime) {
        self.pool.shutDown(now: now)
        self.carryOutActions()
        for connection in self.connections { connection?.close("shutting down") }
        self.carryOutActions()
    }

    private func describe(_ reason: ConnectionCloseReason, of connection: APNSConnection) -> String {
        switch reason {
        case .connectTimeout:
            if let proxy = self.configuration.proxy, connection.remoteAddress == nil {
                "no tunnel through the proxy \(proxy.shown) in time"
            } else {
                "no handshake in time"
            }
        case .pingTimeout: "PING unanswered"
        case .drainTimeout: "requests did not finish in time after GOAWAY"
        case .drained: "drained"
        case .denied: "its SETTINGS allowed no request for long"
        case .idle: "idle"
        case .shutdown: "shutting down"
        }
    }

    private static func describe(_ alarm: RouteAlarm) -> String {
        switch alarm {
        case .credentialsRefused: "APNs refuses our credentials; the route is paused, except for probes"
        case .serverBusy: "APNs answers with server errors; the route is paused, except for probes"
        case .providerTokenExpired: "APNs calls the provider token expired; check this machine's clock"
        case .providerTokenTooManyUpdates:
            "APNs calls the provider token renewed too often; the previous one is used while it is young enough. Is the key used elsewhere, too?"
        }
    }

    private func connect(_ number: Int) {
        let connection: APNSConnection
        do {
            var settings = HTTP2ClientSettings()
            settings.concurrentStreamsMax = self.configuration.pool.streamsPerConnectionMax
            connection = APNSConnection(
                number: number, route: self,
                tls: try TLSSession(client: self.tlsContext, serverName: self.configuration.serverName),
                session: HTTP2ClientSession(settings: settings))
        } catch {
            self.connectionGone(number, wasReady: false, cause: "\(error)", fault: .network)
            return
        }
        self.connections[number] = connection
        ProxiedConnect.connect(
            self.bootstrap(), to: (self.configuration.host, self.configuration.port), by: self.configuration.proxy,
            on: self.shard.eventLoop, limitMillis: self.configuration.pool.connectTimeoutMillis
        )
        .whenComplete { result in
            switch result {
            case .success(let channel):
                // The connection may have been given up meanwhile.
                guard !connection.isEnded else {
                    channel.close(promise: nil)
                    return
                }
                do {
                    try channel.pipeline.syncOperations.addHandler(connection)
                } catch {
                    self.shard.readClock()
                    connection.end("\(error)")
                    self.shard.wantTurn()
                }
            case .failure(let error):
                self.shard.readClock()
                connection.end(ConnectError.text(error))
                self.shard.wantTurn()
            }
        }
    }

    private func addressesInUse() -> [String: Int] {
        var inUse: [String: Int] = [:]
        for connection in self.connections {
            if let address = connection?.remoteAddress { inUse[address, default: 0] += 1 }
        }
        return inUse
    }

    private func bootstrap() -> ClientBootstrap {
        ClientBootstrap(group: self.shard.eventLoop)
            .resolver(
                SpreadingResolver(
                    eventLoop: self.shard.eventLoop, seed: self.random.next(), inUse: self.addressesInUse())
            )
            .connectTimeout(.milliseconds(self.configuration.pool.connectTimeoutMillis))
            // Everything is flushed in large pieces, so Nagle's algorithm would only delay the last packet.
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: Self.readByteCount))
            .channelOption(
                .writeBufferWaterMark,
                value: ChannelOptions.Types.WriteBufferWaterMark(
                    low: Self.outputByteCountLow, high: Self.outputByteCountHigh))
    }
}

import APNSPool
import APNSProtocol
import HTTP2Session
import Logging
import NIOCore
import PushModel

/// Reports events of connections to the pool, and passes their answers to the shard.
extension RouteRunner {
    func transportConnected(_ connection: APNSConnection, remote: SocketAddress?) {
        self.shard.readClock()
        self.pool.transportConnected(connection.number, now: self.shard.now)
        self.logger.debug(
            "connected, TLS handshake begins", metadata: ["address": "\(remote?.description ?? "unknown")"])
    }

    func bytesReceived(_ connection: APNSConnection) {
        self.shard.readClock()
        self.pool.bytesReceived(connection.number, now: self.shard.now)
    }

    func outputBlocked(_ connection: APNSConnection, _ blocked: Bool) {
        self.pool.outputBlocked(connection.number, blocked)
    }

    func ended(_ connection: APNSConnection, cause: String, fault: ConnectFault) {
        guard self.connections[connection.number] === connection else { return }
        self.connections[connection.number] = nil
        self.connectionGone(connection.number, wasReady: connection.isReady, cause: cause, fault: fault)
    }

    func connectionGone(_ number: Int, wasReady: Bool, cause: String, fault: ConnectFault) {
        self.shard.hasNews = true
        let metadata: Logger.Metadata = ["connection": "\(number)", "cause": "\(cause)"]
        if wasReady {
            self.counters.closesTotal += 1
            self.logger.info("connection ended", metadata: metadata)
        } else {
            self.counters.connectFailuresTotal += 1
            self.connectFailure = cause
            self.logger.warning(
                "cannot connect to \(self.configuration.host):\(self.configuration.port)", metadata: metadata)
        }
        for end in self.pool.connectionEnded(
            number, fault: fault, now: self.shard.now, micros: self.shard.nowMicros)
        {
            self.counters.unknownTotal += 1
            self.shard.answers.append(PushAnswer(id: end.push, result: .unknown(detail: cause), apnsMicros: end.micros))
        }
    }

    func handle(_ events: borrowing HTTP2ClientEvents, of connection: APNSConnection) {
        let hasKeptFields = !events.keptFields.isEmpty
        for event in events.events {
            switch event {
            case .responseFinished(let tag, _, let status, let body, let bodyByteCount, let retryAfterSeconds):
                self.counters.responses.count(status)
                if hasKeptFields, (200...299).contains(status),
                    let field = events.keptFields.first(where: { $0.tag == tag })
                {
                    self.answeredAboutChannels(
                        tag, connection,
                        ChannelAnswer(
                            status: status, channelID: Array(events.bytes[field.value]),
                            body: Array(events.bytes[body]), isCut: bodyByteCount > body.count))
                } else if status == 200 {
                    if let end = self.pool.accepted(tag, connection: connection.number, micros: self.shard.nowMicros) {
                        self.shard.answers.append(PushAnswer(id: end.push, result: .accepted, apnsMicros: end.micros))
                    }
                } else {
                    self.refused(
                        tag, connection, status: status, body: events.bytes.span.extracting(body),
                        retryAfterSeconds: retryAfterSeconds)
                }
            case .streamFailed(let tag, _, let failure):
                self.streamFailed(tag, connection, failure)
            case .settingsChanged(let concurrentStreamsMax):
                self.settingsChanged(connection, concurrentStreamsMax)
            case .goAwayReceived(let lastStreamID, let errorCode, let debugData):
                self.goAwayReceived(
                    connection, lastStreamID: lastStreamID, errorCode,
                    debugData: events.bytes.span.extracting(debugData))
            case .pingAcknowledged:
                // Nothing to do: `bytesReceived` has already shown the pool that the peer is alive.
                break
            case .goAwaySent(let errorCode, let debugData):
                guard errorCode != .noError else { break }
                let detail = String(decoding: events.bytes[debugData], as: UTF8.self)
                self.logger.warning(
                    "the peer broke the protocol", metadata: ["code": "\(errorCode)", "detail": "\(detail)"])
                self.pool.requestsRefused(connection.number, now: self.shard.now)
            }
        }
    }

    private func answeredAboutChannels(_ tag: UInt32, _ connection: APNSConnection, _ answer: ChannelAnswer) {
        guard let end = self.pool.accepted(tag, connection: connection.number, micros: self.shard.nowMicros) else {
            return
        }
        self.shard.answers.append(PushAnswer(id: end.push, result: .channel(answer), apnsMicros: end.micros))
    }

    private func refused(
        _ tag: UInt32, _ connection: APNSConnection, status: UInt16, body: Span<UInt8>, retryAfterSeconds: Int64
    ) {
        let (reason, timestampMillis) = ErrorBody.parse(body)
        let response = PushResponse(
            status: status, reason: reason, timestampMillis: timestampMillis,
            retryAfterSeconds: retryAfterSeconds < 0 ? nil : retryAfterSeconds)
        self.log(response)
        if response.verdict == .topicRefused(anotherConnectionMayDo: true),
            self.pool.renewsForTopic(tag, connection: connection.number, now: self.shard.now)
        {
            // A connection refuses an app that was added to the key after the connection's first push. Another
            // connection may accept the app.
            self.counters.notProcessedTotal += 1
            let end = self.pool.answered(
                tag, connection: connection.number, verdict: .connectionUnusable, retryAfterSeconds: nil,
                now: self.shard.now,
                micros: self.shard.nowMicros)
            guard let end else { return }
            self.shard.answers.append(PushAnswer(id: end.push, result: .notProcessed, apnsMicros: end.micros))
            return
        }
        let end = self.pool.answered(
            tag, connection: connection.number, verdict: response.verdict,
            retryAfterSeconds: response.retryAfterSeconds,
            now: self.shard.now, micros: self.shard.nowMicros)
        guard let end else { return }
        self.shard.answers.append(PushAnswer(id: end.push, result: .response(response), apnsMicros: end.micros))
    }

    /// Writes the refusal's log line, if `RefusalLog` allows one. Keeps the reason for the texts of alarms.
    private func log(_ response: PushResponse) {
        let (status, reason) = (response.status, response.reason)
        switch response.verdict {
        case .accepted: return
        case .tokenDead, .tokenThrottled, .messageRefused, .expirationRefused: break
        case .credentialRefused, .topicRefused, .providerTokenExpired, .providerTokenTooManyUpdates, .serverBusy,
            .connectionUnusable:
            self.lastReason = reason.isEmpty ? "status \(status)" : reason
        }
        let suppressedCount = self.refusals.admit(
            RefusalLog.Kind(status: status, reason: reason), nowMillis: self.shard.now.steadyMillis)
        guard let suppressedCount else { return }
        var (level, text) = RefusalLog.line(response.verdict)
        var metadata: Logger.Metadata = ["status": "\(status)", "reason": "\(reason)"]
        if !ReasonTable.isKnown(reason) {
            level = max(level, .warning)
            text += "; the reason is not one that Apple documents, so the status decides"
        }
        if suppressedCount > 0 { metadata["more-since-last-line"] = "\(suppressedCount)" }
        self.logger.log(level: level, "\(text)", metadata: metadata)
    }

    private func streamFailed(_ tag: UInt32, _ connection: APNSConnection, _ failure: HTTP2StreamFailure) {
        switch failure {
        case .resetByPeer: self.counters.resetsTotal += 1
        case .aboveGoAway, .requestIncomplete, .resetLocally, .connectionEnded, .malformedResponse: break
        }
        let isUnprocessed = failure.isKnownUnprocessed
        let kind: ConnectionPool.Failure =
            failure == .resetByPeer(.refusedStream) ? .refused : isUnprocessed ? .neverLeft : .unknown
        let end = self.pool.failed(
            tag, connection: connection.number, failure: kind, now: self.shard.now, micros: self.shard.nowMicros)
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
        self.shard.hasNews = true
        let wasReady = connection.isReady
        connection.isReady = true
        self.pool.settingsReceived(connection.number, streamsMax: Int(concurrentStreamsMax), now: self.shard.now)
        if !wasReady {
            self.counters.connectsTotal += 1
            self.logger.info(
                "connection ready",
                metadata: ["connection": "\(connection.number)", "streams": "\(concurrentStreamsMax)"])
        } else if Int(concurrentStreamsMax) < connection.session.openStreamCount {
            // Another connection can send the requests that have not left yet.
            connection.session.withdrawUnsent()
        }
    }

    private func goAwayReceived(
        _ connection: APNSConnection, lastStreamID: Int32, _ errorCode: HTTP2ErrorCode, debugData: Span<UInt8>
    ) {
        self.shard.hasNews = true
        let (reason, _) = ErrorBody.parse(debugData)
        let name = reason.isEmpty ? "\(errorCode)" : reason
        let isKnown =
            self.counters.goAways[name] != nil || self.counters.goAways.count < RouteCounters.goAwayReasonsMax - 1
        self.counters.goAways[isKnown ? name : "other", default: 0] += 1
        var metadata: Logger.Metadata = [
            "connection": "\(connection.number)", "reason": "\(name)", "code": "\(errorCode)",
            "last-stream": "\(lastStreamID)",
        ]
        // Debug data is not always JSON. APNs has sent this text: "Maximum active streams violated for this endpoint".
        // People see such a text in the log; metrics do not use it.
        if reason.isEmpty, !debugData.isEmpty { metadata["debug-data"] = "\(Self.printable(debugData))" }
        self.logger.info("GOAWAY", metadata: metadata)
        self.pool.goAwayReceived(connection.number, isError: errorCode != .noError, now: self.shard.now)
    }

    /// Maximum number of bytes of a peer's debug data that are shown.
    static let debugDataByteCountMax = 128

    /// Turns a peer's bytes into a short line of text that cannot break a log line or control a terminal.
    static func printable(_ bytes: Span<UInt8>) -> String {
        var shown: [UInt8] = []
        shown.append(copying: bytes.extracting(first: Self.debugDataByteCountMax))
        var text = ""
        for scalar in String(decoding: shown, as: UTF8.self).unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned: text += "?"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return bytes.count > Self.debugDataByteCountMax ? text + "…" : text
    }
}

public import APNSProtocol

/// What answers, or their absence, mean for the route and its connections.
extension ConnectionPool {
    /// Whether APNs can have processed a request that got no status.
    public enum Failure: Equatable, Sendable { case notProcessed, unknown }

    /// A 200, the steady case. `nil`: the push was answered before (it had timed out), or the tag is not in use.
    /// `micros`: steady time.
    public mutating func accepted(_ tag: UInt32, connection: Int, micros: Int64) -> PushEnd? {
        guard let stream = self.streams.stream(tag, connection: connection) else { return nil }
        self.members[connection].refusedInRow = 0
        self.busySucceeded()
        self.credentialsSucceeded()
        self.tokenSucceeded()
        return self.end(stream, tag, accepted: true, answeredMicros: micros)
    }

    /// Any other status, with its verdict.
    public mutating func answered(
        _ tag: UInt32, connection: Int, verdict: Verdict, retryAfterSeconds: Int64?, now: EngineTime, micros: Int64
    ) -> PushEnd? {
        guard let stream = self.streams.stream(tag, connection: connection) else { return nil }
        self.members[connection].refusedInRow = 0
        switch verdict {
        case .accepted:
            return self.accepted(tag, connection: connection, micros: micros)
        case .tokenDead, .tokenThrottled:
            // APNs looked the device token up, so it took our credentials.
            self.busySucceeded()
            self.credentialsSucceeded()
            self.tokenSucceeded()
        case .messageRefused:
            self.busySucceeded()
        case .credentialRefused:
            self.busySucceeded()
            self.credentialsRefused(now: now)
        case .providerTokenExpired:
            self.busySucceeded()
            // Pushy saw connections stay stuck once APNs had called their token expired.
            self.retire(connection, now: now)
            if stream.tokenGeneration == self.tokenGeneration {
                self.tokenRefused(now: now, action: .renewToken(generation: stream.tokenGeneration))
            }
        case .providerTokenTooManyUpdates:
            self.busySucceeded()
            if stream.tokenGeneration == self.tokenGeneration {
                self.tokenRefused(now: now, action: .revertToken(generation: stream.tokenGeneration))
            }
        case .serverBusy:
            switch self.busyGate.failed(now: now, retryAfterSeconds: retryAfterSeconds, using: &self.random) {
            case .trip: self.actions.append(.alarmRaised(.serverBusy))
            case .none, .restAgain: break
            }
        case .connectionUnusable:
            self.busySucceeded()
            if !self.members[connection].life.isProven { self.countFailure(connection, now: now) }
            self.retire(connection, now: now)
        }
        return self.end(stream, tag, accepted: false, answeredMicros: micros)
    }

    /// The stream ended without a status.
    public mutating func failed(
        _ tag: UInt32, connection: Int, failure: Failure, now: EngineTime, micros: Int64
    ) -> PushEnd? {
        guard let stream = self.streams.stream(tag, connection: connection) else { return nil }
        let end = self.end(stream, tag, accepted: false, answeredMicros: nil)
        switch failure {
        case .notProcessed: self.refused(connection, now: now)
        case .unknown: break
        }
        return end.map { PushEnd(push: $0.push, micros: max(0, micros - stream.beganMicros)) }
    }

    /// The store has another token now; requests carry it from here on.
    public mutating func tokenReplaced(generation: UInt32) {
        self.tokenGeneration = generation
        let wasRefused = self.tokenGate.state != .flowing
        self.tokenGate.reset()
        if wasRefused { self.actions.append(.alarmCleared(.providerTokenRefused)) }
    }

    /// The key itself was replaced: connections that began under the old one must not see the new one's tokens (Apple:
    /// close them all).
    public mutating func keyReplaced(now: EngineTime) {
        let wasRefused = self.credentialGate.state != .flowing
        self.credentialGate.reset()
        if wasRefused { self.actions.append(.alarmCleared(.credentialsRefused)) }
        self.retireAll(now: now)
    }

    // MARK: Internals

    private mutating func end(
        _ stream: StreamTable.Stream, _ tag: UInt32, accepted: Bool, answeredMicros: Int64?
    ) -> PushEnd? {
        let connection = Int(stream.connection)
        self.streams.release(tag)
        let action = self.members[connection].life.streamEnded(accepted: accepted, answeredMicros: answeredMicros)
        self.refreshCredit(connection)
        switch action {
        case .closeDrained:
            self.members[connection].life.ended()
            self.actions.append(.close(connection: connection, reason: .drained))
        case .none:
            break
        }
        guard stream.state == .inFlight else { return nil }
        return PushEnd(push: stream.push, micros: max(0, (answeredMicros ?? stream.beganMicros) - stream.beganMicros))
    }

    /// A request was refused unprocessed. A connection that refuses without end would send the same pushes round in a
    /// circle.
    private mutating func refused(_ connection: Int, now: EngineTime) {
        self.members[connection].refusedInRow += 1
        // Lowering the limit with streams in flight refuses as many as there were: that alone is no reason to give up.
        let allowed =
            self.members[connection].life.isProven
            ? 2 * self.configuration.streamsPerConnectionMax + Self.refusedInRowMax : Self.refusedInRowMax
        guard self.members[connection].refusedInRow >= allowed else { return }
        self.countFailure(connection, now: now)
        self.retire(connection, now: now)
    }

    private mutating func busySucceeded() {
        switch self.busyGate.succeeded() {
        case .none: break
        case .resume: self.actions.append(.alarmCleared(.serverBusy))
        }
    }

    private mutating func credentialsSucceeded() {
        switch self.credentialGate.succeeded() {
        case .none: break
        case .resume: self.actions.append(.alarmCleared(.credentialsRefused))
        }
    }

    private mutating func tokenSucceeded() {
        switch self.tokenGate.succeeded() {
        case .none: break
        case .resume: self.actions.append(.alarmCleared(.providerTokenRefused))
        }
    }

    private mutating func credentialsRefused(now: EngineTime) {
        switch self.credentialGate.failed(now: now, using: &self.random) {
        case .none:
            break
        case .trip:
            self.actions.append(.alarmRaised(.credentialsRefused))
            // The first push ties a connection to team and topics: a probe needs a fresh one.
            self.retireAll(now: now)
        case .restAgain:
            self.retireAll(now: now)
        }
    }

    private mutating func tokenRefused(now: EngineTime, action: PoolAction) {
        switch self.tokenGate.failed(now: now, using: &self.random) {
        case .none:
            break
        case .trip:
            self.actions.append(.alarmRaised(.providerTokenRefused))
            self.actions.append(action)
        case .restAgain:
            self.actions.append(action)
        }
    }
}

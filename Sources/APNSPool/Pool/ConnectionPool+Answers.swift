public import APNSProtocol
public import PushModel

/// The effect of answers, and of missing answers, on the route and its connections.
extension ConnectionPool {
    /// Why a request ended without a status.
    public enum Failure: Equatable, Sendable, CaseIterable {
        /// The peer answered REFUSED_STREAM: not processed.
        case refused
        /// The request had not left completely, or was above a GOAWAY's last stream. It was not processed, and the
        /// connection is not at fault.
        case neverLeft
        /// APNs may have processed the request.
        case unknown
    }

    /// Takes a success, the usual case: a 200, or any 2xx about channels. Returns `nil` if the push had timed out
    /// before, or the tag is not in use. `micros` is steady time.
    public mutating func accepted(_ tag: UInt32, connection: Int, micros: Int64) -> PushEnd? {
        guard let stream = self.streams.stream(tag, connection: connection) else { return nil }
        self.members[connection].refusedInRow = 0
        if self.health.isSilent { self.health.wasAnswered() }
        self.busySucceeded()
        self.credentialsSucceeded(stream)
        self.tokenSucceeded()
        if stream.state == .inFlight { self.window.measureRoundTrip(afterMicros: max(0, micros - stream.beganMicros)) }
        return self.end(stream, tag, accepted: true, answeredMicros: micros)
    }

    /// Takes any other status, with its verdict. Returns `nil` in the same cases as `accepted`.
    public mutating func answered(
        _ tag: UInt32, connection: Int, verdict: Verdict, retryAfterSeconds: Int64?, now: EngineTime, micros: Int64
    ) -> PushEnd? {
        guard let stream = self.streams.stream(tag, connection: connection) else { return nil }
        self.members[connection].refusedInRow = 0
        if self.health.isSilent { self.health.wasAnswered() }
        switch verdict {
        case .accepted:
            return self.accepted(tag, connection: connection, micros: micros)
        case .tokenDead, .tokenThrottled:
            // APNs looked up the device token, so it accepted our credentials.
            self.busySucceeded()
            self.credentialsSucceeded(stream)
            self.tokenSucceeded()
        case .messageRefused, .expirationRefused:
            self.busySucceeded()
        case .topicRefused:
            self.busySucceeded()
            // A new key may be limited to certain topics, and not cover this one. The former key may still be accepted.
            if stream.tokenGeneration >= self.keyGeneration { self.trialFailed(stream) }
        case .credentialRefused:
            self.busySucceeded()
            self.credentialsRefused(stream, now: now)
        case .providerTokenExpired:
            self.busySucceeded()
            // The library Pushy found that a connection stays stuck once APNs has called its token expired.
            self.retire(connection, now: now)
            if stream.tokenGeneration == self.tokenGeneration {
                self.tokenRefused(
                    .providerTokenExpired, now: now, action: .renewToken(generation: stream.tokenGeneration))
            }
        case .providerTokenTooManyUpdates:
            self.busySucceeded()
            if stream.tokenGeneration == self.tokenGeneration {
                // APNs has refused the probe, too. The limit on new tokens is per connection, so another connection may
                // work.
                if self.tokenGate.state == .probing { self.retire(connection, now: now) }
                self.tokenRefused(
                    .providerTokenTooManyUpdates, now: now, action: .revertToken(generation: stream.tokenGeneration))
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

    /// Handles a refused topic that a newer connection might accept: the first push ties a connection to the topics its
    /// key has at that time (Apple). Returns `true` if the push may go over another connection. All connections that
    /// have carried requests are then retired, at most once in `TopicRefresh.pauseMillis` per app. The pause keeps an
    /// app with a wrong topic from closing other apps' connections again and again.
    public mutating func renewsForTopic(_ tag: UInt32, connection: Int, now: EngineTime) -> Bool {
        guard let stream = self.streams.stream(tag, connection: connection) else { return false }
        var refresh = self.topicRefreshes[stream.app] ?? TopicRefresh()
        let life = self.members[connection].life
        if life.beganMillis < refresh.atMillis { return true }
        // This request tied an unproven connection to the key's present topics, so another connection would not help.
        guard life.isProven, now.steadyMillis >= refresh.notBeforeMillis else { return false }
        if now.steadyMillis > refresh.notBeforeMillis &+ TopicRefresh.pauseMillisMax {
            refresh.pauseMillis = TopicRefresh.pauseMillisMin
        }
        refresh.atMillis = now.steadyMillis
        refresh.notBeforeMillis = now.steadyMillis + refresh.pauseMillis
        refresh.pauseMillis = min(2 * refresh.pauseMillis, TopicRefresh.pauseMillisMax)
        self.topicRefreshes[stream.app] = refresh
        // If all connections are retired already, others are being made in their place.
        if self.members.contains(where: { $0.isReady && $0.life.isUsable }) { self.replacementsDue += 1 }
        self.retireUsed(now: now)
        self.connectWhatIsDue(now: now)
        return true
    }

    /// Takes the end of a stream without a status. Returns `nil` in the same cases as `accepted`.
    public mutating func failed(
        _ tag: UInt32, connection: Int, failure: Failure, now: EngineTime, micros: Int64
    ) -> PushEnd? {
        guard let stream = self.streams.stream(tag, connection: connection) else { return nil }
        let end = self.end(stream, tag, accepted: false, answeredMicros: nil)
        switch failure {
        case .refused: self.refused(connection, now: now)
        case .neverLeft, .unknown: break
        }
        return end.map { PushEnd(push: $0.push, micros: max(0, micros - stream.beganMicros)) }
    }

    /// Takes another provider token, which all new requests carry. `isReturn`: it is the previous token, which changes
    /// places with the current one.
    ///
    /// Apple counts new tokens per connection, and a quiet connection sees a new token only with its next request. So a
    /// connection is retired if it got its last new token less than 20 minutes ago. But a connection stays if its last
    /// token, or the one before, is the token taken now.
    public mutating func tokenReplaced(generation: UInt32, isReturn: Bool = false, now: EngineTime) {
        self.tokenGeneration = generation
        if isReturn {
            swap(&self.tokenNumber, &self.tokenNumberBefore)
        } else {
            self.tokenCount &+= 1
            self.tokenNumberBefore = self.tokenNumber
            self.tokenNumber = self.tokenCount
        }
        let earliestMillis = now.steadyMillis - ProviderTokenSchedule.renewalDistanceSeconds * 1_000
        for connection in self.members.indices {
            let member = self.members[connection]
            guard let changed = member.tokenChangedMillis, changed > earliestMillis,
                member.tokenNumber != self.tokenNumber, member.tokenNumberBefore != self.tokenNumber
            else { continue }
            self.members[connection].endIsCounted = true
            self.replacementsDue += member.life.isUsable ? 1 : 0
            self.retire(connection, now: now)
        }
        self.connectWhatIsDue(now: now)
        self.tokenGate.reset()
        self.clearTokenAlarm()
    }

    /// Takes the change to another key. `firstGeneration` is the generation of the key's first token. `isUnproven`:
    /// APNs has not accepted the key yet. `isOnTrial`: there is another key to return to if APNs refuses this one.
    public mutating func keyReplaced(firstGeneration: UInt32, isUnproven: Bool, isOnTrial: Bool) {
        self.keyGeneration = firstGeneration
        self.isKeyUnproven = isUnproven
        self.isKeyOnTrial = isOnTrial
    }

    /// Retires connections that must not carry the new token: the key is another one (Apple: close them all), or the
    /// new token came too soon after the former one.
    public mutating func connectionsOutdated(now: EngineTime) {
        let wasRefused = self.credentialGate.isHolding
        self.credentialGate.reset()
        if wasRefused { self.actions.append(.alarmCleared(.credentialsRefused)) }
        self.retireUsed(now: now)
        self.connectWhatIsDue(now: now)
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

    /// Counts a refused stream. Retires a connection after too many in a row, because it would refuse the same pushes
    /// for ever.
    private mutating func refused(_ connection: Int, now: EngineTime) {
        if self.members[connection].refusedInRow == 0 {
            // A peer that lowers its limit refuses as many streams as were in flight. That alone is no reason to retire
            // the connection.
            self.members[connection].refusedInRowMax = self.members[connection].life.inFlight + Self.refusedInRowMax
        }
        self.members[connection].refusedInRow += 1
        self.members[connection].life.streamRefused()
        self.refreshCredit(connection)
        guard self.members[connection].refusedInRow >= self.members[connection].refusedInRowMax,
            self.members[connection].life.isUsable
        else { return }
        self.countFailure(connection, now: now)
        self.retire(connection, now: now)
    }

    private mutating func busySucceeded() {
        switch self.busyGate.succeeded() {
        case .none: break
        case .resume: self.actions.append(.alarmCleared(.serverBusy))
        }
    }

    /// Marks the key of the token in `stream` as accepted by APNs.
    private mutating func credentialsSucceeded(_ stream: StreamTable.Stream) {
        if self.isKeyUnproven, stream.tokenGeneration >= self.keyGeneration {
            self.isKeyUnproven = false
            self.isKeyOnTrial = false
            self.actions.append(.keyAccepted(generation: stream.tokenGeneration))
        }
        switch self.credentialGate.succeeded() {
        case .none: break
        case .resume: self.actions.append(.alarmCleared(.credentialsRefused))
        }
    }

    private mutating func tokenSucceeded() {
        if self.health.token != nil { self.health.token = nil }
        switch self.tokenGate.succeeded() {
        case .none: break
        case .resume: self.clearTokenAlarm()
        }
    }

    private mutating func clearTokenAlarm() {
        guard let alarm = self.tokenAlarm else { return }
        self.tokenAlarm = nil
        self.actions.append(.alarmCleared(alarm))
    }

    /// Ends the trial of the key in use. Returns `true` if there was one.
    @discardableResult private mutating func trialFailed(_ stream: StreamTable.Stream) -> Bool {
        guard self.isKeyOnTrial else { return false }
        self.isKeyOnTrial = false
        self.actions.append(.doubtToken(generation: stream.tokenGeneration))
        return true
    }

    private mutating func credentialsRefused(_ stream: StreamTable.Stream, now: EngineTime) {
        // An answer about an earlier key says nothing about the key in use.
        guard stream.tokenGeneration >= self.keyGeneration else { return }
        // With a key on trial, one answer is enough to return to the key that worked.
        guard !self.trialFailed(stream) else { return }
        switch self.credentialGate.failed(now: now, using: &self.random) {
        case .none:
            return
        case .trip:
            self.actions.append(.alarmRaised(.credentialsRefused))
        case .restAgain:
            break
        }
        // This makes the pool report when APNs next accepts the key.
        self.isKeyUnproven = true
        // A token signed while the clock was wrong is refused as invalid.
        if stream.tokenGeneration == self.tokenGeneration {
            self.actions.append(.doubtToken(generation: stream.tokenGeneration))
        }
        // The first push ties a connection to its key, so a probe needs a new connection.
        self.retireUsed(now: now)
    }

    private mutating func tokenRefused(_ alarm: RouteAlarm, now: EngineTime, action: PoolAction) {
        self.health.token =
            alarm == .providerTokenExpired ? .providerTokenExpired : .providerTokenTooManyUpdates
        switch self.tokenGate.failed(now: now, using: &self.random) {
        case .none:
            break
        case .trip:
            self.tokenAlarm = alarm
            self.actions.append(.alarmRaised(alarm))
            self.actions.append(action)
        case .restAgain:
            self.actions.append(action)
        }
    }
}

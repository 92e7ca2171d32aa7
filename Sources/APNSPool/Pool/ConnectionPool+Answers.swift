public import APNSProtocol
public import PushModel

/// What answers, or their absence, mean for the route and its connections.
extension ConnectionPool {
    /// How a request ended that got no status.
    public enum Failure: Equatable, Sendable, CaseIterable {
        /// The peer said REFUSED_STREAM: not processed.
        case refused
        /// It had not wholly left, or lay above a GOAWAY's last stream: not processed, and no fault of this connection.
        case neverLeft
        /// APNs may have processed it.
        case unknown
    }

    /// A 200, the steady case. `nil`: the push was answered before (it had timed out), or the tag is not in use.
    /// `micros`: steady time.
    public mutating func accepted(_ tag: UInt32, connection: Int, micros: Int64) -> PushEnd? {
        guard let stream = self.streams.stream(tag, connection: connection) else { return nil }
        self.members[connection].refusedInRow = 0
        if self.health.isSilent { self.health.wasAnswered() }
        self.busySucceeded()
        self.credentialsSucceeded(stream)
        self.tokenSucceeded()
        if stream.state == .inFlight { self.window.noteWay(afterMicros: max(0, micros - stream.beganMicros)) }
        return self.end(stream, tag, accepted: true, answeredMicros: micros)
    }

    /// Any other status, with its verdict.
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
            // APNs looked the device token up, so it took our credentials.
            self.busySucceeded()
            self.credentialsSucceeded(stream)
            self.tokenSucceeded()
        case .messageRefused, .expirationRefused:
            self.busySucceeded()
        case .topicRefused:
            self.busySucceeded()
            // A key for certain topics may not be for this one; the one that worked was.
            if stream.tokenGeneration >= self.keyGeneration { self.trialFailed(stream) }
        case .credentialRefused:
            self.busySucceeded()
            self.credentialsRefused(stream, now: now)
        case .providerTokenExpired:
            self.busySucceeded()
            // Pushy saw connections stay stuck once APNs had called their token expired.
            self.retire(connection, now: now)
            if stream.tokenGeneration == self.tokenGeneration {
                self.tokenRefused(
                    .providerTokenExpired, now: now, action: .renewToken(generation: stream.tokenGeneration))
            }
        case .providerTokenTooManyUpdates:
            self.busySucceeded()
            if stream.tokenGeneration == self.tokenGeneration {
                // Refused again: going back did not help. The rule is one per connection; another one may do.
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

    /// A topic was refused that a newer connection might take: the first push ties a connection to the topics its key
    /// has then (Apple). `true`: the push may go over another connection; this one and its like are being left for
    /// that, at most once in `TopicRefresh.pauseMillis` per app, so that an app with a wrong topic does not cost the
    /// others their connections.
    public mutating func renewsForTopic(_ tag: UInt32, connection: Int, now: EngineTime) -> Bool {
        guard let stream = self.streams.stream(tag, connection: connection) else { return false }
        var refresh = self.topicRefreshes[stream.app] ?? TopicRefresh()
        let life = self.members[connection].life
        if life.beganMillis < refresh.atMillis { return true }
        // The first push of a connection was tied to the topics of this very moment.
        guard life.isProven, now.steadyMillis >= refresh.notBeforeMillis else { return false }
        if now.steadyMillis > refresh.notBeforeMillis &+ TopicRefresh.pauseMillisMax {
            refresh.pauseMillis = TopicRefresh.pauseMillisMin
        }
        refresh.atMillis = now.steadyMillis
        refresh.notBeforeMillis = now.steadyMillis + refresh.pauseMillis
        refresh.pauseMillis = min(2 * refresh.pauseMillis, TopicRefresh.pauseMillisMax)
        self.topicRefreshes[stream.app] = refresh
        // Where all are leaving already, their successors are on their way.
        if self.members.contains(where: { $0.isReady && $0.life.isUsable }) { self.replacementsDue += 1 }
        self.retireUsed(now: now)
        self.connectWhatIsDue(now: now)
        return true
    }

    /// The stream ended without a status.
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

    /// The store has another token now; requests carry it from here on. `isReturn`: it is the one before the current
    /// one, which changes places with it.
    ///
    /// Apple counts new tokens per connection, and a quiet connection meets them late: one that met its last within 20
    /// minutes is left, however long ago that token was signed, unless it has carried this one, too.
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

    /// The token in use belongs to the key whose first token had this generation. `isUnproven`: nobody has seen APNs take
    /// the key yet. `isOnTrial`: if it does not, there is another to go back to.
    public mutating func keyReplaced(firstGeneration: UInt32, isUnproven: Bool, isOnTrial: Bool) {
        self.keyGeneration = firstGeneration
        self.isKeyUnproven = isUnproven
        self.isKeyOnTrial = isOnTrial
    }

    /// The new token must not be seen by connections that began before: the key is another one (Apple: close them all),
    /// or the token came sooner than a connection may change it.
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

    /// The peer refused a stream. A connection that refuses without end would send the same pushes round in a circle.
    private mutating func refused(_ connection: Int, now: EngineTime) {
        if self.members[connection].refusedInRow == 0 {
            // Lowering the limit with streams in flight refuses as many as there were: that alone is no reason to give
            // up.
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

    /// The token in `stream` is of a key that APNs takes.
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

    /// `true`: the key in use was on trial, and is no longer.
    @discardableResult private mutating func trialFailed(_ stream: StreamTable.Stream) -> Bool {
        guard self.isKeyOnTrial else { return false }
        self.isKeyOnTrial = false
        self.actions.append(.doubtToken(generation: stream.tokenGeneration))
        return true
    }

    private mutating func credentialsRefused(_ stream: StreamTable.Stream, now: EngineTime) {
        // An answer about the key before says nothing of this one.
        guard stream.tokenGeneration >= self.keyGeneration else { return }
        // With one at hand that worked, one answer is enough to go back to it.
        guard !self.trialFailed(stream) else { return }
        switch self.credentialGate.failed(now: now, using: &self.random) {
        case .none:
            return
        case .trip:
            self.actions.append(.alarmRaised(.credentialsRefused))
        case .restAgain:
            break
        }
        // That it is taken again will be news.
        self.isKeyUnproven = true
        // A token signed while the clock was wrong is refused as invalid.
        if stream.tokenGeneration == self.tokenGeneration {
            self.actions.append(.doubtToken(generation: stream.tokenGeneration))
        }
        // The first push ties a connection to its key: a probe needs a fresh one.
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

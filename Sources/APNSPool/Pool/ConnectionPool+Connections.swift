import APNSProtocol
public import PushModel

/// Events and deadlines of connections. Decides when another connection is opened.
extension ConnectionPool {
    /// Opens the warm connections.
    public mutating func start(now: EngineTime) {
        self.isStarted = true
        self.connectWhatIsDue(now: now)
    }

    /// Remembers that pushes are ready and that there is no credit for them. Opens the first connection at once, and a
    /// further one after `growthPauseMillis`.
    public mutating func wanted(now: EngineTime) {
        guard self.credit == 0 else { return }
        self.waitsForWindow =
            self.configuration.limitsInFlight && self.creditSum > 0
            && self.unansweredCount >= self.window.count
        // There are free streams, so a further connection would not help.
        guard !self.waitsForWindow else { return }
        if !self.hasDemand, now.steadyMillis > self.lastWantedMillis + Self.demandMemoryMillis {
            self.waitingSinceMillis = now.steadyMillis
        }
        self.lastWantedMillis = now.steadyMillis
        self.hasDemand = true
        self.connectWhatIsDue(now: now)
    }

    // MARK: Events of a connection

    /// Takes the event that TCP has connected. TLS and the peer's first SETTINGS follow.
    public mutating func transportConnected(_ connection: Int, now: EngineTime) {
        self.members[connection].life.transportConnected(now: now)
    }

    /// Takes SETTINGS. The first SETTINGS make the connection ready. Later ones change its credit at once.
    public mutating func settingsReceived(_ connection: Int, streamsMax: Int, now: EngineTime) {
        switch self.members[connection].life.settingsReceived(streamsMax: streamsMax, now: now) {
        case .becameReady: self.members[connection].isReady = true
        case .limitChanged, .ignore: break
        }
        if self.members[connection].offersStreams {
            self.members[connection].slowness = nil
            self.health.reached()
        }
        self.refreshCredit(connection)
    }

    /// Takes the event that bytes arrived. The peer lives, and an unanswered PING counts as answered.
    public mutating func bytesReceived(_ connection: Int, now: EngineTime) {
        self.members[connection].life.bytesReceived(now: now)
    }

    /// Takes the event that the connection's output buffer is full (`true`), or has room again.
    public mutating func outputBlocked(_ connection: Int, _ blocked: Bool) {
        self.members[connection].life.outputBlocked(blocked)
        self.refreshCredit(connection)
    }

    /// Takes a GOAWAY. The connection takes no new requests, and its streams up to the last one that GOAWAY names
    /// finish. `isError`: the code of GOAWAY is not NO_ERROR.
    public mutating func goAwayReceived(_ connection: Int, isError: Bool, now: EngineTime) {
        guard self.members[connection].isInUse else { return }
        let life = self.members[connection].life
        // If a server sends GOAWAY on each new connection, the next connection must not follow without a pause.
        if isError || now.steadyMillis - life.beganMillis < self.configuration.lifeMillisMin {
            self.countFailure(connection, now: now)
        }
        if life.isProven, life.isUsable, !self.isShutDown { self.replacementsDue += 1 }
        self.retire(connection, now: now)
        self.connectWhatIsDue(now: now)
    }

    /// Retires the connection, because its HTTP/2 session takes no more requests.
    public mutating func requestsRefused(_ connection: Int, now: EngineTime) {
        self.retire(connection, now: now)
    }

    /// Removes a connection that could not be made, was lost, or was closed as requested. Its number is free again.
    /// Returns the requests still in flight, whose result is unknown. `fault`: why the connection could not be made, if
    /// known.
    public mutating func connectionEnded(
        _ connection: Int, fault: ConnectFault = .network, now: EngineTime, micros: Int64
    ) -> [PushEnd] {
        let member = self.members[connection]
        guard member.isInUse else { return [] }
        let left: [PushEnd] = self.streams.tags(connection: connection).compactMap { tag in
            guard let stream = self.streams.stream(tag, connection: connection) else { return nil }
            self.streams.release(tag)
            guard stream.state == .inFlight else { return nil }
            return PushEnd(push: stream.push, micros: max(0, micros - stream.beganMicros))
        }
        // Actions for this connection must not reach the next connection that gets its number.
        self.actions.removeAll { $0.connectionToTouch == connection }
        self.creditSum -= member.credit
        self.members[connection] = Member(configuration: self.configuration)
        self.updateTrouble(of: member, fault: fault, now: now)
        self.countEnd(of: member, now: now)
        self.connectWhatIsDue(now: now)
        return left
    }

    /// Stops new requests. Connections without requests are closed; the others drain.
    public mutating func shutDown(now: EngineTime) {
        self.isShutDown = true
        for connection in self.members.indices { self.retire(connection, now: now, reason: .shutdown) }
    }

    // MARK: Time

    /// Ends the round of the in-flight window if it is over. More or fewer requests may then be in flight. The call is
    /// cheap; make it once per turn. `busyMicros` returns the total time for which this thread has run or waited for a
    /// core so far; `nil` if unknown. The closure is called only at the end of a round.
    public mutating func lookAtWindow(micros: Int64, busyMicros: () -> Int64?) {
        guard self.configuration.limitsInFlight else { return }
        let hasGrown = self.window.look(nowMicros: micros, isWanted: self.waitsForWindow, busyMicros: busyMicros)
        // A wider window ends the wait even without an answer, because answers may never arrive.
        if hasGrown { self.waitsForWindow = false }
    }

    /// Does what is due: times out requests (see `timedOut`), sends PINGs, and handles deadlines of connections, ends
    /// of pauses and connection attempts.
    public mutating func advance(now: EngineTime, micros: Int64) {
        self.lookAtWindow(micros: micros) { nil }
        for connection in self.members.indices where self.members[connection].isInUse {
            self.timeOutRequests(connection, now: now, micros: micros)
            let action = self.members[connection].life.deadlineReached(now: now, mayCloseIdle: self.mayCloseIdle)
            self.refreshCredit(connection)
            switch action {
            case .none: break
            case .ping: self.actions.append(.ping(connection: connection))
            case .closeIdle: self.actions.append(.close(connection: connection, reason: .idle))
            case .close(let reason):
                self.countFailure(connection, now: now)
                self.actions.append(.close(connection: connection, reason: reason))
            case .retireDenied:
                if !self.members.contains(where: \.offersStreams) { self.health.connecting = .noStreams }
                self.countFailure(connection, now: now)
                self.retire(connection, now: now, reason: .denied)
            }
        }
        self.updateSlowness(now: now)
        _ = self.busyGate.advance(now: now)
        _ = self.credentialGate.advance(now: now)
        _ = self.tokenGate.advance(now: now)
        self.connectWhatIsDue(now: now)
    }

    /// The next time at which `advance` has something to do, steady milliseconds; `nil` if only events matter.
    public var nextDeadlineMillis: Int64? {
        var next = Int64.max
        let mayCloseIdle = self.mayCloseIdle
        for connection in self.members.indices where self.members[connection].isInUse {
            next = min(next, self.members[connection].life.nextDeadlineMillis(mayCloseIdle: mayCloseIdle) ?? .max)
            if let tag = self.streams.oldest(connection: connection) {
                next = min(next, self.deadlineMillis(ofRequestBegunMicros: self.streams.streams[Int(tag)].beganMicros))
            }
        }
        next = min(next, self.busyGate.nextDeadlineMillis ?? .max, self.credentialGate.nextDeadlineMillis ?? .max)
        next = min(next, self.tokenGate.nextDeadlineMillis ?? .max, self.nextConnectMillis ?? .max)
        next = min(next, self.nextTroubleMillis)
        if self.waitsForWindow { next = min(next, (self.window.roundEndsMicros + 999) / 1_000) }
        return next == .max ? nil : next
    }

    // MARK: Internals

    private func deadlineMillis(ofRequestBegunMicros micros: Int64) -> Int64 {
        // The time is rounded up, so that the request is overdue when a timer for this time fires.
        (micros + 999) / 1_000 + self.configuration.requestTimeoutMillis
    }

    private mutating func timeOutRequests(_ connection: Int, now: EngineTime, micros: Int64) {
        while let tag = self.streams.oldest(connection: connection) {
            let stream = self.streams.streams[Int(tag)]
            guard now.steadyMillis >= self.deadlineMillis(ofRequestBegunMicros: stream.beganMicros) else { return }
            self.streams.abandon(tag)
            self.timedOut.append(
                TimedOutPush(
                    push: stream.push, micros: max(0, micros - stream.beganMicros), connection: connection,
                    streamID: stream.streamID))
            self.actions.append(.reset(connection: connection, streamID: stream.streamID))
            switch self.members[connection].life.requestTimedOut(micros: micros) {
            case .keepConnection: break
            case .retireStalled:
                self.countFailure(connection, now: now)
                self.retire(connection, now: now)
            }
            // The route has fallen silent if no connection got an answer since this request left.
            let lastAnswerMicros = self.members.reduce(Int64.min) { max($0, $1.life.lastAnswerMicros) }
            if lastAnswerMicros < stream.beganMicros { self.health.fellSilent(now: now) }
        }
    }

    /// Whether idle connections may be closed, because the warm ones remain. A connection that is being made does not
    /// count.
    private var mayCloseIdle: Bool {
        self.members.count { $0.isReady && $0.life.isUsable } > self.configuration.connectionsWarm
    }

    private var usableCount: Int { self.members.count { $0.life.isUsable } }

    private mutating func countEnd(of member: Member, now: EngineTime) {
        guard !self.isShutDown, !member.endIsCounted else { return }
        let isYoung = now.steadyMillis - member.life.beganMillis < self.configuration.lifeMillisMin
        let wasOfNoUse = !member.isReady || (!member.life.isProven && member.requestsBegan > 0)
        if isYoung || wasOfNoUse { self.backOff(for: member, now: now) } else { self.connectBackoff.succeeded() }
    }

    /// When the next connection must be opened, steady milliseconds; `nil` if none is needed.
    private var nextConnectMillis: Int64? {
        guard !self.isShutDown, self.members.contains(where: { !$0.isInUse }) else { return nil }
        let usable = self.usableCount
        guard usable < max(1, self.configuration.connectionsMax) else { return nil }
        guard !self.isResting else { return nil }
        if usable > 0, self.isScouting {
            let isWanted =
                self.replacementsDue > 0 || self.hasDemand
                || self.isStarted && usable < self.configuration.connectionsWarm
            let startsUntilMillis = self.startsUntilMillis
            return isWanted && startsUntilMillis < .max ? max(self.connectNotBeforeMillis, startsUntilMillis) : nil
        }
        if self.isStarted, usable < self.configuration.connectionsWarm { return self.connectNotBeforeMillis }
        if self.replacementsDue > 0 { return self.connectNotBeforeMillis }
        guard self.hasDemand else { return nil }
        if usable == 0 { return self.connectNotBeforeMillis }
        // While a gate lets only probes through, one connection is enough.
        guard !self.isHolding else { return nil }
        let startsUntilMillis = self.startsUntilMillis
        guard startsUntilMillis < .max else { return nil }
        return max(
            self.connectNotBeforeMillis, self.waitingSinceMillis + self.configuration.growthPauseMillis,
            startsUntilMillis)
    }

    /// Whether connections cannot be made, or answer nothing. Single new attempts then find out when the trouble is
    /// over. A new attempt does not wait long for an older one that hangs.
    private var isScouting: Bool {
        if self.health.mutesInRow > 0 {
            return !self.members.contains { $0.isReady && $0.life.isUsable && $0.life.hasAnswered }
        }
        return self.health.connecting != nil && !self.members.contains(where: \.offersStreams)
    }

    /// The pool waits for starting connections until this time, steady milliseconds.
    private var startsUntilMillis: Int64 { self.members.reduce(Int64.min) { max($0, $1.life.startsUntilMillis) } }

    /// Whether a gate lets at most a probe through.
    private var isHolding: Bool {
        self.busyGate.isHolding || self.credentialGate.isHolding || self.tokenGate.isHolding
    }

    /// Whether a gate lets nothing through at all.
    private var isResting: Bool {
        self.busyGate.nextDeadlineMillis != nil || self.credentialGate.nextDeadlineMillis != nil
            || self.tokenGate.nextDeadlineMillis != nil
    }

    mutating func connectWhatIsDue(now: EngineTime) {
        while let due = self.nextConnectMillis, due <= now.steadyMillis,
            let connection = self.members.firstIndex(where: { !$0.isInUse })
        {
            self.members[connection] = Member(configuration: self.configuration, beginningAt: now)
            self.replacementsDue = max(0, self.replacementsDue - 1)
            self.waitingSinceMillis = now.steadyMillis
            self.actions.append(.connect(connection: connection))
        }
    }
}

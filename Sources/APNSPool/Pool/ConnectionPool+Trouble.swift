import APNSProtocol
import PushModel

/// Trouble of the route as a whole, for an operator.
extension ConnectionPool {
    /// Why nothing can be pushed now; `nil` if no trouble is known. Answers of APNs take precedence over guesses from
    /// its silence.
    public var trouble: RouteTrouble? {
        if self.isShutDown { return nil }
        if self.credentialGate.isHolding { return .credentialsRefused }
        if let token = self.health.token { return token }
        if self.busyGate.isHolding { return .serverBusy }
        if !self.members.contains(where: \.offersStreams) {
            if let failed = self.health.connecting { return failed }
            if let slow = self.members.first(where: { $0.slowness != nil && $0.life.isUsable }) { return slow.slowness }
        }
        return self.health.silentUntilMillis == nil ? nil : .noAnswers
    }

    /// Whether a connection of this pool has offered streams at least once.
    public var wasReached: Bool { self.health.wasReached }

    private static func trouble(ofSlow member: Member) -> RouteTrouble? {
        switch member.life.phase {
        case .connecting: .silentNetwork
        case .handshaking: .silentServer
        case .probing, .open: .noStreams
        case .draining, .closed: nil
        }
    }

    /// Remembers the trouble that the end of a connection shows, if any.
    mutating func updateTrouble(of member: Member, fault: ConnectFault, now: EngineTime) {
        guard !self.isShutDown else { return }
        if member.isReady {
            if member.requestsBegan > 0, !member.life.hasAnswered { self.health.mute(now: now) }
            if member.slowness == .noStreams, !self.members.contains(where: \.offersStreams) {
                self.health.connecting = .noStreams
            }
            return
        }
        // While other connections serve, a failed one does not count as trouble of the route.
        guard !self.members.contains(where: \.offersStreams) else { return }
        switch fault {
        case .notAPNs: self.health.connecting = .notAPNs
        case .network: self.health.connecting = member.slowness ?? .unreachable
        }
    }

    mutating func updateSlowness(now: EngineTime) {
        for connection in self.members.indices {
            guard let due = self.members[connection].slowAtMillis, now.steadyMillis >= due else { continue }
            self.members[connection].slowness = Self.trouble(ofSlow: self.members[connection])
        }
        if let until = self.health.silentUntilMillis, now.steadyMillis >= until { self.health.wasAnswered() }
    }

    /// The next time at which `updateSlowness` has something to do.
    var nextTroubleMillis: Int64 {
        self.members.reduce(self.health.silentUntilMillis ?? .max) { min($0, $1.slowAtMillis ?? .max) }
    }
}

extension ConnectionPool.Member {
    /// Whether requests may go over the connection, now or after others have been answered.
    var offersStreams: Bool { self.isReady && self.life.isUsable && self.life.peerStreamsMax > 0 }

    /// When the connection will count as slow, steady milliseconds; `nil` if it does already, offers streams, or is
    /// ending.
    var slowAtMillis: Int64? {
        guard self.isInUse, self.slowness == nil, self.life.isUsable, !self.offersStreams else { return nil }
        let since = self.isReady ? self.life.deniedSinceMillis ?? self.life.beganMillis : self.life.beganMillis
        return since + RouteHealth.slowMillis
    }
}

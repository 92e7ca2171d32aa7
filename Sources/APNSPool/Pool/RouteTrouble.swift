import PushModel

/// Why nothing can be pushed on a route now, as far as its pool knows. In the order of how much is known.
public enum RouteTrouble: Equatable, Sendable, CaseIterable {
    /// Requests leave and nothing comes back.
    case noAnswers
    /// An attempt to connect takes long, before TCP is up.
    case silentNetwork
    /// TCP is up, but TLS or the peer's SETTINGS take long.
    case silentServer
    /// The last attempt to connect failed: nobody answers there.
    case unreachable
    /// The peer's SETTINGS allow no request.
    case noStreams
    /// Somebody answers there who is not APNs: a certificate that is not believed, no HTTP/2.
    case notAPNs
    /// APNs answers with server errors: the breaker is open.
    case serverBusy
    /// Key, topic or environment are wrong.
    case credentialsRefused
    /// APNs calls the provider token expired.
    case providerTokenExpired
    /// APNs calls the provider token renewed too often.
    case providerTokenTooManyUpdates
}

/// Why a connection could not be made.
public enum ConnectFault: Equatable, Sendable, CaseIterable {
    /// No name, no TCP connection, or it ended too soon.
    case network
    /// What answered is not APNs: its certificate or its protocol is not.
    case notAPNs
}

/// What a pool remembers of troubles that outlive a connection.
public struct RouteHealth: Sendable {
    /// An attempt that is of no use after this long counts as trouble.
    public static let slowMillis: Int64 = 3_000
    /// Connections in a row that took requests and answered none, from which on that is trouble.
    static let mutesInRowMin = 3
    /// Silence is believed so long without further evidence: there may be nothing more to send.
    static let silenceMillis: Int64 = 300_000

    /// A connection has offered streams at least once.
    var wasReached = false
    /// Why no connection could be made, since one last offered streams.
    var connecting: RouteTrouble?
    /// What the last answer said of the provider token, if nothing else.
    var token: RouteTrouble?
    /// Requests leave and nothing comes back: until when that is believed.
    var silentUntilMillis: Int64?
    var mutesInRow = 0

    /// A connection offers streams.
    mutating func reached() {
        self.wasReached = true
        self.connecting = nil
    }

    /// No request was answered in time.
    mutating func fellSilent(now: EngineTime) { self.silentUntilMillis = now.steadyMillis + Self.silenceMillis }

    /// A connection has ended that took requests and answered none.
    mutating func mute(now: EngineTime) {
        self.mutesInRow += 1
        if self.mutesInRow >= Self.mutesInRowMin { self.fellSilent(now: now) }
    }

    /// Any status came.
    mutating func wasAnswered() {
        self.silentUntilMillis = nil
        self.mutesInRow = 0
    }

    var isSilent: Bool { self.silentUntilMillis != nil || self.mutesInRow > 0 }
}

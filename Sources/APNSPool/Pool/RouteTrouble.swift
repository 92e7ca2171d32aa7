import PushModel

/// Why nothing can be pushed on a route now, as far as its pool knows. The cases are in order of how much is known.
public enum RouteTrouble: Equatable, Sendable, CaseIterable {
    /// Requests leave, and no answers arrive.
    case noAnswers
    /// TCP takes long to connect.
    case silentNetwork
    /// TCP is up, but TLS or the peer's SETTINGS take long.
    case silentServer
    /// The last attempt to connect failed: nobody answers at the address.
    case unreachable
    /// The peer's SETTINGS allow no request.
    case noStreams
    /// The peer is not APNs: its certificate is not trusted, or it does not speak HTTP/2.
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
    /// The name was not found, TCP did not connect, or the connection ended too soon.
    case network
    /// The peer is not APNs: its certificate or its protocol is wrong.
    case notAPNs
}

/// The troubles that a pool remembers beyond the life of a connection.
public struct RouteHealth: Sendable {
    /// Time after which an attempt that is of no use counts as trouble.
    public static let slowMillis: Int64 = 3_000
    /// This many connections in a row that took requests and answered none count as trouble.
    static let mutesInRowMin = 3
    /// How long silence counts as trouble without further evidence. Perhaps nothing more is being sent.
    static let silenceMillis: Int64 = 300_000

    /// Whether a connection has offered streams at least once.
    var wasReached = false
    /// Why no connection could be made, since one last offered streams.
    var connecting: RouteTrouble?
    /// What the last answer said about the provider token, if it said nothing else.
    var token: RouteTrouble?
    /// Time until which missing answers count as trouble.
    var silentUntilMillis: Int64?
    var mutesInRow = 0

    /// Forgets why connecting failed: a connection offers streams.
    mutating func reached() {
        self.wasReached = true
        self.connecting = nil
    }

    /// Begins a silence: no request was answered in time.
    mutating func fellSilent(now: EngineTime) { self.silentUntilMillis = now.steadyMillis + Self.silenceMillis }

    /// Counts a connection that took requests, answered none and ended.
    mutating func mute(now: EngineTime) {
        self.mutesInRow += 1
        if self.mutesInRow >= Self.mutesInRowMin { self.fellSilent(now: now) }
    }

    /// Ends the silence: some status arrived.
    mutating func wasAnswered() {
        self.silentUntilMillis = nil
        self.mutesInRow = 0
    }

    var isSilent: Bool { self.silentUntilMillis != nil || self.mutesInRow > 0 }
}

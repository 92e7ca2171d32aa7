import PushModel

/// Why nothing can be pushed on a route now, as far as its pool knows. The first cases are guesses from silence; the
/// last ones are answers of APNs.
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
    /// Key, topic or environment is wrong.
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
    /// A connection that has offered no streams for this long counts as trouble, milliseconds.
    public static let slowMillis: Int64 = 3_000
    /// There is trouble after this number of connections in a row that took requests and answered none.
    static let mutesInRowMin = 3
    /// How long silence counts as trouble without further evidence, milliseconds. After that, answers may be missing
    /// only because no requests are sent.
    static let silenceMillis: Int64 = 300_000

    /// Whether a connection has offered streams at least once.
    var wasReached = false
    /// Why connecting last failed; `nil` if a connection has offered streams since.
    var connecting: RouteTrouble?
    /// How APNs has refused the provider token; `nil` if it has accepted one since.
    var token: RouteTrouble?
    /// Missing answers count as trouble until this time, steady milliseconds; `nil` if none are missing.
    var silentUntilMillis: Int64?
    var mutesInRow = 0

    /// Forgets why connecting failed, because a connection offers streams.
    mutating func reached() {
        self.wasReached = true
        self.connecting = nil
    }

    /// Begins or prolongs a silence, because requests get no answers.
    mutating func fellSilent(now: EngineTime) { self.silentUntilMillis = now.steadyMillis + Self.silenceMillis }

    /// Counts a connection that took requests, answered none and ended.
    mutating func mute(now: EngineTime) {
        self.mutesInRow += 1
        if self.mutesInRow >= Self.mutesInRowMin { self.fellSilent(now: now) }
    }

    /// Ends the silence, because a status arrived or the silence has lasted for `silenceMillis`.
    mutating func wasAnswered() {
        self.silentUntilMillis = nil
        self.mutesInRow = 0
    }

    var isSilent: Bool { self.silentUntilMillis != nil || self.mutesInRow > 0 }
}

public import PushModel

/// An action for the runner of a `ConnectionPool`. The runner carries actions out in order. `connection` is a number
/// below `ConnectionPool.connectionCountMax`.
public enum PoolAction: Equatable, Sendable {
    /// Look up the name again and connect. Report `transportConnected`, `settingsReceived` or `connectionEnded`.
    case connect(connection: Int)
    /// Send a PING.
    case ping(connection: Int)
    /// Reset a stream whose push has timed out.
    case reset(connection: Int, streamID: Int32)
    /// Send GOAWAY if that is still possible, close, give each remaining request its final answer, then report
    /// `connectionEnded`.
    case close(connection: Int, reason: ConnectionCloseReason)
    /// Renew the provider token, because APNs called the token of this generation expired.
    case renewToken(generation: UInt32)
    /// Return to the previous token, because APNs said that the token of this generation came too soon.
    case revertToken(generation: UInt32)
    /// Check the token of this generation, because APNs refuses our credentials. Its issue time may be wrong, or its
    /// key invalid.
    case doubtToken(generation: UInt32)
    /// Mark the key of this token as accepted: APNs has accepted a push signed with the key.
    case keyAccepted(generation: UInt32)
    /// Raise an alarm for the operator. `alarmCleared` follows when it is over.
    case alarmRaised(RouteAlarm)
    /// End the alarm.
    case alarmCleared(RouteAlarm)

    /// The existing connection that the action is about; `nil` for other actions.
    var connectionToTouch: Int? {
        switch self {
        case .ping(let connection), .reset(let connection, _), .close(let connection, _): connection
        case .connect, .renewToken, .revertToken, .doubtToken, .keyAccepted, .alarmRaised, .alarmCleared: nil
        }
    }
}

/// A state of a route that an operator should know of.
public enum RouteAlarm: Equatable, Sendable, CaseIterable {
    /// Key, topic or environment is wrong: the route is stopped, except for a probe now and then.
    case credentialsRefused
    /// APNs answers with server errors: the breaker is open.
    case serverBusy
    /// The provider token is refused as too old: the clock may be wrong.
    case providerTokenExpired
    /// The provider token is refused as renewed too often.
    case providerTokenTooManyUpdates
}

/// One request that is about to begin: the connection that carries it, and its tag there.
public struct StreamLease: Equatable, Sendable {
    /// The connection's number, below `ConnectionPool.connectionCountMax`.
    public var connection: Int
    /// The tag of the request on that connection until it ends, for `HTTP2ClientSession.submit`.
    public var tag: UInt32
}

/// A push that got no answer in time. The session of its connection knows whether the request had left.
public struct TimedOutPush: Equatable, Sendable {
    /// The attempt that got no answer.
    public var push: PushID
    /// Microseconds since the push's departure.
    public var micros: Int64
    /// The number of the push's connection.
    public var connection: Int
    /// The HTTP/2 stream on that connection. The pool has asked to reset it.
    public var streamID: Int32
}

/// The end of one push attempt: its id and duration.
public struct PushEnd: Equatable, Sendable {
    /// The attempt that ended.
    public var push: PushID
    /// Microseconds from the attempt's departure to its end.
    public var micros: Int64

    public init(push: PushID, micros: Int64) {
        self.push = push
        self.micros = micros
    }
}

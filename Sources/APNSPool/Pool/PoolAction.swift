public import PushModel

/// What the runner of a `ConnectionPool` has to carry out, in order. `connection` is a number below
/// `ConnectionPool.connectionCountMax`.
public enum PoolAction: Equatable, Sendable {
    /// Look the name up afresh and connect. Report `transportConnected`, `settingsReceived`, or `connectionEnded`.
    case connect(connection: Int)
    /// Send a PING.
    case ping(connection: Int)
    /// Reset a stream whose push was answered as timed out.
    case reset(connection: Int, streamID: Int32)
    /// Say GOAWAY if that is still possible, close, give each request left its final answer, then report
    /// `connectionEnded`.
    case close(connection: Int, reason: ConnectionCloseReason)
    /// APNs called the token of this generation expired: a new one is needed.
    case renewToken(generation: UInt32)
    /// APNs calls the token of this generation one too many: go back to the one before.
    case revertToken(generation: UInt32)
    /// APNs refuses our credentials: the token of this generation may be signed with a wrong time, or with a key that is
    /// no good.
    case doubtToken(generation: UInt32)
    /// APNs took a push that carried the token of this generation, the first with its key.
    case keyAccepted(generation: UInt32)
    /// For the operator; `alarmCleared` follows when it is over.
    case alarmRaised(RouteAlarm)
    /// What the alarm told of is over.
    case alarmCleared(RouteAlarm)

    /// The living connection it is about.
    var connectionToTouch: Int? {
        switch self {
        case .ping(let connection), .reset(let connection, _), .close(let connection, _): connection
        case .connect, .renewToken, .revertToken, .doubtToken, .keyAccepted, .alarmRaised, .alarmCleared: nil
        }
    }
}

/// A state of a route that an operator should know of.
public enum RouteAlarm: Equatable, Sendable, CaseIterable {
    /// Key, topic or environment are wrong: the route stands still but for a probe now and then.
    case credentialsRefused
    /// APNs answers with server errors: the breaker is open.
    case serverBusy
    /// The provider token is refused as too old: the clock may be wrong.
    case providerTokenExpired
    /// The provider token is refused as renewed too often.
    case providerTokenTooManyUpdates
}

/// One request about to begin: which connection carries it, and the tag that names it there.
public struct StreamLease: Equatable, Sendable {
    /// The connection's number, below `ConnectionPool.connectionCountMax`.
    public var connection: Int
    /// Names the request on that connection until it ends; goes into `HTTP2ClientSession.submit`.
    public var tag: UInt32
}

/// A push that got no answer in time. Its request may not even have left: the session of its connection knows.
public struct TimedOutPush: Equatable, Sendable {
    /// The attempt that got no answer.
    public var push: PushID
    /// Since its leaving, microseconds.
    public var micros: Int64
    /// The connection it was on, by its number.
    public var connection: Int
    /// Its HTTP/2 stream on that connection; the pool has asked for its reset.
    public var streamID: Int32
}

/// The end of one push attempt: which, and how long it took from its leaving, in microseconds.
public struct PushEnd: Equatable, Sendable {
    /// The attempt that ended.
    public var push: PushID
    /// From its leaving to its end, microseconds.
    public var micros: Int64

    public init(push: PushID, micros: Int64) {
        self.push = push
        self.micros = micros
    }
}

public import PushModel

/// One APNs connection as its pool sees it: what it may carry, and when to ping, retire or close it. It only decides,
/// and never touches a socket, a clock or a lock.
public struct ConnectionLife: Sendable {
    /// The phase of a connection. Each case names the phases that may follow.
    public enum Phase: Equatable, Sendable {
        /// Name lookup and TCP. Changes to `handshaking` or `closed`.
        case connecting
        /// TLS, then the peer's first SETTINGS. Changes to `probing` or `closed`.
        case handshaking
        /// One request at a time: APNs allows one stream until a request with a valid provider token has arrived.
        /// Changes to `open` with the first accepted push, to `draining` or to `closed`.
        case probing
        /// As many requests as the peer's current SETTINGS allow. Changes to `draining` or `closed`.
        case open
        /// No new requests; those in flight finish. Changes to `closed`.
        case draining
        /// Nothing can be sent or received. This phase is final.
        case closed
    }

    /// The effect of SETTINGS: the connection may carry its first request, its limit has changed, or nothing.
    public enum SettingsAction: Equatable, Sendable { case becameReady, limitChanged, ignore }
    /// What to do with a connection that must take no new requests.
    public enum DrainAction: Equatable, Sendable {
        /// Close the connection now; wait for its unanswered requests; or do nothing, because it is draining or closed
        /// already.
        case closeNow, waitForStreams(count: Int), alreadyDraining, alreadyClosed
    }
    /// The effect of a request's end on its connection. `closeDrained`: the last request of a draining connection
    /// ended, and the connection must be closed.
    public enum StreamEndAction: Equatable, Sendable { case none, closeDrained }
    /// The effect of a request's timeout on its connection. `retireStalled`: the connection is stalled, and must take
    /// no more requests.
    public enum TimeoutAction: Equatable, Sendable { case keepConnection, retireStalled }
    /// What to do with a connection when a deadline is reached.
    public enum DeadlineAction: Equatable, Sendable {
        /// Nothing is due; send a PING; close the idle connection; or close it for the reason given.
        case none, ping, closeIdle, close(ConnectionCloseReason)
        /// Retire the connection, because the peer allows no requests at all.
        case retireDenied
    }

    /// Number of timeouts in a row after which a connection is retired.
    public static let timeoutsInRowMax = 3
    /// How long a starting connection, whose capacity is still unknown, delays the opening of another, milliseconds.
    public static let startPatienceMillis: Int64 = 2_000

    /// The current phase.
    public private(set) var phase = Phase.connecting
    /// Number of requests that began and have not ended.
    public private(set) var inFlight = 0
    /// The peer's latest SETTINGS_MAX_CONCURRENT_STREAMS.
    public private(set) var peerStreamsMax = Int.max
    /// Number of requests that this connection may still begin.
    public private(set) var requestsLeft: Int
    /// Whether a push was accepted on this connection.
    public private(set) var isProven = false
    /// Whether the peer reads our bytes too slowly. No more requests begin until it has caught up.
    public private(set) var isBlocked = false
    /// When connecting began, steady milliseconds.
    public let beganMillis: Int64

    private let streamsMax: Int
    private let connectDeadlineMillis: Int64
    private var drainDeadlineMillis: Int64 = .max
    private var lastReceivedMillis: Int64
    private var lastRequestMillis: Int64
    /// When a request was last answered with a status, steady microseconds.
    private(set) var lastAnswerMicros: Int64 = .min
    private var timeoutsInRow = 0
    private var pingSentMillis: Int64?
    /// Limit of streams after the peer has refused one although its SETTINGS allow more; `.max` otherwise. The limit
    /// grows by one with each accepted push.
    private var admittedMax = Int.max
    /// When the peer's SETTINGS began to allow no stream, steady milliseconds; `nil` if they allow one.
    private(set) var deniedSinceMillis: Int64?
    private let limits: Limits

    /// The part of the pool's configuration that a living connection needs. It is small, because each push reads the
    /// memory of its connection.
    private struct Limits: Sendable {
        var requestTimeoutMillis: Int64
        var drainMillis: Int64
        var pingAfterSilenceMillis: Int64
        var pingAfterIdleMillis: Int64
        var pingTimeoutMillis: Int64
        var idleCloseMillis: Int64
    }

    /// A connection that begins to connect at `now`.
    public init(configuration: ConnectionPoolConfiguration, now: EngineTime) {
        self.limits = Limits(
            requestTimeoutMillis: configuration.requestTimeoutMillis,
            drainMillis: configuration.requestTimeoutMillis + configuration.drainTimeoutMillis,
            pingAfterSilenceMillis: configuration.pingAfterSilenceMillis,
            pingAfterIdleMillis: configuration.pingAfterIdleMillis,
            pingTimeoutMillis: configuration.pingTimeoutMillis, idleCloseMillis: configuration.idleCloseMillis)
        self.streamsMax = max(1, configuration.streamsPerConnectionMax)
        self.requestsLeft = max(1, configuration.requestsPerConnectionMax)
        self.beganMillis = now.steadyMillis
        self.connectDeadlineMillis = now.steadyMillis + configuration.connectTimeoutMillis
        self.lastReceivedMillis = now.steadyMillis
        self.lastRequestMillis = now.steadyMillis
    }

    /// Number of requests that may begin now.
    public var credit: Int {
        switch self.phase {
        case .connecting, .handshaking, .draining, .closed: 0
        case .probing: self.isBlocked || self.inFlight > 0 || self.peerStreamsMax < 1 ? 0 : min(1, self.requestsLeft)
        case .open:
            self.isBlocked
                ? 0
                : min(
                    max(0, min(self.peerStreamsMax, self.streamsMax, self.admittedMax) - self.inFlight),
                    self.requestsLeft)
        }
    }

    /// Whether a request was answered on this connection, with any status.
    var hasAnswered: Bool { self.lastAnswerMicros > .min }

    /// Whether the connection carries requests, or will.
    public var isUsable: Bool {
        switch self.phase {
        case .connecting, .handshaking, .probing, .open: true
        case .draining, .closed: false
        }
    }

    /// Time until which the pool waits to learn this connection's capacity before it opens another. After that, a
    /// connection that hangs delays nothing. `.max` while a connection waits for its first request; `.min` if the
    /// connection is not starting.
    public var startsUntilMillis: Int64 {
        switch self.phase {
        case .connecting, .handshaking: self.beganMillis + Self.startPatienceMillis
        case .probing:
            // A warm connection may wait for its first request for any time. The patience begins with that request.
            if self.inFlight > 0 {
                self.lastRequestMillis + Self.startPatienceMillis
            } else {
                self.deniedSinceMillis.map { $0 + Self.startPatienceMillis } ?? .max
            }
        case .open, .draining, .closed: .min
        }
    }

    // MARK: Beginning

    /// Begins the handshake: TCP is up.
    public mutating func transportConnected(now: EngineTime) {
        switch self.phase {
        case .connecting:
            self.lastReceivedMillis = now.steadyMillis
            self.phase = .handshaking
        case .handshaking, .probing, .open, .draining, .closed:
            break
        }
    }

    /// Takes the peer's SETTINGS, the first or later ones. `streamsMax` is the peer's limit from now on; a negative
    /// limit counts as 0.
    public mutating func settingsReceived(streamsMax: Int, now: EngineTime) -> SettingsAction {
        switch self.phase {
        case .connecting, .handshaking:
            self.allow(streamsMax, now: now)
            self.lastReceivedMillis = now.steadyMillis
            self.phase = .probing
            return .becameReady
        case .probing, .open:
            self.admittedMax = .max
            guard self.peerStreamsMax != max(0, streamsMax) else { return .ignore }
            self.allow(streamsMax, now: now)
            return .limitChanged
        case .draining, .closed:
            return .ignore
        }
    }

    private mutating func allow(_ streamsMax: Int, now: EngineTime) {
        self.peerStreamsMax = max(0, streamsMax)
        self.deniedSinceMillis = streamsMax > 0 ? nil : self.deniedSinceMillis ?? now.steadyMillis
    }

    // MARK: Requests

    /// Counts a request that has begun. Requires credit.
    public mutating func streamBegan(now: EngineTime) {
        self.inFlight += 1
        self.requestsLeft -= 1
        // Without requests in flight, the peer has nothing to answer. So its silence counts from this request on.
        if self.inFlight == 1 { self.lastReceivedMillis = max(self.lastReceivedMillis, now.steadyMillis) }
        self.lastRequestMillis = now.steadyMillis
    }

    /// Takes back a request that has begun. Nothing of it was sent.
    public mutating func streamTakenBack() {
        self.inFlight -= 1
        self.requestsLeft += 1
    }

    /// Counts a request's end. `answeredMicros` is the steady time when its status arrived; `nil` without a status.
    public mutating func streamEnded(accepted: Bool, answeredMicros: Int64?) -> StreamEndAction {
        self.inFlight -= 1
        if accepted, self.admittedMax < .max { self.admittedMax += 1 }
        if let answeredMicros {
            self.lastAnswerMicros = max(self.lastAnswerMicros, answeredMicros)
            self.timeoutsInRow = 0
        }
        switch self.phase {
        case .connecting, .handshaking, .closed:
            return .none
        case .probing:
            if accepted {
                self.isProven = true
                self.phase = .open
            }
            return .none
        case .open:
            return .none
        case .draining:
            return self.inFlight == 0 ? .closeDrained : .none
        }
    }

    /// Lowers the limit to the streams that are open now, because the peer has refused another. Otherwise the peer
    /// would refuse the same pushes again and again. SETTINGS and accepted pushes raise the limit.
    public mutating func streamRefused() { self.admittedMax = max(1, min(self.admittedMax, self.inFlight)) }

    /// Counts a request that got no answer in time. The connection is stalled after `timeoutsInRowMax` timeouts with no
    /// answer between them. It is also stalled if it has answered nothing for half the request timeout. Answers to
    /// PINGs do not count.
    public mutating func requestTimedOut(micros: Int64) -> TimeoutAction {
        self.timeoutsInRow += 1
        switch self.phase {
        case .probing, .open:
            let isSilent = self.lastAnswerMicros < micros - self.limits.requestTimeoutMillis * 500
            return isSilent || self.timeoutsInRow >= Self.timeoutsInRowMax ? .retireStalled : .keepConnection
        case .connecting, .handshaking, .draining, .closed:
            return .keepConnection
        }
    }

    /// Remembers whether the output buffer is full.
    public mutating func outputBlocked(_ blocked: Bool) { self.isBlocked = blocked }

    // MARK: Liveness

    /// Remembers when bytes last arrived, which shows that the peer lives.
    public mutating func bytesReceived(now: EngineTime) {
        self.lastReceivedMillis = now.steadyMillis
        self.pingSentMillis = nil
    }

    // MARK: Ending

    /// Stops new requests, after GOAWAY or because we retire the connection. Requests in flight may still finish.
    public mutating func drain(now: EngineTime) -> DrainAction {
        switch self.phase {
        case .connecting, .handshaking:
            self.phase = .closed
            return .closeNow
        case .probing, .open:
            guard self.inFlight > 0 else {
                self.phase = .closed
                return .closeNow
            }
            self.drainDeadlineMillis = now.steadyMillis + self.limits.drainMillis
            self.phase = .draining
            return .waitForStreams(count: self.inFlight)
        case .draining:
            return .alreadyDraining
        case .closed:
            return .alreadyClosed
        }
    }

    /// Ends the connection's life, because the connection is gone or is being closed.
    public mutating func ended() { self.phase = .closed }

    // MARK: Time

    /// The next time at which `deadlineReached` has something to do, steady milliseconds. `mayCloseIdle` says that the
    /// pool can do without this connection when it is idle.
    public func nextDeadlineMillis(mayCloseIdle: Bool) -> Int64? {
        switch self.phase {
        case .connecting, .handshaking: self.connectDeadlineMillis
        case .probing, .open:
            min(self.pingDeadlineMillis, self.deniedDeadlineMillis, mayCloseIdle ? self.idleDeadlineMillis : .max)
        case .draining: min(self.pingDeadlineMillis, self.drainDeadlineMillis)
        case .closed: nil
        }
    }

    /// The action that is due now; `none` if nothing is due. `mayCloseIdle` says that the pool can do without this
    /// connection when it is idle.
    public mutating func deadlineReached(now: EngineTime, mayCloseIdle: Bool) -> DeadlineAction {
        switch self.phase {
        case .connecting, .handshaking:
            guard now.steadyMillis >= self.connectDeadlineMillis else { return .none }
            self.phase = .closed
            return .close(.connectTimeout)
        case .probing, .open:
            if mayCloseIdle, now.steadyMillis >= self.idleDeadlineMillis {
                self.phase = .closed
                return .closeIdle
            }
            if now.steadyMillis >= self.deniedDeadlineMillis { return .retireDenied }
            return self.pingOrGiveUp(now: now)
        case .draining:
            guard now.steadyMillis < self.drainDeadlineMillis else {
                self.phase = .closed
                return .close(.drainTimeout)
            }
            return self.pingOrGiveUp(now: now)
        case .closed:
            return .none
        }
    }

    private mutating func pingOrGiveUp(now: EngineTime) -> DeadlineAction {
        guard now.steadyMillis >= self.pingDeadlineMillis else { return .none }
        guard self.pingSentMillis == nil else {
            self.phase = .closed
            return .close(.pingTimeout)
        }
        self.pingSentMillis = now.steadyMillis
        return .ping
    }

    private var pingDeadlineMillis: Int64 {
        if let pingSentMillis = self.pingSentMillis { return pingSentMillis + self.limits.pingTimeoutMillis }
        return self.lastReceivedMillis
            + (self.inFlight > 0 ? self.limits.pingAfterSilenceMillis : self.limits.pingAfterIdleMillis)
    }

    private var deniedDeadlineMillis: Int64 {
        self.deniedSinceMillis.map { $0 + self.limits.requestTimeoutMillis } ?? .max
    }

    private var idleDeadlineMillis: Int64 {
        self.inFlight > 0 ? .max : self.lastRequestMillis + self.limits.idleCloseMillis
    }
}

/// Why the pool closes a connection.
public enum ConnectionCloseReason: Equatable, Sendable, CaseIterable {
    /// Handshake and SETTINGS were not complete in time.
    case connectTimeout
    /// A PING was not answered.
    case pingTimeout
    /// The connection was draining, and its requests did not finish in time.
    case drainTimeout
    /// The connection was retired, and has no request left.
    case drained
    /// The peer's SETTINGS allowed no request for too long.
    case denied
    /// The connection had no request for too long.
    case idle
    /// The worker is shutting down.
    case shutdown
}

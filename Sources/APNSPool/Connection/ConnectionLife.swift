public import PushModel

/// One APNs connection as its pool sees it: what it may carry, and when it has to be asked, given up or closed.
/// Decides; never touches a socket, a clock or a lock.
public struct ConnectionLife: Sendable {
    /// Where a connection stands. Each case says where it can go.
    public enum Phase: Equatable, Sendable {
        /// Name lookup and TCP. To `handshaking`, or to `closed`.
        case connecting
        /// TLS, then the peer's first SETTINGS. To `probing`, or to `closed`.
        case handshaking
        /// One request alone: APNs allows a single stream until a request with a valid provider token was posted. To
        /// `open` with the first accepted push, to `draining` or `closed`.
        case probing
        /// As many requests as the peer's live SETTINGS allow. To `draining` or `closed`.
        case open
        /// Nothing new; what is in flight finishes. To `closed`.
        case draining
        /// Nothing can be sent or received. The end.
        case closed
    }

    /// What SETTINGS changed: the connection may carry its first request, its limit is another one, or nothing.
    public enum SettingsAction: Equatable, Sendable { case becameReady, limitChanged, ignore }
    /// What to do with a connection that takes nothing new: close it at once, or wait for requests that are still
    /// unanswered. It may be draining or closed already.
    public enum DrainAction: Equatable, Sendable {
        /// Close the connection; wait for its requests; nothing, because one of these was said before.
        case closeNow, waitForStreams(count: Int), alreadyDraining, alreadyClosed
    }
    /// What the end of a request means for its connection: nothing, or the last request of a draining connection ended
    /// and it is to be closed.
    public enum StreamEndAction: Equatable, Sendable { case none, closeDrained }
    /// What a request without an answer means for its connection: nothing yet, or the connection is stalled and is to
    /// be left.
    public enum TimeoutAction: Equatable, Sendable { case keepConnection, retireStalled }
    /// What is to be done with a connection whose time has come.
    public enum DeadlineAction: Equatable, Sendable {
        /// Nothing is due; ask the peer whether it lives; close, because nobody needs it or for the reason given.
        case none, ping, closeIdle, close(ConnectionCloseReason)
        /// The peer takes no requests at all: leave it.
        case retireDenied
    }

    /// Requests timed out in a row after which a connection is left.
    public static let timeoutsInRowMax = 3
    /// A connection that has not shown its capacity after this long no longer keeps another from being opened.
    public static let startPatienceMillis: Int64 = 2_000

    /// Where the connection stands.
    public private(set) var phase = Phase.connecting
    /// Requests that began and have not ended.
    public private(set) var inFlight = 0
    /// The peer's SETTINGS_MAX_CONCURRENT_STREAMS as it last said.
    public private(set) var peerStreamsMax = Int.max
    /// Requests that this connection may still begin.
    public private(set) var requestsLeft: Int
    /// A push was accepted on it.
    public private(set) var isProven = false
    /// The peer does not take our bytes fast enough: nothing more is queued.
    public private(set) var isBlocked = false
    /// When connecting began, steady milliseconds.
    public let beganMillis: Int64

    private let streamsMax: Int
    private let connectDeadlineMillis: Int64
    private var drainDeadlineMillis: Int64 = .max
    private var lastReceivedMillis: Int64
    private var lastRequestMillis: Int64
    /// When a request was last answered with a status.
    private(set) var lastAnswerMicros: Int64 = .min
    private var timeoutsInRow = 0
    private var pingSentMillis: Int64?
    /// Streams the peer was seen to admit when it refused one although its SETTINGS allow more; grows by one with each
    /// accepted push.
    private var admittedMax = Int.max
    /// Since when the peer's SETTINGS allow no stream at all.
    private(set) var deniedSinceMillis: Int64?
    private let limits: Limits

    /// What of the pool's configuration a living connection needs: a connection is touched per push, so it is kept
    /// small.
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

    /// Requests that may begin now.
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

    /// A request was answered on it, whatever the answer.
    var hasAnswered: Bool { self.lastAnswerMicros > .min }

    /// It carries requests, or will.
    public var isUsable: Bool {
        switch self.phase {
        case .connecting, .handshaking, .probing, .open: true
        case .draining, .closed: false
        }
    }

    /// Until then its capacity will soon be known: wait for it before opening yet another. A connection that takes too long
    /// over it (half dead, perhaps) holds up nothing. `.min`: it is not starting.
    public var startsUntilMillis: Int64 {
        switch self.phase {
        case .connecting, .handshaking: self.beganMillis + Self.startPatienceMillis
        case .probing:
            // A warm one waits for its first request however long; then the patience begins.
            if self.inFlight > 0 {
                self.lastRequestMillis + Self.startPatienceMillis
            } else {
                self.deniedSinceMillis.map { $0 + Self.startPatienceMillis } ?? .max
            }
        case .open, .draining, .closed: .min
        }
    }

    // MARK: Beginning

    /// TCP is up.
    public mutating func transportConnected(now: EngineTime) {
        switch self.phase {
        case .connecting:
            self.lastReceivedMillis = now.steadyMillis
            self.phase = .handshaking
        case .handshaking, .probing, .open, .draining, .closed:
            break
        }
    }

    /// The peer's SETTINGS came, the first or later ones. `streamsMax`: its limit, live from now on; below 0 counts as
    /// 0.
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

    /// A request was begun. Only with credit.
    public mutating func streamBegan(now: EngineTime) {
        self.inFlight += 1
        self.requestsLeft -= 1
        // Silence is measured from the moment something was asked.
        if self.inFlight == 1 { self.lastReceivedMillis = max(self.lastReceivedMillis, now.steadyMillis) }
        self.lastRequestMillis = now.steadyMillis
    }

    /// A request was begun and nothing was sent for it: as if it had not been.
    public mutating func streamTakenBack() {
        self.inFlight -= 1
        self.requestsLeft += 1
    }

    /// A request ended, whatever its answer. `answeredMicros`: the steady time when a status came; `nil`: none came.
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

    /// The peer refused a stream, which has ended: it admits no more than are left. Until SETTINGS or accepted pushes
    /// say otherwise no more are tried, or the same pushes would go round in a circle.
    public mutating func streamRefused() { self.admittedMax = max(1, min(self.admittedMax, self.inFlight)) }

    /// A request got no answer in time. If several did so with no answer between, or nothing was answered in the latter
    /// half of that time, the connection carries requests into nowhere, whatever its PINGs say.
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

    /// The output buffer reached its bound, or fell below it again.
    public mutating func outputBlocked(_ blocked: Bool) { self.isBlocked = blocked }

    // MARK: Liveness

    /// Bytes came: the peer lives.
    public mutating func bytesReceived(now: EngineTime) {
        self.lastReceivedMillis = now.steadyMillis
        self.pingSentMillis = nil
    }

    // MARK: Ending

    /// GOAWAY came, or we want no more of this connection: nothing new, what is in flight finishes within its own time.
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

    /// The connection is gone, or is being closed.
    public mutating func ended() { self.phase = .closed }

    // MARK: Time

    /// When `deadlineReached` has something to say, steady milliseconds. `mayCloseIdle`: the pool can do without it
    /// when idle.
    public func nextDeadlineMillis(mayCloseIdle: Bool) -> Int64? {
        switch self.phase {
        case .connecting, .handshaking: self.connectDeadlineMillis
        case .probing, .open:
            min(self.pingDeadlineMillis, self.deniedDeadlineMillis, mayCloseIdle ? self.idleDeadlineMillis : .max)
        case .draining: min(self.pingDeadlineMillis, self.drainDeadlineMillis)
        case .closed: nil
        }
    }

    /// The time that `nextDeadlineMillis` named has come, or another: `none` if nothing is due. `mayCloseIdle`: the
    /// pool can do without the connection when it is idle.
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
    /// No handshake and SETTINGS in time.
    case connectTimeout
    /// A PING was not answered.
    case pingTimeout
    /// What was in flight did not finish in time after GOAWAY.
    case drainTimeout
    /// The last request of a draining connection ended.
    case drained
    /// Its SETTINGS allowed no request for long.
    case denied
    /// Long without a request.
    case idle
    /// The worker is shutting down.
    case shutdown
}

public import PushModel

/// Stops a route after answers that say "not now", and lets single probes through until one succeeds. A circuit
/// breaker: one for server errors, one for refused credentials, one for the provider token.
public struct RouteGate: Equatable, Sendable {
    /// How much the gate lets through.
    public enum State: Equatable, Sendable {
        /// Nothing is held back. To `resting` after `streakMax` failures in a row.
        case flowing
        /// Nothing leaves. To `probing` when the time has come.
        case resting(untilMillis: Int64)
        /// One request at a time leaves. To `recovering` with the first success, to `resting` with the next failure.
        case probing
        /// Only some requests may be out: one more with each success, half as many after a failure. So what has
        /// gathered does not fall upon a server that has just come back. To `flowing` at `recoveredInFlight`, to
        /// `resting` after `streakMax` failures in a row.
        case recovering(inFlightMax: Int)
    }
    /// What one more failure did: nothing, a rest began after failures in a row, or a probe failed and the gate rests
    /// again.
    public enum FailureAction: Equatable, Sendable { case none, trip, restAgain }
    /// What one more success did: nothing, or a probe succeeded and requests flow again, few at first.
    public enum SuccessAction: Equatable, Sendable { case none, resume }

    /// Longest `retry-after` that is believed: Apple asks for 15 minutes after a 5xx.
    public static let retryAfterSecondsMax: Int64 = 900
    /// Number of requests out from which nothing is held back: a connection's worth.
    public static let recoveredInFlight = 1_024

    /// How much the gate lets through now.
    public private(set) var state = State.flowing
    /// Failures in a row since the last success or rest.
    public private(set) var streak = 0
    private let streakMax: Int
    private var backoff: JitteredBackoff

    /// A gate that lets everything through. It closes after `streakMax` failures in a row and rests between
    /// `restMillisMin` and `restMillisMax` milliseconds, doubling from one failed probe to the next.
    public init(streakMax: Int, restMillisMin: Int64, restMillisMax: Int64) {
        self.streakMax = max(1, streakMax)
        self.backoff = JitteredBackoff(millisMin: restMillisMin, millisMax: restMillisMax)
    }

    /// An answer said "not now". `retryAfterSeconds`: what it asked for, if anything.
    public mutating func failed(
        now: EngineTime, retryAfterSeconds: Int64? = nil, using random: inout some RandomNumberGenerator
    ) -> FailureAction {
        switch self.state {
        case .flowing:
            self.streak += 1
            guard self.streak >= self.streakMax else { return .none }
            self.rest(now: now, retryAfterSeconds: retryAfterSeconds, using: &random)
            return .trip
        case .resting:
            // Answers to what had left before the rest: they say nothing new.
            return .none
        case .probing:
            self.rest(now: now, retryAfterSeconds: retryAfterSeconds, using: &random)
            return .restAgain
        case .recovering(let inFlightMax):
            self.streak += 1
            guard self.streak >= self.streakMax else {
                self.state = .recovering(inFlightMax: max(1, inFlightMax / 2))
                return .none
            }
            self.rest(now: now, retryAfterSeconds: retryAfterSeconds, using: &random)
            return .trip
        }
    }

    /// An answer showed that the fault is gone. Told of every push that APNs takes: the steady case is one look.
    @inlinable public mutating func succeeded() -> SuccessAction {
        if self.streak == 0, case .flowing = self.state { return .none }
        return self.succeededAfterFailures()
    }

    @usableFromInline mutating func succeededAfterFailures() -> SuccessAction {
        switch self.state {
        case .flowing:
            self.streak = 0
            return .none
        case .resting:
            // Part of what had left before the rest. Only a probe ends it, or a half-sick server would flap.
            return .none
        case .probing:
            self.streak = 0
            // Two for the one that came back: twice as many with each round trip.
            self.state = .recovering(inFlightMax: 2)
            return .resume
        case .recovering(let inFlightMax):
            self.streak = 0
            if inFlightMax + 1 < Self.recoveredInFlight {
                self.state = .recovering(inFlightMax: inFlightMax + 1)
            } else {
                self.reset()
            }
            return .none
        }
    }

    /// The cause was removed from outside (a new key, a new token): nothing is held back from now on.
    public mutating func reset() {
        self.streak = 0
        self.backoff.succeeded()
        self.state = .flowing
    }

    /// Lets probes begin when the rest is over. Answers whether they began now.
    public mutating func advance(now: EngineTime) -> Bool {
        switch self.state {
        case .flowing, .probing, .recovering:
            return false
        case .resting(let untilMillis):
            guard now.steadyMillis >= untilMillis else { return false }
            self.state = .probing
            return true
        }
    }

    /// When `advance` has something to do, steady milliseconds.
    @inlinable public var nextDeadlineMillis: Int64? {
        switch self.state {
        case .flowing, .probing, .recovering: nil
        case .resting(let untilMillis): untilMillis
        }
    }

    /// What of `credit` may be used while `inFlight` requests are out.
    @inlinable public func limited(_ credit: Int, inFlight: Int) -> Int {
        switch self.state {
        case .flowing: credit
        case .resting: 0
        case .probing: inFlight == 0 ? min(credit, 1) : 0
        case .recovering(let inFlightMax): max(0, min(credit, inFlightMax - inFlight))
        }
    }

    /// It stands still, but for a probe perhaps.
    @inlinable public var isHolding: Bool {
        switch self.state {
        case .flowing, .recovering: false
        case .resting, .probing: true
        }
    }

    private mutating func rest(
        now: EngineTime, retryAfterSeconds: Int64?, using random: inout some RandomNumberGenerator
    ) {
        let asked = min(max(retryAfterSeconds ?? 0, 0), Self.retryAfterSecondsMax) * 1_000
        // Up to a quarter longer: many workers were asked for the same time.
        let granted = asked + Int64.random(in: 0...asked / 4, using: &random)
        self.streak = 0
        self.state = .resting(untilMillis: now.steadyMillis + max(granted, self.backoff.failed(using: &random)))
    }
}

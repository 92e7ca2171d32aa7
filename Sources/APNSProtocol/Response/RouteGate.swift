public import PushModel

/// Stops a route after answers that say "not now", and lets single probes through until one succeeds. It is a circuit
/// breaker. A route has one gate for server errors, one for refused credentials and one for the provider token.
public struct RouteGate: Equatable, Sendable {
    /// How much the gate lets through.
    public enum State: Equatable, Sendable {
        /// The gate is open. Changes to `resting` after `streakMax` failures in a row.
        case flowing
        /// Nothing leaves. Changes to `probing` when the time is up.
        case resting(untilMillis: Int64)
        /// One request at a time leaves. Changes to `recovering` with the first success, to `resting` with the next
        /// failure.
        case probing
        /// Only `inFlightMax` requests may be unanswered. The number grows by one with each success, and is halved by a
        /// failure. So a server that has just recovered does not get all waiting pushes at once. Changes to `flowing`
        /// at `recoveredInFlight`, and to `resting` after `streakMax` failures in a row.
        case recovering(inFlightMax: Int)
    }
    /// The effect of one more failure. `trip`: a rest began after failures in a row. `restAgain`: a probe failed, and
    /// the gate rests again.
    public enum FailureAction: Equatable, Sendable { case none, trip, restAgain }
    /// The effect of one more success. `resume`: a probe succeeded, and requests flow again, few at first.
    public enum SuccessAction: Equatable, Sendable { case none, resume }

    /// Upper limit for an answer's `retry-after`, seconds. Apple asks for 15 minutes after a 5xx.
    public static let retryAfterSecondsMax: Int64 = 900
    /// `inFlightMax` at which a recovering gate opens. It is about as many requests as one connection carries.
    public static let recoveredInFlight = 1_024

    /// How much the gate lets through now.
    public private(set) var state = State.flowing
    /// Number of failures in a row since the last success or rest.
    public private(set) var streak = 0
    private let streakMax: Int
    private var backoff: JitteredBackoff

    /// An open gate. It closes after `streakMax` failures in a row. A rest takes up to `restMillisMin` milliseconds at
    /// first. The rest doubles with each failed probe, up to `restMillisMax`.
    public init(streakMax: Int, restMillisMin: Int64, restMillisMax: Int64) {
        self.streakMax = max(1, streakMax)
        self.backoff = JitteredBackoff(millisMin: restMillisMin, millisMax: restMillisMax)
    }

    /// Counts an answer that said "not now". `retryAfterSeconds` is the answer's `retry-after`, if any.
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
            // The answer belongs to a request from before the rest, and says nothing new.
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

    /// Counts an answer that shows that the fault is gone. The call is made for every push that APNs accepts, so the
    /// usual case takes one check.
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
            // The request left before the rest. Its success does not end the rest, because a server with some errors
            // would then make the gate flap.
            return .none
        case .probing:
            self.streak = 0
            // Each answered request makes room for two, so the number doubles with each round trip.
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

    /// Opens the gate, because the cause is gone: there is a new key or a new token.
    public mutating func reset() {
        self.streak = 0
        self.backoff.succeeded()
        self.state = .flowing
    }

    /// Lets probes begin when the rest is over. Returns whether they began now.
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

    /// The next time at which `advance` has something to do, steady milliseconds.
    @inlinable public var nextDeadlineMillis: Int64? {
        switch self.state {
        case .flowing, .probing, .recovering: nil
        case .resting(let untilMillis): untilMillis
        }
    }

    /// Number of requests that may leave now, out of `credit`, while `inFlight` requests are unanswered.
    @inlinable public func limited(_ credit: Int, inFlight: Int) -> Int {
        switch self.state {
        case .flowing: credit
        case .resting: 0
        case .probing: inFlight == 0 ? min(credit, 1) : 0
        case .recovering(let inFlightMax): max(0, min(credit, inFlightMax - inFlight))
        }
    }

    /// Whether the route is stopped. A probe may still leave.
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
        // The wait is up to a quarter longer, because many workers were asked to wait for the same time.
        let granted = asked + Int64.random(in: 0...asked / 4, using: &random)
        self.streak = 0
        self.state = .resting(untilMillis: now.steadyMillis + max(granted, self.backoff.failed(using: &random)))
    }
}

import PushModel

/// Decides when the members of a start's round are sent the start. The round is spread over some time, and each
/// position has its moment.
struct StartSpread {
    /// When the round began, wall milliseconds; 0: it has not begun.
    private let beganMillis: Int64
    /// How long the round takes, milliseconds; 0: it is not spread.
    private let spanMillis: Int64

    /// Creates the spread of a round. The round takes `wishedMillis`, but at most half the time until the start
    /// expires.
    init(beganMillis: Int64, wishedMillis: Int64, expiresSeconds: Int64) {
        self.beganMillis = beganMillis
        self.spanMillis = min(wishedMillis, max(0, (expiresSeconds * 1_000 - beganMillis) / 2))
    }

    /// When the member at a position may be sent the start (steady clock).
    func dueMillis(_ position: Int64, now: EngineTime) -> Int64 {
        guard self.spanMillis > 0, self.beganMillis > 0 else { return .min }
        // Positions are cut to 32 bits so that the product does not overflow.
        let after = ((position >> 16) * self.spanMillis) >> 32
        return now.steadyMillis + (self.beganMillis + after - now.wallMillis)
    }
    /// The position before which all members may be sent the start by that time (steady clock).
    func position(atMillis: Int64, now: EngineTime) -> Int64 {
        let passed = now.wallMillis + (atMillis - now.steadyMillis) - self.beganMillis
        guard self.spanMillis > 0, passed < self.spanMillis else { return StartRound.end }
        return ((max(0, passed) << 32) / self.spanMillis) << 16
    }
}

/// What an app's configuration says about how starts leave.
struct StartTerms {
    /// Whether members that may have been sent a start are sent it again (`start.on-unknown`). If so, nobody has to be
    /// announced.
    var resends: Bool
    /// How long a round should take, milliseconds.
    var spreadMillis: Int64
}

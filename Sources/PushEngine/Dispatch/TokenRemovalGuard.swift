/// Keeps tokens from being removed because of answers that may be our own fault: with a wrong environment or topic APNs
/// calls every token bad (contract: Removal guard). Each app and environment of a shard has one guard.
///
/// It looks at the last answers, not at the last minutes, because a small app has few. A single BadDeviceToken proves
/// nothing while no other token was found good, and twenty a minute are nothing to a large app. Two counts decide. That
/// of the last few answers makes a sudden change cost hardly a token. That of more answers detects a lasting mixture.
/// After a restart nothing is known, so nothing is removed until good answers have arrived.
///
/// Only BadDeviceToken and DeviceTokenNotForTopic count as suspicious; a 410 is about the token. Doubt costs little:
/// the update is refused all the same, and the token stays for the next one.
struct TokenRemovalGuard {
    /// Number of answers looked at.
    static let answersMax = 64
    /// Number of the latest answers that are also counted separately.
    static let recentMax = 8
    /// Share of suspicious answers, in percent, from which removal stops.
    static let sharePercentMax = 30

    /// One bit per answer, the newest lowest. A set bit is a suspicious answer.
    private var answers: UInt64 = 0
    /// Number of bits in use.
    private var count = 0

    /// Whether no token is removed on suspicion now.
    private(set) var isStopped = true

    mutating func note(isSuspicious: Bool) {
        self.answers = self.answers << 1 | (isSuspicious ? 1 : 0)
        self.count = min(self.count + 1, Self.answersMax)
        // The usual case.
        guard self.answers != 0 else {
            self.isStopped = false
            return
        }
        let recent = self.answers & (1 << UInt64(Self.recentMax) - 1)
        self.isStopped =
            Self.isLarge(recent.nonzeroBitCount, of: min(self.count, Self.recentMax))
            || Self.isLarge(self.answers.nonzeroBitCount, of: self.count)
    }

    private static func isLarge(_ suspicious: Int, of count: Int) -> Bool {
        suspicious * 100 >= count * Self.sharePercentMax
    }
}

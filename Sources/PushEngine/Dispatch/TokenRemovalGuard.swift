/// Keeps tokens from being removed because of answers that may be our own fault: with a wrong environment or topic APNs
/// calls every token bad (contract: Removal guard). One per app and environment of a shard.
///
/// It looks at the last answers, not at the last minutes, as a small app has few: a single BadDeviceToken proves nothing
/// while no other token was found good, and twenty a minute are nothing to a large one. Two counts decide: of the last
/// few, so that a sudden change costs hardly a token, and of more, so that a lasting mixture is seen, too. After a start
/// nothing is known, so nothing is removed until good answers have come.
///
/// Only BadDeviceToken and DeviceTokenNotForTopic count as suspicious; a 410 is about the token. Doubt costs little: the
/// update is refused all the same, the token only stays for the next one.
struct TokenRemovalGuard {
    /// Answers looked at.
    static let answersMax = 64
    /// The last few of them.
    static let recentMax = 8
    /// Share of suspicious answers, in percent, from which removal stops.
    static let sharePercentMax = 30

    /// One bit an answer, the newest lowest; set: suspicious.
    private var answers: UInt64 = 0
    /// Bits that are meant.
    private var count = 0

    /// No token is removed on suspicion now.
    private(set) var isStopped = true

    mutating func note(isSuspicious: Bool) {
        self.answers = self.answers << 1 | (isSuspicious ? 1 : 0)
        self.count = min(self.count + 1, Self.answersMax)
        // The steady case.
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

/// Keeps tokens from being removed because of answers that may be our own fault (contract: Removal guard). With a wrong
/// environment or topic APNs calls every token bad. Each lane of a shard has one guard.
///
/// It counts the last answers, however old they are. A small app may have one answer an hour, and for a large app
/// twenty bad tokens a minute are normal. Two counts decide. The share among the last few answers notices a sudden
/// change before it costs many tokens. The share among more answers notices a lasting mixture. After a restart nothing
/// is known, so nothing is removed until good answers have arrived.
///
/// Only BadDeviceToken and DeviceTokenNotForTopic count as suspicious; a 410 is about the token alone. Doubt costs
/// little: the push is refused in either case, and a doubted token stays for the next update.
struct TokenRemovalGuard {
    /// Number of answers looked at.
    static let answersMax = 64
    /// Number of the latest answers that are also counted separately.
    static let recentMax = 8
    /// Lowest share of suspicious answers, in percent, at which removal stops.
    static let sharePercentMax = 30

    /// One bit per answer, the newest lowest. A set bit is a suspicious answer.
    private var answers: UInt64 = 0
    /// Number of bits in use.
    private var count = 0

    /// Whether removal is stopped. While it is, suspicious answers remove no token.
    private(set) var isStopped = true

    mutating func count(isSuspicious: Bool) {
        self.answers = self.answers << 1 | (isSuspicious ? 1 : 0)
        self.count = min(self.count + 1, Self.answersMax)
        // No answer was suspicious, which is usual.
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

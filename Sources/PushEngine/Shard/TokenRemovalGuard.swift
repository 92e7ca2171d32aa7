/// Stops the removal of tokens when too many "die" at once: a wrong environment or topic of ours looks the same to APNs (contract §3).
///
/// It counts answers in windows of a minute. Only BadDeviceToken and DeviceTokenNotForTopic count as suspicious; a 410 is about the token.
struct TokenRemovalGuard {
    static let windowMillis: Int64 = 60_000
    /// Fewer suspicious answers than this in a window never stop anything.
    static let suspiciousMin = 20
    /// Share of suspicious answers, in percent, from which removal stops.
    static let sharePercentMax = 30

    private var windowEndsMillis: Int64 = .min
    private var answers = 0
    private var suspicious = 0
    /// The window before this one was stopped.
    private var wasStopped = false

    private(set) var isStopped = false

    mutating func answered(isSuspicious: Bool, nowMillis: Int64) {
        if nowMillis >= self.windowEndsMillis {
            self.wasStopped = self.isStopped && self.windowEndsMillis != .min && self.share() >= Self.sharePercentMax
            self.answers = 0
            self.suspicious = 0
            self.isStopped = self.wasStopped
            self.windowEndsMillis = nowMillis + Self.windowMillis
        }
        self.answers += 1
        if isSuspicious { self.suspicious += 1 }
        if self.suspicious >= Self.suspiciousMin, self.share() >= Self.sharePercentMax { self.isStopped = true }
    }

    private func share() -> Int { self.answers == 0 ? 0 : self.suspicious * 100 / self.answers }
}

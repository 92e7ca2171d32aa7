import APNSProtocol
import Logging

/// Decides which refusals get a line in the log. The first refusal of a kind gets a line at once. Further refusals of
/// that kind get at most one line a minute. A line says how many refusals of its kind got no line since the previous
/// one. The caller passes the time.
struct RefusalLog {
    struct Kind: Hashable {
        var status: UInt16
        var reason: String
    }
    /// Minimum time between two lines of a kind.
    static let intervalMillis: Int64 = 60_000
    /// Maximum number of kinds that are told apart by reason. Further reasons count together, by status. A peer may
    /// invent any number of reasons.
    static let kindCountMax = 64

    private var lines: [Kind: (atMillis: Int64, suppressedCount: Int)] = [:]

    /// Decides whether this refusal gets a line. If so, returns the number of refusals of its kind that got no line
    /// since the kind's last line. Returns `nil` if not.
    mutating func admit(_ kind: Kind, nowMillis: Int64) -> Int? {
        var kind = kind
        if self.lines[kind] == nil, self.lines.count >= Self.kindCountMax { kind.reason = "" }
        guard let last = self.lines[kind] else {
            // There are few statuses, so few kinds are added beyond the maximum.
            self.lines[kind] = (nowMillis, 0)
            return 0
        }
        guard nowMillis - last.atMillis >= Self.intervalMillis else {
            self.lines[kind]?.suppressedCount += 1
            return nil
        }
        self.lines[kind] = (nowMillis, 0)
        return last.suppressedCount
    }

    /// The log level and the text of a refusal's line.
    static func line(_ verdict: Verdict) -> (level: Logger.Level, text: String) {
        switch verdict {
        case .accepted: (.debug, "APNs took a push")
        case .tokenDead(_, suspicious: true):
            (.warning, "APNs calls a device token wrong, or says that a channel does not exist")
        case .tokenDead(_, suspicious: false): (.info, "APNs calls a device token dead")
        case .expirationRefused: (.info, "APNs refuses an expiration: the channel stores nothing")
        case .messageRefused: (.warning, "APNs refuses a push for good; its event is dead-lettered")
        case .credentialRefused: (.warning, "APNs refuses our credentials")
        case .topicRefused: (.warning, "APNs refuses an app's topic")
        case .providerTokenExpired: (.warning, "APNs calls the provider token expired")
        case .providerTokenTooManyUpdates: (.warning, "APNs calls the provider token renewed too often")
        case .tokenThrottled: (.info, "APNs asks to slow down for a device token or a channel")
        case .serverBusy: (.warning, "APNs cannot serve now")
        case .connectionUnusable: (.info, "APNs wants another connection")
        }
    }
}

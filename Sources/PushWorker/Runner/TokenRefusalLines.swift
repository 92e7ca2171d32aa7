import Foundation
import Logging
import PushEngine

/// Log lines about tokens that APNs refuses: the first of each kind at once, then one in ten seconds. They name the
/// activity or audience, and the token's hash. Confined to a shard's loop.
struct TokenRefusalLines {
    private struct Kind: Hashable {
        var standing: TokenRefusalNotice.Standing
        var reason: String
    }

    static let intervalMillis: Int64 = 10_000
    private var limit = RepeatLimit<Kind, TokenRefusalNotice>(intervalMillis: Self.intervalMillis, kindCountMax: 64)

    mutating func write(_ notice: TokenRefusalNotice, nowMillis: Int64, to logger: Logger) {
        let kind = Kind(standing: notice.standing, reason: notice.reason)
        guard let keptBackCount = self.limit.admit(notice, of: kind, nowMillis: nowMillis) else { return }
        Self.write(notice, count: keptBackCount + 1, to: logger)
    }

    /// Writes the lines that were held back long enough.
    mutating func writeHeldBack(nowMillis: Int64, to logger: Logger) {
        for due in self.limit.takeDue(nowMillis: nowMillis) { Self.write(due.line, count: due.count, to: logger) }
    }

    private static func write(_ notice: TokenRefusalNotice, count: Int, to logger: Logger) {
        let digits = String(notice.tokenHash, radix: 16)
        var metadata: Logger.Metadata = [
            "app": "\(notice.app)", notice.isOfMember ? "audience" : "activity": "\(notice.id)",
            "token-hash": "\(String(repeating: "0", count: 16 - digits.count))\(digits)",
            "status": "\(notice.status)", "reason": "\(notice.reason)",
        ]
        if notice.registeredMillis > 0 {
            metadata[notice.isOfMember ? "joined" : "registered"] = "\(Self.time(notice.registeredMillis))"
        }
        if let died = notice.diedMillis { metadata["died"] = "\(Self.time(died))" }
        if notice.standing == .diedBeforeRegistration {
            metadata["answer"] = "\(notice.earlierDeaths) of \(TokenRefusalNotice.earlierDeathsIgnoredMax + 1)"
        }
        if let retry = notice.retryMillis { metadata["retry-ms"] = "\(retry)" }
        if count > 1 { metadata["count"] = "\(count)" }
        logger.log(level: Self.level(of: notice.standing), "\(Self.text(of: notice))", metadata: metadata)
    }

    private static func time(_ millis: Int64) -> String {
        Date(timeIntervalSince1970: Double(millis) / 1_000)
            .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    private static func level(of standing: TokenRefusalNotice.Standing) -> Logger.Level {
        switch standing {
        case .diedBeforeRegistration: .notice
        case .doubted: .warning
        case .dead: .info
        }
    }

    private static func text(of notice: TokenRefusalNotice) -> String {
        switch notice.standing {
        case .diedBeforeRegistration where notice.retryMillis == nil:
            "APNs says that a token died before it was registered; the token is kept, and the push goes to the token before it"
        case .diedBeforeRegistration:
            "APNs says that a token died before it was registered; the registration is newer, so the token is kept and the push is tried again"
        case .doubted: "APNs refuses a token, as it refuses many now; the token is kept for the next event"
        case .dead: "APNs says that a token is dead; the event waits for another"
        }
    }
}

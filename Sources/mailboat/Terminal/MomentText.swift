import Foundation

/// Writes times for a person.
enum MomentText {
    /// A moment as `2026-11-25T18:00:00Z (40 s ago)`.
    static func moment(millis: Int64, nowMillis: Int64) -> String {
        guard millis >= 0 else { return "at a time that the record does not say" }
        return "\(Self.time(millis: millis)) (\(Self.distance(millis: millis, nowMillis: nowMillis)))"
    }

    static func time(millis: Int64) -> String {
        Date(timeIntervalSince1970: Double(millis) / 1_000).ISO8601Format()
    }

    /// A distance as `40 s ago`, or `in 40 s`.
    static func distance(millis: Int64, nowMillis: Int64) -> String {
        let (difference, overflow) = nowMillis.subtractingReportingOverflow(millis)
        guard !overflow, difference != .min else { return "at no sensible time" }
        let text = Self.span(millis: abs(difference))
        return difference >= 0 ? "\(text) ago" : "in \(text)"
    }

    /// A duration in whole seconds below two minutes, in whole minutes below two hours, and so on.
    static func span(millis: Int64) -> String {
        switch millis {
        case ..<120_000: "\(millis / 1_000) s"
        case ..<7_200_000: "\(millis / 60_000) min"
        case ..<172_800_000: "\(millis / 3_600_000) h"
        default: "\(millis / 86_400_000) d"
        }
    }
}

import APNSProtocol

/// What became of one app's requests on a shard: pushes to activities, to members and to start members, and broadcasts that events ask for.
public struct AppCounters: Sendable, Equatable {
    /// Accepted by APNs.
    public var accepted: UInt64 = 0
    /// Answered with a status other than 200.
    public var refused: UInt64 = 0
    /// Not processed by APNs; they are sent again.
    public var notProcessed: UInt64 = 0
    /// Without an answer: nobody knows what became of them.
    public var unknown: UInt64 = 0
    /// How many were refused for each reason: one that the table knows, `unknownReason` or `noReason`.
    public private(set) var refusals: [String: UInt64] = [:]

    /// Stands for a reason that is not in the table.
    public static let unknownReason = "other"
    /// Stands where an answer had no reason.
    public static let noReason = "none"

    /// Nothing counted yet.
    public init() {}

    /// Counts one that was refused, which is rare beside those accepted, and out of their way.
    @inline(never)
    public mutating func countRefusal(_ reason: String) {
        self.refused += 1
        let known = reason.isEmpty ? Self.noReason : ReasonTable.isKnown(reason) ? reason : Self.unknownReason
        self.refusals[known, default: 0] += 1
    }

    /// Sums reasons over shards; all else has rows.
    public mutating func addRefusals(_ other: AppCounters) { self.refusals.merge(other.refusals, uniquingKeysWith: +) }
}

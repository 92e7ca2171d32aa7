import APNSProtocol

/// Counts of what became of one app's requests on a shard. Requests are pushes to activities, members and start
/// members, and broadcasts that events ask for.
public struct AppCounters: Sendable, Equatable {
    /// Requests accepted by APNs.
    public var accepted: UInt64 = 0
    /// Requests answered with a status other than 200.
    public var refused: UInt64 = 0
    /// Requests that APNs did not process. They are sent again.
    public var notProcessed: UInt64 = 0
    /// Requests without an answer, whose result is unknown.
    public var unknown: UInt64 = 0
    /// Number of refused requests by reason. A key is a reason that `ReasonTable` knows, `unknownReason` or `noReason`.
    public private(set) var refusals: [String: UInt64] = [:]

    /// Key for a reason that `ReasonTable` does not know.
    public static let unknownReason = "other"
    /// Key for an answer without a reason.
    public static let noReason = "none"

    /// Creates counters that have counted nothing.
    public init() {}

    /// Counts a refused request. Refusals are rare, so this function is not inlined.
    @inline(never)
    public mutating func countRefusal(_ reason: String) {
        self.refused += 1
        let known = reason.isEmpty ? Self.noReason : ReasonTable.isKnown(reason) ? reason : Self.unknownReason
        self.refusals[known, default: 0] += 1
    }

    /// Adds the `refusals` of another shard. The rows of metrics add up all other counts.
    public mutating func addRefusals(_ other: AppCounters) { self.refusals.merge(other.refusals, uniquingKeysWith: +) }
}

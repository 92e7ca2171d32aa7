import DequeModule
import PushModel

/// Members of a ring that have lately begun to listen on its channel.
///
/// The partition may read a version after such a member's join, although the version's broadcast left before the member
/// listened. The join and the version's event are in different logs, and only their times in Kafka show which was
/// first. A member that may have missed the broadcast gets the version by token.
struct RecentListeners {
    /// Maximum number of joins that are remembered. Beyond it the oldest are forgotten. If a version then needs
    /// forgotten joins, the whole ring is looked through.
    static let countMax = 1_024

    struct Join {
        var member: MemberID
        /// The latest time at which the member may have begun to listen, milliseconds since 1970.
        var joinedMillis: Int64

        /// Creates a join from its record.
        /// - Parameter recordMillis: time of the record in Kafka, milliseconds since 1970. A publisher's clock may be
        ///   far ahead, so a time more than `timestampAheadSecondsMax` after this worker's time is lowered to that
        ///   limit.
        init(member: MemberID, recordMillis: Int64, nowMillis: Int64) {
            self.member = member
            self.joinedMillis = min(nowMillis + EventRules.timestampAheadSecondsMax * 1_000, recordMillis)
        }
        /// Creates a join from `state` or the member table, which have the join's time in whole seconds.
        init(member: MemberID, joinedSeconds: UInt32, nowMillis: Int64) {
            self.init(member: member, recordMillis: Int64(joinedSeconds) * 1_000 + 999, nowMillis: nowMillis)
        }
    }
    private var joins: Deque<Join> = []
    /// The latest time at which forgotten listeners may have joined, milliseconds since 1970.
    private var forgottenMillis = Int64.min

    private mutating func forgetFirst() {
        guard let first = self.joins.popFirst() else { return }
        self.forgottenMillis = max(self.forgottenMillis, first.joinedMillis)
    }
    mutating func remember(_ join: Join) {
        if self.joins.count == Self.countMax { self.forgetFirst() }
        self.joins.append(join)
    }
    /// Members that joined at that time or later, in the order of their joins. Some may have left since, or joined
    /// twice. `nil`: not all of them are known.
    ///
    /// Joins before that time are forgotten, because later calls hardly ever ask for an earlier time.
    mutating func joined(sinceMillis millis: Int64) -> [Join]? {
        while let first = self.joins.first, first.joinedMillis < millis { self.forgetFirst() }
        guard self.forgottenMillis < millis else { return nil }
        return self.joins.filter { $0.joinedMillis >= millis }
    }
}

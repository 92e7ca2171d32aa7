import DequeModule
import PushModel

/// Members of a ring that said lately that they listen on its channel.
///
/// The partition may read a version after their joins although its broadcast left before they listened. The records are
/// on two topics, and only their times in Kafka tell which was first. A member that may have missed the broadcast gets
/// the version by token.
struct RecentListeners {
    /// Maximum number of listeners. Beyond it the first are forgotten, and the ring is walked for them when a version
    /// asks.
    static let countMax = 1_024

    struct Join {
        var member: MemberID
        /// When the member said that it listens, at the latest; milliseconds since 1970.
        var joinedMillis: Int64

        /// - Parameter recordMillis: time of the record that says so. It is at most now, because a publisher's clock
        ///   may be far ahead. Both compared times are Kafka's, as this worker's clock may be wrong.
        init(member: MemberID, recordMillis: Int64, nowMillis: Int64) {
            self.member = member
            self.joinedMillis = min(nowMillis + EventRules.timestampAheadSecondsMax * 1_000, recordMillis)
        }
        /// The join as `state` and the table have it: to the second.
        init(member: MemberID, joinedSeconds: UInt32, nowMillis: Int64) {
            self.init(member: member, recordMillis: Int64(joinedSeconds) * 1_000 + 999, nowMillis: nowMillis)
        }
    }
    private var joins: Deque<Join> = []
    /// Others that are forgotten may have joined up to then, milliseconds since 1970.
    private var forgottenMillis = Int64.min

    private mutating func forgetFirst() {
        guard let first = self.joins.popFirst() else { return }
        self.forgottenMillis = max(self.forgottenMillis, first.joinedMillis)
    }
    mutating func note(_ join: Join) {
        if self.joins.count == Self.countMax { self.forgetFirst() }
        self.joins.append(join)
    }
    /// Members that joined at that time or later, in the order of their joins. Some may have left since, or joined
    /// twice. `nil`: not all are known.
    ///
    /// Times mostly grow from version to version, so earlier joins are forgotten.
    mutating func joined(sinceMillis millis: Int64) -> [Join]? {
        while let first = self.joins.first, first.joinedMillis < millis { self.forgetFirst() }
        guard self.forgottenMillis < millis else { return nil }
        return self.joins.filter { $0.joinedMillis >= millis }
    }
}

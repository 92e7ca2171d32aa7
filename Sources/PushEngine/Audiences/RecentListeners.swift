import DequeModule
import PushModel

/// Members of a ring that said lately that they listen on its channel.
///
/// A version may come to the partition behind their joins although its broadcast left before they listened: the records lie on two topics, and
/// nothing but the time that both have in Kafka tells which was first. Whoever may have missed it gets it by token.
struct RecentListeners {
    /// Of more, the first are forgotten: the ring is walked for them when a version asks.
    static let countMax = 1_024

    struct Join {
        var member: MemberID
        /// When it said that it listens, at the latest; milliseconds since 1970.
        var joinedMillis: Int64

        /// - Parameter recordMillis: of the record that says so. A publisher's clock may be far ahead, and nobody has joined later than now; but what is
        ///   compared is two times in Kafka, and this worker's clock may be the one that is off.
        init(member: MemberID, recordMillis: Int64, nowMillis: Int64) {
            self.member = member
            self.joinedMillis = min(nowMillis + EventRules.timestampAheadSecondsMax * 1_000, recordMillis)
        }
        /// As `state` and the table say it: to the second.
        init(member: MemberID, joinedSeconds: UInt32, nowMillis: Int64) {
            self.init(member: member, recordMillis: Int64(joinedSeconds) * 1_000 + 999, nowMillis: nowMillis)
        }
    }
    private var joins: Deque<Join> = []
    /// Others may have joined up to then, milliseconds since 1970.
    private var forgottenMillis = Int64.min

    private mutating func forgetFirst() {
        guard let first = self.joins.popFirst() else { return }
        self.forgottenMillis = max(self.forgottenMillis, first.joinedMillis)
    }
    mutating func note(_ join: Join) {
        if self.joins.count == Self.countMax { self.forgetFirst() }
        self.joins.append(join)
    }
    /// Those that joined at that time or later, in the order of their joins; some may have left since, or joined twice. `nil`: not all are known.
    ///
    /// Times mostly grow from version to version: earlier joins are forgotten.
    mutating func joined(sinceMillis millis: Int64) -> [Join]? {
        while let first = self.joins.first, first.joinedMillis < millis { self.forgetFirst() }
        guard self.forgottenMillis < millis else { return nil }
        return self.joins.filter { $0.joinedMillis >= millis }
    }
}

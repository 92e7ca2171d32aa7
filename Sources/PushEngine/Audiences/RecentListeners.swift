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

extension ShardEngine {
    /// A member has said that it listens, where the pass is over the listeners of a channel.
    mutating func noteListener(_ join: RecentListeners.Join, crowd: CrowdID, pass: Int) {
        guard self.audiences.crowds[crowd].passes[pass].channelNumber != nil else { return }
        self.audiences.crowds[crowd].passes[pass].recentListeners.note(join)
    }
    /// Members of a pass that said that they listen when the broadcast of that version may have left already; each once, in an order that a seed
    /// repeats.
    mutating func recentListeners(
        _ version: Version, crowd: CrowdID, pass: Int, now: EngineTime
    ) -> [RecentListeners.Join] {
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        let ring = self.audiences.crowds[crowd].passes[pass].ring
        // It left after its event lay in Kafka: some time after, which makes up for clocks that differ a little. Stamps say nothing of that: a
        // publisher's timestamp may be of any time.
        let sinceMillis = version.layer.recordMillis
        guard sinceMillis / 1_000 <= self.audiences.crowds[crowd].lastJoinSeconds else { return [] }
        if let known = self.audiences.crowds[crowd].passes[pass].recentListeners.joined(sinceMillis: sinceMillis) {
            // Of more than one the last is the one that stands.
            var seen: Set<MemberID> = []
            return known.reversed().filter { join in
                members.table.ring(of: join.member) == ring
                    && Int64(members.table.joinedSeconds(of: join.member)) >= sinceMillis / 1_000
                    && seen.insert(join.member).inserted
            }.reversed()
        }
        var listeners: [RecentListeners.Join] = []
        var from: UInt64 = 0
        while from < RingPosition.end {
            self.audiences.scratchEntries.removeAll(keepingCapacity: true)
            from = members.table.fill(
                ring, from: from, limit: RecentListeners.countMax, into: &self.audiences.scratchEntries)
            for entry in self.audiences.scratchEntries {
                let join = RecentListeners.Join(
                    member: entry.member, joinedSeconds: members.table.joinedSeconds(of: entry.member),
                    nowMillis: now.wallMillis)
                if join.joinedMillis >= sinceMillis { listeners.append(join) }
            }
        }
        return listeners
    }
}

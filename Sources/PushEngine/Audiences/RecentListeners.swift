import DequeModule
import PushModel

/// Members of a ring that said lately that they listen on its channel.
///
/// A version may come to the partition behind their joins although its broadcast left before they listened: the records lie on two topics, and
/// nothing but the time tells which was first. Whoever may have missed it gets it by token.
struct RecentListeners {
    /// Of more, the first are forgotten: the ring is walked for them when a version asks.
    static let countMax = 1_024
    /// An event and a join are told apart by clocks of two machines, seconds.
    static let clockSkewSeconds: Int64 = 1

    struct Join {
        var member: MemberID
        /// When it said that it listens, seconds since 1970.
        var joinedSeconds: Int64
        /// Since when, as far as is known, it is a member at all: an alert since then is for it.
        var memberSinceSeconds: Int64
    }
    private var joins: Deque<Join> = []
    /// Others may have joined up to then, seconds since 1970.
    private var forgottenSeconds = Int64.min

    private mutating func forgetFirst() {
        guard let first = self.joins.popFirst() else { return }
        self.forgottenSeconds = max(self.forgottenSeconds, first.joinedSeconds)
    }
    mutating func note(_ join: Join) {
        if self.joins.count == Self.countMax { self.forgetFirst() }
        self.joins.append(join)
    }
    /// Those that joined at that time or later, in the order of their joins; some may have left since, or joined twice. `nil`: not all are known.
    ///
    /// Times only grow from version to version: earlier joins are forgotten.
    mutating func joined(sinceSeconds seconds: Int64) -> [Join]? {
        while let first = self.joins.first, first.joinedSeconds < seconds { self.forgetFirst() }
        guard self.forgottenSeconds < seconds else { return nil }
        return self.joins.filter { $0.joinedSeconds >= seconds }
    }
}

extension ShardEngine {
    /// It has said that it listens, where the pass is over the listeners of a channel.
    mutating func noteListener(
        _ member: MemberID, crowd: CrowdID, pass: Int, joinedSeconds: UInt32, memberSinceSeconds: UInt32
    ) {
        guard self.audiences.crowds[crowd].passes[pass].channelNumber != nil else { return }
        self.audiences.crowds[crowd].passes[pass].recentListeners.note(
            RecentListeners.Join(
                member: member, joinedSeconds: Int64(joinedSeconds), memberSinceSeconds: Int64(memberSinceSeconds)))
    }
    /// Members of a pass that said that they listen when the broadcast of that version may have left already; each once, in an order that a seed
    /// repeats.
    mutating func recentListeners(_ version: Version, crowd: CrowdID, pass: Int) -> [RecentListeners.Join] {
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        let ring = self.audiences.crowds[crowd].passes[pass].ring
        // It left after its event lay in Kafka. Stamps say nothing of that: a publisher's timestamp may be of any time.
        let sinceSeconds = version.layer.recordMillis / 1_000 - RecentListeners.clockSkewSeconds
        guard sinceSeconds <= self.audiences.crowds[crowd].lastJoinSeconds else { return [] }
        if let known = self.audiences.crowds[crowd].passes[pass].recentListeners.joined(sinceSeconds: sinceSeconds) {
            // Of more than one the last is the one that stands.
            var seen: Set<MemberID> = []
            return known.reversed().filter { join in
                members.table.ring(of: join.member) == ring
                    && Int64(members.table.joinedSeconds(of: join.member)) >= sinceSeconds
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
                let joinedSeconds = Int64(members.table.joinedSeconds(of: entry.member))
                guard joinedSeconds >= sinceSeconds else { continue }
                listeners.append(
                    RecentListeners.Join(
                        member: entry.member, joinedSeconds: joinedSeconds, memberSinceSeconds: joinedSeconds))
            }
        }
        return listeners
    }
}

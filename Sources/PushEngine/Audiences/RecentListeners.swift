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

    private struct Join {
        var member: MemberID
        var joinedSeconds: Int64
    }
    private var joins: Deque<Join> = []
    /// Others may have joined up to then, seconds since 1970.
    private var forgottenSeconds = Int64.min

    /// Nobody who joined before that time will be asked for, or all of them can be found again.
    mutating func forget(upToSeconds seconds: Int64) { self.forgottenSeconds = max(self.forgottenSeconds, seconds) }
    mutating func note(_ member: MemberID, joinedSeconds: Int64) {
        if self.joins.count == Self.countMax, let first = self.joins.popFirst() {
            self.forget(upToSeconds: first.joinedSeconds)
        }
        self.joins.append(Join(member: member, joinedSeconds: joinedSeconds))
    }
    /// Those that joined at that time or later, in the order of their joins; some may have left since, or joined twice. `nil`: not all are known.
    ///
    /// Times only grow from version to version: earlier joins are forgotten.
    mutating func joined(sinceSeconds seconds: Int64) -> [MemberID]? {
        while let first = self.joins.first, first.joinedSeconds < seconds {
            self.joins.removeFirst()
            self.forget(upToSeconds: first.joinedSeconds)
        }
        guard self.forgottenSeconds < seconds else { return nil }
        return self.joins.filter { $0.joinedSeconds >= seconds }.map(\.member)
    }
}

extension ShardEngine {
    /// It has said that it listens, where the pass is over the listeners of a channel.
    mutating func noteListener(_ member: MemberID, crowd: CrowdID, pass: Int, joinedSeconds: UInt32) {
        guard self.audiences.crowds[crowd].passes[pass].channelNumber != nil else { return }
        self.audiences.crowds[crowd].passes[pass].recentListeners.note(member, joinedSeconds: Int64(joinedSeconds))
    }
    /// Members of a pass that said that they listen when the broadcast of that version may have left already; each once, in an order that a seed
    /// repeats.
    mutating func recentListeners(_ version: Version, crowd: CrowdID, pass: Int) -> [MemberID] {
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        let ring = self.audiences.crowds[crowd].passes[pass].ring
        // It left after its event lay in Kafka. Stamps say nothing of that: a publisher's timestamp may be of any time.
        let sinceSeconds = version.layer.recordMillis / 1_000 - RecentListeners.clockSkewSeconds
        guard sinceSeconds <= self.audiences.crowds[crowd].lastJoinSeconds else { return [] }
        if let known = self.audiences.crowds[crowd].passes[pass].recentListeners.joined(sinceSeconds: sinceSeconds) {
            var seen: Set<MemberID> = []
            return known.filter { member in
                members.table.ring(of: member) == ring
                    && Int64(members.table.joinedSeconds(of: member)) >= sinceSeconds && seen.insert(member).inserted
            }
        }
        var listeners: [MemberID] = []
        var from: UInt64 = 0
        while from < RingPosition.end {
            self.audiences.scratchEntries.removeAll(keepingCapacity: true)
            from = members.table.fill(
                ring, from: from, limit: RecentListeners.countMax, into: &self.audiences.scratchEntries)
            for entry in self.audiences.scratchEntries
            where Int64(members.table.joinedSeconds(of: entry.member)) >= sinceSeconds {
                listeners.append(entry.member)
            }
        }
        return listeners
    }
}

import PushModel

/// Who is owed an alert after a takeover.
extension ShardEngine {
    /// The alert goes round still, and the version beside which it does has not been taken: nothing is owed of that yet.
    mutating func restoreAlert(
        _ crowd: CrowdID, pass: Int, from part: AudienceCodec.PassPart, joins: [(member: MemberID, offset: Int64)],
        members: CrowdTable.Members
    ) {
        let ring = self.audiences.crowds[crowd].passes[pass].ring
        let comers = self.comers(among: part, joins: joins, ring: ring, members: members)
        for waiting in part.waiting where waiting.owesAlert {
            let member = self.member(at: waiting.position, ring: ring, members: members)
            guard member.isSome, !comers.contains(member) else { continue }
            self.audiences.crowds[crowd].passes[pass].retries.set(
                RetrySet.Entry(notBeforeMillis: .max, isOwed: false, owesAlert: true), for: member)
        }
        for position in part.quiet {
            let member = self.member(at: position, ring: ring, members: members)
            if member.isSome { self.audiences.crowds[crowd].passes[pass].keepQuiet(member) }
        }
        for join in joins where members.table.ring(of: join.member) == ring {
            self.audiences.crowds[crowd].passes[pass].keepQuiet(join.member)
        }
    }
    /// Of those that wait for an alert, whoever has come anew since: it had left meanwhile, and the alert is not for it any more.
    mutating func comers(
        among part: AudienceCodec.PassPart, joins: [(member: MemberID, offset: Int64)], ring: RingID,
        members: CrowdTable.Members
    ) -> Set<MemberID> {
        var waiting: Set<MemberID> = []
        for entry in part.waiting where entry.owesAlert {
            waiting.insert(self.member(at: entry.position, ring: ring, members: members))
        }
        guard !waiting.isEmpty else { return [] }
        return Set(joins.lazy.map(\.member).filter { waiting.contains($0) })
    }
    /// The member that stands there; none: it has left.
    mutating func member(at position: Int64, ring: RingID, members: CrowdTable.Members) -> MemberID {
        self.audiences.scratchEntries.removeAll(keepingCapacity: true)
        _ = members.table.fill(ring, from: UInt64(position), limit: 1, into: &self.audiences.scratchEntries)
        let entry = self.audiences.scratchEntries.first { $0.position == UInt64(position) }
        return entry?.member ?? .none
    }
}

import PushModel

/// Of a restore: a member that was read, and where its record lies.
struct RestoredJoin {
    var member: MemberID
    /// It had been served when it joined. Declared here it fits into the padding: there may be a million of these.
    var isKnown = false
    var offset: Int64
    /// Of the version whose alert the record says the member is owed; 0: none.
    var owedAlertStampSeconds: Int64 = 0
}

/// Who is owed an alert after a takeover.
extension ShardEngine {
    /// The alert goes round still, and the version beside which it does has not been taken: nothing is owed of that yet.
    mutating func restoreAlert(
        _ crowd: CrowdID, pass: Int, from part: PassesRecord.PassPart, joins: [RestoredJoin],
        members: CrowdTable.Members
    ) {
        let ring = self.audiences.crowds[crowd].passes[pass].ring
        let comers = self.comers(among: part, joins: joins, ring: ring, members: members)
        for waiting in part.waiting where waiting.owesAlert {
            let member = self.member(at: waiting.position, ring: ring, members: members)
            guard member.isSome, !comers.contains(member) else { continue }
            self.audiences.crowds[crowd].passes[pass].restoreWaiting(
                member, isAhead: true, owesAlert: true,
                alertsMissedSinceSeconds: RetrySet.Entry.mayHaveMissedAll)
        }
        for position in part.quiet {
            let member = self.member(at: position, ring: ring, members: members)
            if member.isSome { self.audiences.crowds[crowd].passes[pass].restoreQuiet(member) }
        }
        for join in joins where members.table.ring(of: join.member) == ring {
            self.audiences.crowds[crowd].passes[pass].restoreQuiet(join.member)
        }
    }
    /// Of those that wait for an alert, whoever has come anew since: it had left meanwhile, and the alert is not for it any more.
    mutating func comers(
        among part: PassesRecord.PassPart, joins: [RestoredJoin], ring: RingID, members: CrowdTable.Members
    ) -> Set<MemberID> {
        var waiting: Set<MemberID> = []
        for entry in part.waiting where entry.owesAlert {
            waiting.insert(self.member(at: entry.position, ring: ring, members: members))
        }
        guard !waiting.isEmpty else { return [] }
        let anew = joins.lazy.filter { $0.owedAlertStampSeconds == 0 }.map(\.member)
        return Set(anew.filter { waiting.contains($0) })
    }
    /// Members that said, or said no longer, that they listen before the newest alert had come to them, and of whom no progress tells.
    mutating func restoreOwedAlerts(_ crowd: CrowdID, joins: [RestoredJoin], members: CrowdTable.Members) {
        guard let alert = self.audiences.crowds[crowd].alert, !self.audiences.crowds[crowd].versions.isEmpty else {
            return
        }
        for join in joins where join.owedAlertStampSeconds == alert.stampSeconds {
            guard let pass = self.audiences.crowds[crowd].passIndex(of: members.table.ring(of: join.member)),
                !self.audiences.crowds[crowd].passes[pass].awaitsAlert(join.member)
            else { continue }
            let isAhead = self.audiences.crowds[crowd].passes[pass].comesRound(to: join.member, in: members.table)
            let before = self.owed(crowd, pass: pass, alert: alert)
            self.audiences.crowds[crowd].passes[pass].restoreWaiting(join.member, isAhead: isAhead, owesAlert: true)
            self.noteDue(crowd, pass: pass, before: before)
        }
    }
    /// The member that stands there; none: it has left.
    mutating func member(at position: Int64, ring: RingID, members: CrowdTable.Members) -> MemberID {
        self.audiences.scratchEntries.removeAll(keepingCapacity: true)
        _ = members.table.fill(ring, from: UInt64(position), limit: 1, into: &self.audiences.scratchEntries)
        let entry = self.audiences.scratchEntries.first { $0.position == UInt64(position) }
        return entry?.member ?? .none
    }
}

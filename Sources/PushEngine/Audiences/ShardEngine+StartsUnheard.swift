import PushModel

/// Members that a former owner may have sent the start to, and whose answer no record tells: each gets an outcome record (fan-out contract: Starts
/// of an audience).
extension ShardEngine {
    /// The round goes on behind what was announced.
    /// - Parameters:
    ///   - part: how the former owner left it.
    ///   - named: members that surely were not started.
    mutating func tellStartsUnheard(
        _ part: StartCodec.Round, named: [MemberID], of crowd: CrowdID, round: Int, members: CrowdTable.Members
    ) {
        guard let unmet = part.unmet, part.unansweredCount > 0 else { return }
        let ring = self.audiences.crowds[crowd].starts.rounds[round].ring
        // A member may have had two pushes.
        var told = Set(named)
        for position in part.unanswered where self.mayTellStart(of: crowd) {
            guard let member = self.startMember(at: position, ring: ring, members: members),
                told.insert(member).inserted
            else { continue }
            self.tellStartUnheard(member, of: crowd, members: members)
        }
        var from = unmet
        while from < part.horizon, self.mayTellStart(of: crowd) {
            self.audiences.scratchEntries.removeAll(keepingCapacity: true)
            let end = members.table.fill(
                ring, from: UInt64(from), limit: StartCodec.unansweredMax, into: &self.audiences.scratchEntries)
            for entry in self.audiences.scratchEntries
            where Int64(entry.position) < part.horizon && self.mayTellStart(of: crowd) {
                // Members that joined late are not met in turn, and those that left are gone.
                guard members.table.flags(of: entry.member).isDisjoint(with: [.isLate, .isGhost, .isServedEarly]),
                    told.insert(entry.member).inserted
                else { continue }
                self.tellStartUnheard(entry.member, of: crowd, members: members)
            }
            from = Int64(end)
        }
    }
    private func mayTellStart(of crowd: CrowdID) -> Bool {
        self.audiences.crowds[crowd].starts.toldCount < Self.failedStartsToldMax
    }
    private mutating func tellStartUnheard(_ member: MemberID, of crowd: CrowdID, members: CrowdTable.Members) {
        guard let order = self.audiences.crowds[crowd].starts.order else { return }
        self.audiences.crowds[crowd].starts.toldCount += 1
        // The member's bytes stay while they are hashed.
        let token = unsafe members.table.tokenBytes(member)
        var details = OutcomeDetails(cause: .mayBeSent)
        details.tokenHash = PushComposer.hash(ofToken: unsafe Span(_unsafeElements: token))
        details.hasTokenHash = true
        self.journal.tellFailedStart(
            .unknown, of: order, audience: self.audiences.crowds[crowd].id, app: self.audiences.crowds[crowd].app,
            details: details, partition: self.audiences.crowds[crowd].partition, in: &self.memory)
    }
}

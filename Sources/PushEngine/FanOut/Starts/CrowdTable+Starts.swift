import PushModel

/// Looks up start members among all crowds: a token may be in many audiences.
extension CrowdTable {
    /// Index and ring of the round over the crowd's start members in that environment. The round is made for the first
    /// member. `nil`: there are too many rings.
    mutating func startRound(of crowd: CrowdID, environment: PushEnvironment) -> (round: Int, ring: RingID)? {
        if let index = self[crowd].starts.round(in: environment) {
            return (index, self[crowd].starts.rounds[index].ring)
        }
        let members = self.members(of: crowd)
        let ring = members.table.makeRing(of: .start)
        guard ring.isSome else { return nil }
        while members.ringOwners.count <= ring.index { members.ringOwners.append(.none) }
        members.ringOwners[ring.index] = crowd
        self[crowd].starts.ringMade(ring, environment: environment)
        return (self[crowd].starts.rounds.count - 1, ring)
    }
    /// The token's membership in the crowd, ghosts included; `none`: it has none.
    func findStart(_ token: Span<UInt8>, of crowd: CrowdID) -> MemberID {
        guard let members = self.membersIfAny(of: crowd) else { return .none }
        return self[crowd].starts.member(token, in: members.table)
    }
    /// The crowd that has the start member, and the start round that it is in.
    @inline(__always) func startHome(of member: MemberID, members: Members) -> (crowd: CrowdID, round: Int) {
        let ring = members.table.ring(of: member)
        let crowd = members.ringOwners[ring.index]
        for index in self[crowd].starts.rounds.indices where self[crowd].starts.rounds[index].ring == ring {
            return (crowd, index)
        }
        return (crowd, 0)
    }
    /// When the member's token may be sent another start (steady clock): see `start.per-hour`. Starts of the last hour
    /// count if the token may have been sent them, in any of its audiences in this partition. The hour begins with the
    /// start's last push.
    func startAllowedMillis(_ member: MemberID, perHour limit: Int, members: Members, now: EngineTime) -> Int64 {
        var millis: [Int64] = []
        var other = members.table.firstMembership(ofStartToken: members.table.token(of: member))
        while other.isSome {
            let (crowd, round) = self.startHome(of: other, members: members)
            self[crowd].starts.appendSentMillis(
                to: other, of: round, isOwn: other == member, in: members.table, now: now, into: &millis)
            other = members.table.nextMembership(after: other)
        }
        guard millis.count >= limit else { return .min }
        millis.sort()
        return millis[millis.count - limit] + RollingBudget.windowMillis
    }
    /// Moves start members of a crowd whose audience is over to a new crowd for the same audience.
    /// - Returns: the new crowd; `nil`: the old crowd had no start members, or no name.
    mutating func moveStarts(from old: CrowdID, pushes: inout MemberPushStore) -> CrowdID? {
        guard !self[old].starts.rounds.isEmpty, !self[old].id.isEmpty else { return nil }
        let members = self.members(of: old)
        var starts = self[old].handOverStarts()
        guard starts.memberCount(in: members.table) > 0 else {
            starts.removeRings(in: &members.table)
            return nil
        }
        let crowd = self.make(
            app: self[old].app, id: self[old].id, reference: self[old].reference, partition: self[old].partition)
        starts.crowdChanged(to: crowd, generation: self[crowd].generation, pushes: &pushes)
        for round in starts.rounds { members.ringOwners[round.ring.index] = crowd }
        self[crowd].takeOver(starts, ofLife: self[old].versions.life)
        return crowd
    }
    /// Whether the start member's record says that the start was sent, although it may have to be sent again.
    func isServedInDoubt(_ member: MemberID, members: Members) -> Bool {
        let (crowd, round) = self.startHome(of: member, members: members)
        return self[crowd].starts.isServedInDoubt(member, of: round, in: members.table)
    }
    /// Whether a crowd has start members, but no update members and no unanswered pushes to former ones.
    func hasOnlyStarts(_ crowd: CrowdID) -> Bool {
        let members = self.membersIfAny(of: crowd)
        guard let members, self[crowd].starts.memberCount(in: members.table) > 0 else { return false }
        return self[crowd].passes.allSatisfy { members.table.count(of: $0.ring) == 0 && $0.inFlight.count == 0 }
    }
}

extension CrowdTable.Members {
    /// The memberships of a start token in this partition, ghosts included.
    func memberships(of token: Span<UInt8>) -> [MemberID] {
        var all: [MemberID] = []
        var member = self.table.firstMembership(ofStartToken: token)
        while member.isSome {
            all.append(member)
            member = self.table.nextMembership(after: member)
        }
        return all
    }
}

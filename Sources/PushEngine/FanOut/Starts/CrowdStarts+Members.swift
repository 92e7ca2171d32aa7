import PushModel

/// Start members of a crowd: their rings, and which starts they were sent.
extension CrowdStarts {
    /// Number of members in rings, ghosts included.
    func memberCount(in table: borrowing MemberTable) -> Int {
        var count = 0
        for round in self.rounds { count += table.count(of: round.ring) }
        return count
    }
    /// The token's member in this crowd, ghosts included; `none`: it has none.
    func member(_ token: Span<UInt8>, in table: borrowing MemberTable) -> MemberID {
        for round in self.rounds {
            let member = table.find(token, in: round.ring)
            if member.isSome { return member }
        }
        return .none
    }
    func round(over ring: RingID) -> Int? {
        for index in self.rounds.indices where self.rounds[index].ring == ring { return index }
        return nil
    }
    func round(in environment: PushEnvironment) -> Int? {
        self.rounds.firstIndex { $0.environment == environment }
    }

    // MARK: What members were sent

    /// Whether a member was sent the start that goes round, or may have been.
    @inline(__always) func wasSent(to member: MemberID, of round: Int, in table: borrowing MemberTable) -> Bool {
        self.hasOrder && self.rounds[round].wasSent(self.orderStamp, to: member, in: table)
    }
    /// Whether a push of the present start may have reached the member, although the member will be sent another
    /// (`start.on-unknown: resend`). The push had no answer, or was sent by the previous owner, which announced nobody.
    @inline(__always) func mayHaveArrived(at member: MemberID, of round: Int, in table: borrowing MemberTable) -> Bool {
        guard self.hasOrder else { return false }
        if self.rounds[round].maybeSent.contains(member) { return true }
        guard self.phase == .goesOnInDoubt else { return false }
        return self.past.mayHaveReached(self.orderStamp, joinedSeconds: table.joinedSeconds(of: member))
    }
    /// Whether the member's record says that the start was sent, although it may have to be sent again.
    func isServedInDoubt(_ member: MemberID, of round: Int, in table: borrowing MemberTable) -> Bool {
        self.hasOrder && self.rounds[round].isServedEarlyInDoubt(member, in: table)
    }
    func sent(to member: MemberID, of round: Int, in table: borrowing MemberTable) -> Sent {
        Sent(
            wasSent: self.wasSent(to: member, of: round, in: table),
            mayHaveArrived: self.mayHaveArrived(at: member, of: round, in: table))
    }
    /// Appends a time (steady clock) for each start of the last hour that the member may have been sent: when the
    /// start's last push left.
    /// - Parameter isOwn: whether the member is about to be sent the start that goes round. If so, that start does not
    ///   count.
    @inline(__always) func appendSentMillis(
        to member: MemberID, of round: Int, isOwn: Bool, in table: borrowing MemberTable, now: EngineTime,
        into millis: inout [Int64]
    ) {
        guard !self.past.isEmpty else { return }
        let joinedSeconds = table.joinedSeconds(of: member)
        for past in self.past.all where !past.isOver(nowMillis: now.steadyMillis) {
            if past.start.names(self.orderStamp) {
                guard !isOwn,
                    self.wasSent(to: member, of: round, in: table)
                        || self.mayHaveArrived(at: member, of: round, in: table)
                else { continue }
            } else {
                guard past.mayHaveReached(joinedSeconds: joinedSeconds) else { continue }
            }
            millis.append(past.lastSentMillis)
        }
    }
    /// The newest start other than the present one that the member may have been sent within the last hour. An empty
    /// stamp: the member has to be remembered for another reason. `nil`: nothing has to be remembered of the member.
    func formerSent(to member: MemberID, of round: Int, in table: borrowing MemberTable) -> StartStamp? {
        let past = self.past.newest(but: self.orderStamp, joinedSeconds: table.joinedSeconds(of: member))
        if let past { return past }
        // If the member rejoins, it is sent the present start again. It stays in the table, because the push that may
        // have arrived counts for the hour.
        if self.mayHaveArrived(at: member, of: round, in: table) { return StartStamp() }
        // The member's number has to be kept until its push is answered.
        return table.flags(of: member).contains(.isInFlight) ? StartStamp() : nil
    }

    // MARK: Sweeps

    /// Until when ghosts have to be kept (steady clock).
    func ghostsUntilMillis(now: EngineTime) -> Int64 {
        let until = self.past.untilMillis(nowMillis: now.steadyMillis)
        guard self.hasOrder else { return until }
        return max(until, now.steadyMillis + self.orderExpiresSeconds * 1_000 - now.wallMillis)
    }
    /// Until when the last of the members is kept, seconds since 1970; 0: there are none.
    func untilSeconds(lifeMillis: Int64, in table: borrowing MemberTable) -> Int64 {
        self.memberCount(in: table) > 0 ? self.lastJoinSeconds + lifeMillis / 1_000 : 0
    }
    /// Ghosts that no longer have to be remembered and can be removed.
    /// - Returns: as many ghosts as one step removes, and whether there are more; `nil`: no step is due.
    func ghostsToForget(in table: borrowing MemberTable, now: EngineTime) -> (members: [MemberID], hasMore: Bool)? {
        guard self.sweep.atMillis <= now.steadyMillis else { return nil }
        guard self.ghostsUntilMillis(now: now) <= now.steadyMillis else { return ([], false) }
        var members: [MemberID] = []
        for round in self.rounds {
            for member in round.ghosts.keys.sorted(by: { $0.rawValue < $1.rawValue })
            where !table.flags(of: member).contains(.isInFlight) {
                guard members.count < StartSweep.countMax else { return (members, true) }
                members.append(member)
            }
        }
        return (members, false)
    }
    /// Some members of the first ring that has any.
    func someMembers(in table: borrowing MemberTable) -> [MemberID] {
        var entries: [RingEntry] = []
        for round in self.rounds where entries.isEmpty {
            _ = table.fill(round.ring, from: 0, limit: StartSweep.countMax, into: &entries)
        }
        return entries.map(\.member)
    }
}

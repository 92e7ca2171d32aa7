import PushModel

/// Start members of a crowd: their rings, and which starts they were sent.
extension CrowdStarts {
    /// Number of members in rings, ghosts included.
    func memberCount(in table: borrowing MemberTable) -> Int {
        var count = 0
        for round in self.rounds { count += table.count(of: round.ring) }
        return count
    }
    /// The token's member, ghosts included; `none`: it has none here.
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
    /// Whether a push of the present start may have reached the member, which is sent another all the same
    /// (`start.on-unknown: resend`). That push had no answer, or was the previous owner's, which announced nothing.
    @inline(__always) func mayHaveArrived(at member: MemberID, of round: Int, in table: borrowing MemberTable) -> Bool {
        guard self.hasOrder else { return false }
        if self.rounds[round].maybeSent.contains(member) { return true }
        guard self.phase == .goesOnInDoubt else { return false }
        return self.past.mayHaveReached(self.orderStamp, joinedSeconds: table.joinedSeconds(of: member))
    }
    /// Appends the times when starts within the hour left that the member may have been sent, steady.
    /// - Parameter isOwn: whether the member is about to be sent the start that goes round.
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
    /// The newest start that the member may have been sent, except the one that goes round, as far as that has to be
    /// remembered. It is an empty stamp where the member has to be remembered for something else.
    func formerSent(to member: MemberID, of round: Int, in table: borrowing MemberTable) -> StartStamp? {
        let past = self.past.newest(but: self.orderStamp, joinedSeconds: table.joinedSeconds(of: member))
        if let past { return past }
        // If the member rejoins, it is sent the present start again. It keeps its place because of what counts within
        // the hour.
        if self.mayHaveArrived(at: member, of: round, in: table) { return StartStamp() }
        // The member's number is kept until the answer arrives.
        return table.flags(of: member).contains(.isInFlight) ? StartStamp() : nil
    }

    // MARK: Sweeps

    /// When no member has to be remembered for what it was sent, steady.
    func ghostsUntilMillis(now: EngineTime) -> Int64 {
        let until = self.past.untilMillis(nowMillis: now.steadyMillis)
        guard self.hasOrder else { return until }
        return max(until, now.steadyMillis + self.orderExpiresSeconds * 1_000 - now.wallMillis)
    }
    /// Ghosts that no longer have to be remembered, and are removed.
    /// - Returns: as many as one step removes, and whether there are more.
    func ghostsToForget(in table: borrowing MemberTable, now: EngineTime) -> (members: [MemberID], hasMore: Bool) {
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
    /// Some members of any ring that has some.
    func someMembers(in table: borrowing MemberTable) -> [MemberID] {
        var entries: [RingEntry] = []
        for round in self.rounds where entries.isEmpty {
            _ = table.fill(round.ring, from: 0, limit: StartSweep.countMax, into: &entries)
        }
        return entries.map(\.member)
    }
}

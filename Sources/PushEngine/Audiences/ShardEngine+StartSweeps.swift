import PushModel

/// Start members that leave by time: ghosts, and whoever has not joined again for very long (`start-member.life`).
extension ShardEngine {
    /// Members that are looked at in a step, and how long until the next.
    private static var sweepCountMax: Int { 1_024 }
    private static var sweepStepMillis: Int64 { 50 }
    /// When a crowd is looked through first, and how often then.
    private static var sweepFirstMillis: Int64 { 600_000 }
    private static var sweepEveryMillis: Int64 { 86_400_000 }

    /// Sees to it that a crowd is looked through in time.
    mutating func scheduleSweep(_ crowd: CrowdID, now: EngineTime) {
        guard !self.audiences.crowds[crowd].starts.rounds.isEmpty else { return }
        var at = min(self.audiences.crowds[crowd].starts.sweepAtMillis, now.steadyMillis + Self.sweepFirstMillis)
        if self.audiences.crowds[crowd].starts.sweepAtMillis != .max {
            at = self.audiences.crowds[crowd].starts.sweepAtMillis
        }
        if self.audiences.crowds[crowd].starts.rounds.contains(where: { !$0.ghosts.isEmpty }) {
            // Never at once: those that are over go in steps.
            at = min(at, max(self.ghostsUntilMillis(crowd, now: now), now.steadyMillis + Self.sweepStepMillis))
        }
        self.audiences.crowds[crowd].starts.sweepAtMillis = at
    }
    /// Nobody need be remembered for what he was sent from then on, steady.
    private func ghostsUntilMillis(_ crowd: CrowdID, now: EngineTime) -> Int64 {
        var until = now.steadyMillis
        for past in self.audiences.crowds[crowd].starts.past {
            until = max(until, past.lastSentMillis + RollingBudget.windowMillis)
        }
        if self.audiences.crowds[crowd].starts.hasOrder {
            let left = self.audiences.crowds[crowd].starts.orderExpiresSeconds * 1_000 - now.wallMillis
            until = max(until, now.steadyMillis + left)
        }
        return until
    }
    /// Start members whose time is over go before the owner is asked for them once more.
    mutating func sweepAfterVoid(_ crowd: CrowdID, now: EngineTime) {
        let until = self.audiences.startsUntilSeconds(crowd, in: self.memory)
        guard until > 0, until <= now.wallSeconds else { return }
        self.audiences.crowds[crowd].starts.sweepPosition = 0
        self.audiences.crowds[crowd].starts.sweepAtMillis = now.steadyMillis
    }
    /// A step of looking through a crowd.
    mutating func sweepStarts(_ crowd: CrowdID, now: EngineTime) {
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        let hasGhosts = self.sweepGhosts(crowd, members: members, now: now)
        let position = self.audiences.crowds[crowd].starts.sweepPosition
        var end = RingPosition.end
        var entries: [RingEntry] = []
        for round in self.audiences.crowds[crowd].starts.rounds {
            end = min(end, members.table.fill(round.ring, from: position, limit: Self.sweepCountMax, into: &entries))
        }
        let life = self.memory.configuration.apps[Int(self.audiences.crowds[crowd].app)].startMemberLifeMillis
        for entry in entries where entry.position < end {
            let joinedMillis = Int64(members.table.joinedSeconds(of: entry.member)) * 1_000
            guard now.wallMillis - joinedMillis >= life, !members.table.flags(of: entry.member).contains(.isGhost)
            else { continue }
            self.leave(entry.member, members: members, now: now)
        }
        let isOver = end >= RingPosition.end
        self.audiences.crowds[crowd].starts.sweepPosition = isOver ? 0 : end
        self.audiences.crowds[crowd].starts.sweepAtMillis =
            now.steadyMillis + (isOver && !hasGhosts ? Self.sweepEveryMillis : Self.sweepStepMillis)
        self.scheduleSweep(crowd, now: now)
    }
    /// - Returns: whether there are more whose time is over.
    private mutating func sweepGhosts(_ crowd: CrowdID, members: CrowdTable.Members, now: EngineTime) -> Bool {
        guard self.ghostsUntilMillis(crowd, now: now) <= now.steadyMillis else { return false }
        var count = 0
        for round in self.audiences.crowds[crowd].starts.rounds.indices {
            let ghosts = self.audiences.crowds[crowd].starts.rounds[round].ghosts.keys.sorted {
                $0.rawValue < $1.rawValue
            }
            for member in ghosts where !members.table.flags(of: member).contains(.isInFlight) {
                guard count < Self.sweepCountMax else { return true }
                count += 1
                self.writeStartTombstone(member, members: members)
                self.removeStart(member, members: members)
            }
        }
        return false
    }
    /// Start members of a crowd whose name nobody tells are removed, some at a time.
    /// - Returns: whether it has more.
    mutating func removeSomeStarts(of crowd: CrowdID) -> Bool {
        guard !self.audiences.crowds[crowd].starts.rounds.isEmpty else { return false }
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        var entries: [RingEntry] = []
        for round in self.audiences.crowds[crowd].starts.rounds where entries.isEmpty {
            _ = members.table.fill(round.ring, from: 0, limit: Self.sweepCountMax, into: &entries)
        }
        for entry in entries {
            self.writeStartTombstone(entry.member, members: members)
            self.removeStart(entry.member, members: members)
        }
        guard entries.isEmpty else { return true }
        for round in self.audiences.crowds[crowd].starts.rounds { members.table.removeRing(round.ring) }
        self.audiences.crowds[crowd].starts.rounds = []
        return false
    }
}

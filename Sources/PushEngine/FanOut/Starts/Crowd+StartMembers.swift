import PushModel

/// How start members of a crowd join, leave and are restored. `CrowdStarts` decides; the engine journals and counts.
extension Crowd {
    // MARK: Joining
    /// Remembers the time of a start member's join, if it is the latest so far.
    mutating func startJoinTaken(seconds: UInt32) { self.starts.joinTaken(seconds: seconds) }
    /// Sets a start member's flags and time as its join says: see `CrowdStarts.joined`.
    mutating func startJoined(
        _ member: MemberID, of round: Int, says: MemberFlags, isNew: Bool, joinedSeconds: UInt32,
        in table: inout MemberTable, now: EngineTime
    ) -> Bool {
        self.starts.joined(
            member, of: round, says: says, isNew: isNew, joinedSeconds: joinedSeconds, in: &table, now: now)
    }
    /// Whether the start that goes round was sent to a start member, or may have reached it.
    func startsSent(to member: MemberID, of round: Int, in table: borrowing MemberTable) -> CrowdStarts.Sent {
        self.starts.sent(to: member, of: round, in: table)
    }
    /// Remembers what a start member was sent in the other environment's ring: see `CrowdStarts.moved`.
    mutating func startMoved(
        _ member: MemberID, to round: Int, _ sent: CrowdStarts.Sent, in table: inout MemberTable
    ) {
        self.starts.moved(member, to: round, sent, in: &table)
    }

    // MARK: Leaving
    /// Turns a leaving start member into a ghost, if necessary: see `CrowdStarts.left`.
    mutating func startLeaves(
        _ member: MemberID, of round: Int, in table: inout MemberTable, now: EngineTime
    ) -> Int? {
        self.starts.left(member, of: round, in: &table, now: now)
    }
    /// Removes a start member from the table: see `CrowdStarts.removed`.
    mutating func startRemoved(_ member: MemberID, of round: Int, in table: inout MemberTable) -> Int {
        self.starts.removed(member, of: round, in: &table)
    }
    /// Some start members, to be removed. If there are none, the rings are removed.
    mutating func someStartMembers(in table: inout MemberTable) -> [MemberID] {
        let some = self.starts.someMembers(in: table)
        if some.isEmpty { self.starts.removeRings(in: &table) }
        return some
    }
    /// Ghosts that no longer have to be remembered: see `CrowdStarts.ghostsToForget`.
    func ghostsToForget(in table: borrowing MemberTable, now: EngineTime) -> (members: [MemberID], hasMore: Bool)? {
        self.starts.ghostsToForget(in: table, now: now)
    }
    /// Members that have not joined again for too long: see `CrowdStarts.swept`.
    mutating func startsSwept(
        lifeMillis: Int64, hasGhosts: Bool, in table: borrowing MemberTable, now: EngineTime
    ) -> [MemberID] {
        self.starts.swept(lifeMillis: lifeMillis, hasGhosts: hasGhosts, in: table, now: now)
    }

    // MARK: Records
    /// Makes the record of a start member: see `CrowdStarts.record`.
    mutating func writeStartMember(
        _ member: MemberID, of round: Int, in table: borrowing MemberTable
    ) -> (record: StartMemberRecord, number: UInt32, dueCount: Int) {
        self.starts.record(of: member, of: round, in: table)
    }
    /// Counts a start member's tombstone that is written.
    /// - Returns: the tombstone's number.
    mutating func startTombstoneWritten() -> UInt32 { self.starts.tombstoneWritten() }
    /// Takes Kafka's acknowledgement of a start member's record.
    /// - Returns: whether a start goes round, which may be able to continue now.
    mutating func startMemberAcknowledged(_ number: UInt32, of round: Int, offset: Int64) -> Bool {
        self.starts.memberAcknowledged(number, of: round, offset: offset)
        return round < self.starts.rounds.count && self.starts.hasOrder
    }

    // MARK: A restore
    /// Takes a start member's record. The member is in the round's ring.
    mutating func restored(
        _ member: MemberID, of round: Int, _ record: StartMemberRecord, offset: Int64, in table: inout MemberTable
    ) {
        self.starts.memberRead(member, of: round, record, offset: offset, in: &table)
    }
    /// The start that a restore has read, and whose version has expired; `nil`: there is none.
    var restoredStart: StartOrder? { self.starts.restored.order }
    /// Ends the restore of starts: see `CrowdStarts.restoreOver`.
    mutating func startsRestored(resends: Bool, now: EngineTime) { self.starts.restoreOver(resends: resends, now: now) }
}

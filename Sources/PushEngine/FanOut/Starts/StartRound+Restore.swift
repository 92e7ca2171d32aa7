import PushModel

/// Resumes a start's round after a takeover from what `state` has.
extension StartRound {
    /// Takes over a member whose record says that it waits for the start as a late member, or was sent it.
    /// - Parameters:
    ///   - part: how the former owner left the round; `nil`: no record says.
    ///   - number: number of the member's record, as if it had been written here.
    mutating func resumeMember(
        _ member: MemberID, _ mark: StartMemberRecord.RestoredMark, part: StartProgressRecord.Round?, number: UInt32,
        in table: inout MemberTable
    ) {
        guard mark.mark == .waits, mark.offset >= part?.lateOffset ?? 0 else {
            return self.sentEarly(to: member, in: &table)
        }
        self.lateRead(member, number: number, offset: mark.offset, in: &table)
    }
    /// Resumes the round after the members that were announced. Late members must have been taken over before, by
    /// `resumeMember`.
    /// - Parameters:
    ///   - start: the start that continues.
    ///   - part: how the former owner left the round; `nil`: no record says.
    ///   - position: where the round continues.
    ///   - unheardMax: maximum number of members that are returned.
    /// - Returns: members that may have been sent the start, and whose answer no record contains.
    mutating func resume(
        _ start: StartStamp, part: StartProgressRecord.Round?, at position: Int64, unheardMax: Int,
        in table: inout MemberTable, entries: inout [RingEntry]
    ) -> [MemberID] {
        // A ghost may rejoin at a position that the round has not reached. It must not be sent the start again.
        for (member, sent) in self.ghosts where sent.names(start) { self.sentEarly(to: member, in: &table) }
        let named = (part?.named ?? []).compactMap { self.member(at: $0, in: table, entries: &entries) }
        self.begin(
            at: position, count: self.countOwed(from: position, in: table, entries: &entries),
            lateOffset: part?.lateOffset ?? 0)
        self.namedRead(named)
        guard let part, let unmet = part.unmet, part.unansweredCount > 0 else { return [] }
        return self.unheard(of: part, from: unmet, named: named, max: unheardMax, in: table, entries: &entries)
    }
    /// Members that may have been sent the start, and whose answer is in no record.
    /// - Parameter named: members that surely have not got the start.
    private func unheard(
        of part: StartProgressRecord.Round, from unmet: Int64, named: [MemberID], max most: Int,
        in table: borrowing MemberTable, entries: inout [RingEntry]
    ) -> [MemberID] {
        var members: [MemberID] = []
        // A member may have had two pushes, but is returned once.
        var counted = Set(named)
        for position in part.unanswered where members.count < most {
            guard let member = self.member(at: position, in: table, entries: &entries), counted.insert(member).inserted
            else { continue }
            members.append(member)
        }
        var from = unmet
        while from < part.horizon, members.count < most {
            entries.removeAll(keepingCapacity: true)
            let end = table.fill(
                self.ring, from: UInt64(from), limit: StartProgressRecord.unansweredMax, into: &entries)
            for entry in entries where Int64(entry.position) < part.horizon && members.count < most {
                // Late members are not met in the ring's order, and ghosts have left.
                guard Self.isMetInRound(entry.member, in: table), counted.insert(entry.member).inserted else {
                    continue
                }
                members.append(entry.member)
            }
            from = Int64(end)
        }
        return members
    }
    private func countOwed(
        from position: Int64, in table: borrowing MemberTable, entries: inout [RingEntry]
    ) -> Int {
        var (count, from) = (0, UInt64(position))
        while from < RingPosition.end {
            entries.removeAll(keepingCapacity: true)
            from = table.fill(self.ring, from: from, limit: 1_024, into: &entries)
            for entry in entries where Self.isMetInRound(entry.member, in: table) { count += 1 }
        }
        return count
    }
    /// The member at a position that a record names; `nil`: there is none now, or it has left or is late.
    private func member(at position: Int64, in table: borrowing MemberTable, entries: inout [RingEntry]) -> MemberID? {
        guard position < Self.end else { return nil }
        entries.removeAll(keepingCapacity: true)
        _ = table.fill(self.ring, from: UInt64(position), limit: 1, into: &entries)
        guard let entry = entries.first, entry.position == UInt64(position),
            table.flags(of: entry.member).isDisjoint(with: [.isLate, .isGhost])
        else { return nil }
        return entry.member
    }
}

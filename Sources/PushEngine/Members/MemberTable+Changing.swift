/// Adds members, moves them to another ring, and removes them.
extension MemberTable {
    /// Adds a member. The caller has checked that it is new. A new update member's token is in no ring of update
    /// members; a new start member's token is not in this ring.
    ///
    /// - Parameter token: 1 to `tokenByteCountMax` bytes.
    /// - Returns: the new member; `none`: the start token is in `ringsOfStartTokenMax` rings already, or all rows are
    ///   in use.
    mutating func insert(
        _ token: Span<UInt8>, in ring: RingID, joinedSeconds: UInt32, flags: MemberFlags = []
    ) -> MemberID {
        precondition(!token.isEmpty && token.count <= Self.tokenByteCountMax, "a token has 1 to 1,024 bytes")
        let row =
            switch self.rings[ring].kind {
            case .update: self.insertToken(token, .updateMember, hash: self.searchHash(of: token))
            case .start: self.insertMembership(of: token)
            }
        let member = MemberID(row)
        guard member.isSome else { return .none }
        self.rows[row, .joinedSeconds] = joinedSeconds
        self.setRingAndFlags(ring, flags, of: member)
        self.blocks.insert(
            row, hash: RowSpreading.ring.hash(token), into: &self.rings[ring].members, .ring, rows: self.rows)
        self.count += 1
        return member
    }

    /// Whether `insert` would find a row for another update member.
    func hasRoomForUpdateMember(tokenByteCount: Int) -> Bool {
        self.rows.hasRoom(for: .updateMember, tokenByteCount: tokenByteCount)
    }

    /// Moves an update member to another ring of update members. It keeps its flags and the time when it joined.
    mutating func move(_ member: MemberID, to ring: RingID) {
        let old = self.ring(of: member)
        precondition(old.isSome, "member \(member) is in no ring")
        precondition(
            self.rows.kind(of: member.row) == .updateMember && self.rings[ring].kind == .update,
            "only an update member goes over, and to its like")
        let hash = self.rows.hash(of: member.row, .ring)
        self.blocks.remove(member.row, hash: hash, from: &self.rings[old].members)
        self.setRingAndFlags(ring, self.flags(of: member), of: member)
        self.blocks.insert(member.row, hash: hash, into: &self.rings[ring].members, .ring, rows: self.rows)
    }

    /// Takes a member out of its ring, and out of the index or its start token's list. Its number, token, flags and
    /// time stay until it is freed, even if another member joins with the same token before that.
    mutating func unlink(_ member: MemberID) {
        let ring = self.ring(of: member)
        precondition(ring.isSome, "member \(member) is in no ring")
        self.blocks.remove(
            member.row, hash: self.rows.hash(of: member.row, .ring), from: &self.rings[ring].members)
        self.forget(member)
    }

    /// Gives back the number and the token of an unlinked member. A start token stays while other memberships name it.
    mutating func free(_ member: MemberID) {
        precondition(self.ring(of: member).isNone, "member \(member) is in a ring")
        if self.rows.kind(of: member.row) == .startMember { self.releaseStartToken(of: member.row) }
        self.rows.release(member.row)
    }

    /// Unlinks a member and frees it.
    mutating func remove(_ member: MemberID) {
        self.unlink(member)
        self.free(member)
    }

    /// Takes at most `max` steps towards an empty ring. A step removes a member or an empty bucket. `count(of:)` says
    /// how many members remain.
    /// - Parameter kept: a member with one of these flags is only unlinked. The code that set the flag must free the
    ///   member later.
    /// - Returns: the number of members that left.
    @discardableResult mutating func removeSome(
        of ring: RingID, max: Int, unlinkingOnly kept: MemberFlags = []
    ) -> Int {
        var removed = 0
        for _ in 0..<max where self.rings[ring].members.count > 0 {
            let member = MemberID(self.blocks.removeSome(from: &self.rings[ring].members))
            guard member.isSome else { continue }
            removed += 1
            self.forget(member)
            if self.flags(of: member).isDisjoint(with: kept) { self.free(member) }
        }
        return removed
    }

    /// Removes a member from the index, or from its start token's list. The caller has taken the member out of its
    /// ring. The member's ring becomes `none`.
    private mutating func forget(_ member: MemberID) {
        let row = member.row
        if self.rows.kind(of: row) == .startMember {
            self.unlinkMembership(row)
        } else {
            self.blocks.remove(row, hash: self.rows.hash(of: row, self.indexing), from: &self.index)
        }
        self.setRingAndFlags(.none, self.flags(of: member), of: member)
        self.count -= 1
    }

    /// Stores a token in a new row, and adds the row to the index. Returns `none` if there is no room.
    private mutating func insertToken(_ token: Span<UInt8>, _ kind: RowKind, hash: UInt64) -> RowID {
        let row = self.rows.allocate(kind, tokenByteCount: token.count)
        guard row.isSome else { return .none }
        // The row was allocated for a token of this length.
        unsafe token.withUnsafeBytes { unsafe self.rows.ownToken(row).copyMemory(from: $0) }
        self.blocks.insert(row, hash: hash, into: &self.index, self.indexing, rows: self.rows)
        return row
    }

    // MARK: Start tokens

    /// Adds a membership of a start token. `none`: the token has the maximum number of memberships, or there is no
    /// room.
    private mutating func insertMembership(of token: Span<UInt8>) -> RowID {
        let row = self.rows.allocate(.startMember, tokenByteCount: 0)
        guard row.isSome else { return .none }
        let tokenRow = self.rowOfStartToken(token)
        // The second limit counts unlinked memberships that are not freed yet, too. There are many of them only when
        // pushes get no answer.
        guard tokenRow.isSome, self.rows[tokenRow, .linkedMembershipCount] < Self.ringsOfStartTokenMax,
            self.rows[tokenRow, .membershipCount] < UInt16.max
        else {
            self.rows.release(row)
            return .none
        }
        self.rows[row, .startToken] = tokenRow
        self.rows[row, .nextMembership] = self.rows[tokenRow, .firstMembership]
        self.rows[tokenRow, .firstMembership] = row
        self.rows[tokenRow, .membershipCount] += 1
        self.rows[tokenRow, .linkedMembershipCount] += 1
        return row
    }

    /// The token's row, which may be new. `none`: there is no room.
    private mutating func rowOfStartToken(_ token: Span<UInt8>) -> RowID {
        let hash = self.searchHash(of: token)
        let found = self.row(.startToken, of: token, hash: hash)
        if found.isSome { return found }
        let row = self.insertToken(token, .startToken, hash: hash)
        guard row.isSome else { return .none }
        self.rows[row, .firstMembership] = .none
        self.rows[row, .membershipCount] = 0
        self.rows[row, .linkedMembershipCount] = 0
        self.startTokenCount += 1
        return row
    }

    /// Takes a membership out of its start token's list. The membership still names the token.
    private mutating func unlinkMembership(_ row: RowID) {
        let token = self.rows[row, .startToken]
        let next = self.rows[row, .nextMembership]
        if self.rows[token, .firstMembership] == row {
            self.rows[token, .firstMembership] = next
        } else {
            var previous = self.rows[token, .firstMembership]
            while self.rows[previous, .nextMembership] != row { previous = self.rows[previous, .nextMembership] }
            self.rows[previous, .nextMembership] = next
        }
        self.rows[row, .nextMembership] = .none
        self.rows[token, .linkedMembershipCount] -= 1
    }

    /// Takes a membership off its start token's count. If no other membership names the token, the token's row is
    /// released.
    private mutating func releaseStartToken(of row: RowID) {
        let token = self.rows[row, .startToken]
        self.rows[token, .membershipCount] -= 1
        guard self.rows[token, .membershipCount] == 0 else { return }
        self.blocks.remove(token, hash: self.rows.hash(of: token, self.indexing), from: &self.index)
        self.rows.release(token)
        self.startTokenCount -= 1
    }
}

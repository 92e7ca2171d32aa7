import PushModel

/// Finds members by their tokens.
extension MemberTable {
    /// The update member that has this token, or `none`.
    func find(_ token: Span<UInt8>) -> MemberID {
        MemberID(self.row(.updateMember, of: token, hash: self.searchHash(of: token)))
    }

    /// The member of this ring that has this token, or `none`.
    func find(_ token: Span<UInt8>, in ring: RingID) -> MemberID {
        switch self.rings[ring].kind {
        case .update:
            let member = self.find(token)
            return member.isSome && self.ring(of: member) == ring ? member : .none
        case .start:
            var member = self.firstMembership(ofStartToken: token)
            while member.isSome, self.ring(of: member) != ring { member = self.nextMembership(after: member) }
            return member
        }
    }

    /// One of the memberships of a start token; `none`: it has none. `nextMembership` leads to the others.
    func firstMembership(ofStartToken token: Span<UInt8>) -> MemberID {
        let row = self.row(.startToken, of: token, hash: self.searchHash(of: token))
        return row.isNone ? .none : MemberID(self.rows[row, .firstMembership])
    }

    func nextMembership(after member: MemberID) -> MemberID { MemberID(self.rows[member.row, .nextMembership]) }

    /// The row of this kind that has this token, or `none`.
    func row(_ kind: RowKind, of token: Span<UInt8>, hash: UInt64) -> RowID {
        self.blocks.first(in: self.index[self.index.bucket(of: hash)], hash: hash) {
            self.rows.kind(of: $0) == kind && self.rows.holds($0, token)
        }
    }

    /// The hash by which a token is found.
    func searchHash(of token: Span<UInt8>) -> UInt64 { self.indexing.hash(token) }
}

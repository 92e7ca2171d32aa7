import Testing

@testable import PushEngine

/// A model of a `MemberTable` in plain dictionaries.
struct MemberModel {
    struct Member: Equatable {
        let token: [UInt8]
        var ring: RingID
        var flags: MemberFlags
        var joinedSeconds: UInt32
    }

    var kinds: [RingID: MemberKind] = [:]
    /// Members in rings.
    var linked: [MemberID: Member] = [:]
    /// Members that were unlinked and are not freed yet.
    var unlinked: [MemberID: Member] = [:]

    func members(of ring: RingID) -> [MemberID] { self.linked.filter { $0.value.ring == ring }.map(\.key) }

    func updateMember(with token: [UInt8]) -> MemberID? {
        self.linked.first { $0.value.token == token && self.kinds[$0.value.ring] == .update }?.key
    }

    func startMembers(with token: [UInt8]) -> Set<MemberID> {
        Set(self.linked.filter { $0.value.token == token && self.kinds[$0.value.ring] == .start }.map(\.key))
    }

    /// Whether the table says the same of every member and ring as this model.
    func agrees(with table: borrowing MemberTable) -> Bool {
        guard table.count == self.linked.count else { return false }
        for (member, known) in self.linked {
            guard Self.isTrue(member, known, in: table), table.ring(of: member) == known.ring,
                table.kind(of: member) == self.kinds[known.ring],
                table.find(known.token.span, in: known.ring) == member
            else { return false }
        }
        for (member, known) in self.unlinked {
            guard Self.isTrue(member, known, in: table), table.ring(of: member).isNone else { return false }
        }
        for ring in self.kinds.keys {
            let expected = self.members(of: ring)
                .map { RingEntry(position: table.position(of: $0), member: $0) }
                .sorted { $0.position < $1.position }
            guard table.count(of: ring) == expected.count, table.members(of: ring, limit: 7) == expected else {
                return false
            }
        }
        return true
    }

    private static func isTrue(_ member: MemberID, _ known: Member, in table: borrowing MemberTable) -> Bool {
        table.bytes(of: member) == known.token && table.flags(of: member) == known.flags
            && table.joinedSeconds(of: member) == known.joinedSeconds
            && table.position(of: member) == RingPosition.of(known.token.span)
    }
}

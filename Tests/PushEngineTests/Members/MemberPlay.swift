import PushModel
import Testing

@testable import PushEngine

/// Applies the same random steps to a table and to its model.
final class MemberPlay {
    private var table: MemberTable
    private var model = MemberModel()
    private var tokens: MemberTokens
    private var rings: [RingID] = []
    /// Tokens that were used. Some are used again.
    private var known: [[UInt8]] = []

    init(seed: UInt64) {
        self.table = MemberTable(seed: seed)
        self.tokens = MemberTokens(seed: seed)
        for number in 0..<7 { self.makeRing(number % 3 == 0 ? .start : .update) }
    }

    func agrees() -> Bool { self.model.agrees(with: self.table) }

    var isEmpty: Bool { self.table.count == 0 && self.table.startTokenCount == 0 && self.model.unlinked.isEmpty }

    func step() {
        switch self.draw(20) {
        case 0..<9: self.join()
        case 9..<11: self.remove()
        case 11..<13: self.unlink()
        case 13..<15: self.free()
        case 15..<17: self.move()
        case 17..<19: self.mark()
        default: self.look()
        }
    }

    /// Removes the rings step by step, and frees the unlinked members.
    func removeEverything() {
        for ring in self.rings {
            while self.table.count(of: ring) > 0 {
                self.table.removeSome(of: ring, max: 1 + self.draw(50), unlinkingOnly: MemberFlags(bit: 0))
            }
        }
        for (member, known) in self.model.linked where known.flags.contains(MemberFlags(bit: 0)) {
            self.model.unlinked[member] = known
        }
        self.model.linked = [:]
        while !self.model.unlinked.isEmpty { self.free() }
        for ring in self.rings { self.table.removeRing(ring) }
    }

    // MARK: Steps

    private func makeRing(_ kind: MemberKind) {
        let ring = self.table.makeRing(of: kind)
        self.rings.append(ring)
        self.model.kinds[ring] = kind
    }

    private func join() {
        let token = self.token()
        let ring = self.rings[self.draw(self.rings.count)]
        let isThere =
            switch self.model.kinds[ring]! {
            case .update: self.model.updateMember(with: token) != nil
            case .start: self.model.startMembers(with: token).contains { self.model.linked[$0]!.ring == ring }
            }
        guard !isThere else { return }
        let flags = MemberFlags(rawValue: UInt16(self.draw(1 << MemberFlags.bitCount)))
        let joined = UInt32(self.draw(1_000_000))
        let member = self.table.insert(token.span, in: ring, joinedSeconds: joined, flags: flags)
        self.model.linked[member] = .init(token: token, ring: ring, flags: flags, joinedSeconds: joined)
    }

    /// A token that was used before, or a new one.
    private func token() -> [UInt8] {
        if !self.known.isEmpty, self.draw(3) == 0 { return self.known[self.draw(self.known.count)] }
        self.known.append(self.tokens.next())
        return self.known[self.known.count - 1]
    }

    private func remove() {
        guard let member = self.any(of: self.model.linked) else { return }
        self.table.remove(member)
        self.model.linked[member] = nil
    }

    private func unlink() {
        guard let member = self.any(of: self.model.linked) else { return }
        self.table.unlink(member)
        self.model.unlinked[member] = self.model.linked.removeValue(forKey: member)
    }

    private func free() {
        guard let member = self.any(of: self.model.unlinked) else { return }
        self.table.free(member)
        self.model.unlinked[member] = nil
    }

    private func move() {
        guard let member = self.any(of: self.model.linked) else { return }
        let ring = self.rings[self.draw(self.rings.count)]
        guard self.table.kind(of: member) == .update, self.model.kinds[ring] == .update else { return }
        self.table.move(member, to: ring)
        self.model.linked[member]!.ring = ring
    }

    private func mark() {
        guard let member = self.any(of: self.model.linked) else { return }
        let flags = MemberFlags(rawValue: UInt16(self.draw(1 << MemberFlags.bitCount)))
        self.table.setFlags(flags, of: member)
        self.model.linked[member]!.flags = flags
        self.table.setJoinedSeconds(7, of: member)
        self.model.linked[member]!.joinedSeconds = 7
    }

    /// Looks up a token. The table must find the members that the model has, and no others.
    private func look() {
        guard !self.known.isEmpty else { return }
        let token = self.known[self.draw(self.known.count)]
        let update = self.table.find(token.span)
        #expect(update == self.model.updateMember(with: token) ?? .none)
        var memberships: Set<MemberID> = []
        var member = self.table.firstMembership(ofStartToken: token.span)
        while member.isSome {
            guard memberships.insert(member).inserted else {
                Issue.record("a membership was met twice")
                return
            }
            member = self.table.nextMembership(after: member)
        }
        #expect(memberships == self.model.startMembers(with: token))
    }

    private func any(of members: [MemberID: MemberModel.Member]) -> MemberID? {
        // Takes the member whose number is nearest to a random one. The dictionary's own order differs from run to
        // run.
        let last = members.keys.reduce(0) { max($0, $1.index) }
        let wanted = self.draw(last + 1)
        return members.keys.min { (abs($0.index - wanted), $0.index) < (abs($1.index - wanted), $1.index) }
    }

    private func draw(_ count: Int) -> Int { Int.random(in: 0..<count, using: &self.tokens.random) }
}

import PushModel
import Testing

@testable import PushEngine

@Suite struct MemberTableTests {
    /// The table agrees with a model while members of both kinds join, move, are marked and leave in random order.
    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func holdsWhatDictionariesHold(seed: UInt64) {
        let play = MemberPlay(seed: seed)
        for step in 0..<4_000 {
            play.step()
            if step % 500 == 0 { #expect(play.agrees(), "step \(step), seed \(seed)") }
        }
        #expect(play.agrees())
        play.removeEverything()
        #expect(play.agrees())
        #expect(play.isEmpty)
    }

    @Test func anUnlinkedMemberKeepsItsNumberAndToken() {
        var table = MemberTable(seed: 1)
        let ring = table.makeRing(of: .update)
        let token: [UInt8] = Array(0..<32)
        let gone = table.insert(token.span, in: ring, joinedSeconds: 5, flags: MemberFlags(bit: 2))
        table.unlink(gone)
        let found = table.find(token.span)
        #expect(found.isNone)
        let back = table.insert(token.span, in: ring, joinedSeconds: 9)
        #expect(back != gone)
        let kept = (table.bytes(of: gone), table.flags(of: gone), table.joinedSeconds(of: gone))
        #expect(kept == (token, MemberFlags(bit: 2), 5))
        table.free(gone)
        let again = table.find(token.span)
        #expect(again == back)
        let count = table.count
        #expect(count == 1)
    }

    /// A full table returns `none` for a further member. A caller that asks for room first never gets `none`.
    @Test func aFullTableSaysSo() {
        var table = MemberTable(seed: 1, chunksMax: 2)
        let ring = table.makeRing(of: .update)
        var tokens = MemberTokens(seed: 1)
        let rare = table.insert(tokens.next(byteCount: 100).span, in: ring, joinedSeconds: 0)
        var members: [MemberID] = []
        while table.hasRoomForUpdateMember(tokenByteCount: 32), members.count < 10_000 {
            members.append(table.insert(tokens.next(byteCount: 32).span, in: ring, joinedSeconds: 0))
        }
        #expect(rare.isSome && !members.isEmpty && members.allSatisfy(\.isSome))
        let refused = table.insert(tokens.next(byteCount: 32).span, in: ring, joinedSeconds: 0)
        let hasRoomForOthers = (
            table.hasRoomForUpdateMember(tokenByteCount: 100), table.hasRoomForUpdateMember(tokenByteCount: 33)
        )
        #expect(refused.isNone && hasRoomForOthers == (true, false), "rows are of one length")
        table.remove(members[0])
        let hasRoom = table.hasRoomForUpdateMember(tokenByteCount: 32)
        #expect(hasRoom)
    }

    @Test func aFreedNumberIsUsedAgainForItsLength() {
        var table = MemberTable(seed: 1)
        let ring = table.makeRing(of: .update)
        var tokens = MemberTokens(seed: 1)
        let first = table.insert(tokens.next(byteCount: 32).span, in: ring, joinedSeconds: 0)
        table.remove(first)
        let longer = table.insert(tokens.next(byteCount: 33).span, in: ring, joinedSeconds: 0)
        let same = table.insert(tokens.next(byteCount: 32).span, in: ring, joinedSeconds: 0)
        #expect(longer != first && same == first)
    }

    /// An update token and a start token with the same bytes are two members.
    @Test func kindsAreApart() {
        var table = MemberTable(seed: 1)
        let updates = table.makeRing(of: .update)
        let starts = table.makeRing(of: .start)
        let token: [UInt8] = Array(0..<80)
        let update = table.insert(token.span, in: updates, joinedSeconds: 0)
        let absent = table.firstMembership(ofStartToken: token.span)
        #expect(absent.isNone)
        let start = table.insert(token.span, in: starts, joinedSeconds: 0)
        let found = (table.find(token.span), table.firstMembership(ofStartToken: token.span))
        #expect(found == (update, start))
        let inRings = (table.find(token.span, in: updates), table.find(token.span, in: starts))
        #expect(inRings == (update, start))
        let kinds = (table.kind(of: update), table.kind(of: start))
        #expect(kinds == (.update, .start))
    }

    @Test func flagsDoNotTouchTheRing() {
        var table = MemberTable(seed: 1)
        let rings = (0..<300).map { _ in table.makeRing(of: .update) }
        let token: [UInt8] = [1]
        let member = table.insert(token.span, in: rings[299], joinedSeconds: 0)
        for bit in 0..<MemberFlags.bitCount {
            table.setFlags(MemberFlags(bit: bit), of: member)
            let (flags, ring) = (table.flags(of: member), table.ring(of: member))
            #expect(flags == MemberFlags(bit: bit) && ring == rings[299])
        }
        table.setFlags(MemberFlags(rawValue: .max), of: member)
        table.unlink(member)
        let (flags, ring) = (table.flags(of: member), table.ring(of: member))
        #expect(flags.rawValue == 0xfff && ring.isNone)
    }

    @Test func aRemovedRingsNumberIsUsedAgain() {
        var table = MemberTable(seed: 1)
        let first = table.makeRing(of: .update)
        let second = table.makeRing(of: .update)
        table.removeRing(first)
        let third = table.makeRing(of: .start)
        #expect(third == first && second != first)
        let kind = table.kind(of: third)
        #expect(kind == .start)
    }

    /// Marked members are only unlinked, and stay until the caller that marked them frees them.
    @Test func aRingIsEmptiedStepByStep() {
        var table = MemberTable(seed: 1)
        let ring = table.makeRing(of: .update)
        let other = table.makeRing(of: .update)
        var tokens = MemberTokens(seed: 1)
        let marked = MemberFlags(bit: 4)
        var kept: [MemberID] = []
        for number in 0..<3_000 {
            let flags = number % 10 == 0 ? marked : []
            let member = table.insert(
                tokens.next(byteCount: 32).span, in: number % 3 == 0 ? other : ring, joinedSeconds: 0, flags: flags)
            if number % 3 != 0, flags == marked { kept.append(member) }
        }
        var steps = 0
        var removed = 0
        while table.count(of: ring) > 0 {
            let here = table.removeSome(of: ring, max: 64, unlinkingOnly: marked)
            #expect(here <= 64)
            removed += here
            steps += 1
        }
        #expect(removed == 2_000)
        // Some of the 64 steps of a call remove an empty bucket and no member.
        #expect(steps <= 2 * 2_000 / 64 + 1)
        let left = (table.count, table.count(of: other))
        #expect(left == (1_000, 1_000))
        for member in kept {
            let ring = table.ring(of: member)
            #expect(ring.isNone)
            table.free(member)
        }
        table.removeRing(ring)
        let others = table.members(of: other)
        #expect(others.count == 1_000)
    }
}

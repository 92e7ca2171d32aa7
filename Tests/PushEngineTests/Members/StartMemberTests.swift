import PushModel
import Testing

@testable import PushEngine

@Suite struct StartMemberTests {
    @Test func aTokenIsStoredOnceForAllItsRings() {
        var table = MemberTable(seed: 1)
        let rings = (0..<10).map { _ in table.makeRing(of: .start) }
        let token: [UInt8] = Array(0..<80)
        var members: [MemberID] = []
        for (number, ring) in rings.enumerated() {
            members.append(
                table.insert(
                    token.span, in: ring, joinedSeconds: UInt32(number), flags: MemberFlags(bit: number)))
        }
        let counts = (table.count, table.startTokenCount)
        #expect(counts == (10, 1))
        for (number, member) in members.enumerated() {
            let known = (table.joinedSeconds(of: member), table.flags(of: member), table.ring(of: member))
            #expect(known == (UInt32(number), MemberFlags(bit: number), rings[number]))
            let place = unsafe (table.tokenBytes(member).baseAddress, table.tokenBytes(members[0]).baseAddress)
            #expect(unsafe place.0 == place.1)
        }
    }

    @Test func aTokenIsInSoManyRings() {
        var table = MemberTable(seed: 1)
        let token: [UInt8] = Array(0..<80)
        var members: [MemberID] = []
        for _ in 0..<MemberTable.ringsOfStartTokenMax {
            members.append(table.insert(token.span, in: table.makeRing(of: .start), joinedSeconds: 0))
        }
        #expect(members.allSatisfy { $0.isSome })
        let last = table.makeRing(of: .start)
        let refused = table.insert(token.span, in: last, joinedSeconds: 0)
        #expect(refused.isNone)
        table.remove(members[17])
        let taken = table.insert(token.span, in: last, joinedSeconds: 0)
        #expect(taken.isSome)
        let count = (table.count, table.count(of: last))
        #expect(count == (MemberTable.ringsOfStartTokenMax, 1))
    }

    /// A token's bytes are kept until its last membership is freed. Unlinked memberships count.
    @Test func theTokenGoesWithItsLastMembership() {
        var table = MemberTable(seed: 1)
        let rings = (0..<3).map { _ in table.makeRing(of: .start) }
        let token: [UInt8] = Array(0..<80)
        let members = rings.map { table.insert(token.span, in: $0, joinedSeconds: 0) }
        table.unlink(members[1])
        table.remove(members[0])
        table.remove(members[2])
        let found = table.firstMembership(ofStartToken: token.span)
        #expect(found.isNone)
        let kept = (table.bytes(of: members[1]), table.startTokenCount)
        #expect(kept == (token, 1))
        let back = table.insert(token.span, in: rings[1], joinedSeconds: 0)
        #expect(back != members[1])
        table.free(members[1])
        let again = (table.find(token.span, in: rings[1]), table.startTokenCount)
        #expect(again == (back, 1))
        table.remove(back)
        let left = table.startTokenCount
        #expect(left == 0)
    }

    /// The number of members with one token is limited. Unlinked members count until they are freed.
    @Test func aTokenIsNamedSoManyTimes() {
        var table = MemberTable(seed: 1)
        let ring = table.makeRing(of: .start)
        let token: [UInt8] = Array(0..<80)
        var waiting: [MemberID] = []
        while true {
            let member = table.insert(token.span, in: ring, joinedSeconds: 0)
            guard member.isSome else { break }
            table.unlink(member)
            waiting.append(member)
        }
        #expect(waiting.count == Int(UInt16.max))
        for member in waiting { table.free(member) }
        let member = table.insert(token.span, in: ring, joinedSeconds: 0)
        #expect(member.isSome)
    }
}

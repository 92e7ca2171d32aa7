import PushModel
import Testing

@testable import PushEngine

@Suite struct RingOrderTests {
    /// `fill` returns a ring's members in order, from any position and in portions of any size.
    @Test(arguments: 1...6 as ClosedRange<UInt64>, [MemberKind.update, .start])
    func fillsAreRunsOfASortedArray(seed: UInt64, kind: MemberKind) {
        var tokens = MemberTokens(seed: seed)
        var table = MemberTable(seed: seed)
        let ring = table.makeRing(of: kind)
        var sorted: [RingEntry] = []
        for _ in 0..<Int.random(in: 0..<3_000, using: &tokens.random) {
            let token = tokens.next(byteCount: 32)
            let member = table.insert(token.span, in: ring, joinedSeconds: 0)
            sorted.append(RingEntry(position: RingPosition.of(token.span), member: member))
        }
        sorted.sort { $0.position < $1.position }
        for _ in 0..<300 {
            let position = UInt64.random(in: 0...RingPosition.end, using: &tokens.random)
            let limit = Int.random(in: 1...100, using: &tokens.random)
            var entries: [RingEntry] = []
            let next = table.fill(ring, from: position, limit: limit, into: &entries)
            #expect(entries == sorted.filter { $0.position >= position && $0.position < next })
            #expect(next > position || position == RingPosition.end)
            #expect(next == RingPosition.end || entries.count >= limit)
            #expect(entries.count <= limit, "positions that are shared are rarer than this")
        }
    }

    @Test func whatWasThereBeforeStays() {
        var table = MemberTable(seed: 1)
        let ring = table.makeRing(of: .update)
        var tokens = MemberTokens(seed: 1)
        for _ in 0..<100 { _ = table.insert(tokens.next(byteCount: 32).span, in: ring, joinedSeconds: 0) }
        var entries = table.members(of: ring)
        let first = entries
        _ = table.fill(ring, from: 0, limit: 10, into: &entries)
        #expect(entries == first + first.prefix(10))
    }

    /// Members join, leave and move to other rings between the portions of a round. Each member that stays is met
    /// once.
    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func aRoundMeetsWhoeverStaysOnce(seed: UInt64) {
        var tokens = MemberTokens(seed: seed)
        var table = MemberTable(seed: seed)
        let ring = table.makeRing(of: .update)
        let other = table.makeRing(of: .update)
        var passing: [MemberID] = []
        var staying: Set<MemberID> = []
        // The ring grows or shrinks during the round.
        let shrinks = seed % 2 == 0
        for number in 0..<2_000 {
            let member = table.insert(tokens.next().span, in: ring, joinedSeconds: 0)
            if shrinks, number % 8 != 0 { passing.append(member) } else { staying.insert(member) }
        }
        var met: [MemberID: Int] = [:]
        // The round begins anywhere and goes once round the ring.
        let start = UInt64.random(in: 0..<RingPosition.end, using: &tokens.random)
        var position = start
        var wrapped = false
        while true {
            var entries: [RingEntry] = []
            let limit = Int.random(in: 1...64, using: &tokens.random)
            let next = table.fill(ring, from: position, limit: limit, into: &entries)
            #expect(zip(entries, entries.dropFirst()).allSatisfy { $0.position <= $1.position })
            for entry in entries where !wrapped || entry.position < start { met[entry.member, default: 0] += 1 }
            if wrapped, next >= start { break }
            wrapped = wrapped || next == RingPosition.end
            position = next == RingPosition.end ? 0 : next
            for _ in 0..<Int.random(in: 0..<(shrinks ? 80 : 5), using: &tokens.random) where !passing.isEmpty {
                let member = passing.swapRemove(at: Int.random(in: 0..<passing.count, using: &tokens.random))
                // Numbers are used again, so the next member with this number is another one.
                met[member] = nil
                if Bool.random(using: &tokens.random), table.ring(of: member) == ring {
                    table.move(member, to: other)
                } else {
                    table.remove(member)
                }
            }
            for _ in 0..<Int.random(in: 0..<(shrinks ? 5 : 80), using: &tokens.random) {
                let member = table.insert(tokens.next(byteCount: 24).span, in: ring, joinedSeconds: 0)
                met[member] = nil
                passing.append(member)
            }
        }
        #expect(staying.allSatisfy { met[$0] == 1 })
        #expect(met.values.allSatisfy { $0 == 1 })
    }

    /// Workers read each other's positions. So the order must not depend on a table's seed or on the order of the
    /// joins.
    @Test func twoTablesHaveOneOrder() {
        var tokens = MemberTokens(seed: 3)
        let all = (0..<1_000).map { _ in tokens.next(byteCount: 32) }
        func order(seed: UInt64, _ tokens: [[UInt8]]) -> [[UInt8]] {
            var table = MemberTable(seed: seed)
            let ring = table.makeRing(of: .update)
            for token in tokens { _ = table.insert(token.span, in: ring, joinedSeconds: 0) }
            return table.members(of: ring).map { table.bytes(of: $0.member) }
        }
        #expect(order(seed: 1, all) == order(seed: 2, all.reversed()))
    }

    /// Members at one position are not split between two portions. Such members are too rare for a random test, so this
    /// test makes them.
    @Test(
        arguments: [
            // Cases: positions, the wanted number, how many stay, and the next position.
            ([1, 2, 3], 3, 3, nil), ([1, 2, 3], 2, 2, 3), ([1, 2, 2, 2, 5], 2, 4, 5), ([1, 2, 2, 2], 2, 4, nil),
            ([4, 4, 4], 1, 3, nil), ([4, 4, 6, 6], 2, 2, 6), ([4, 4, 6, 6], 3, 4, nil),
        ] as [([UInt64], Int, Int, UInt64?)])
    func onePositionIsNotSplit(positions: [UInt64], wanted: Int, stay: Int, next: UInt64?) {
        var entries = positions.map { RingEntry(position: $0, member: MemberID(rawValue: 0)) }
        let cut = MemberTable.cut(&entries, toAbout: wanted)
        #expect(cut == next)
        #expect(entries.map(\.position) == Array(positions.prefix(stay)))
    }

    @Test func manySmallRingsAreApart() {
        var tokens = MemberTokens(seed: 9)
        var table = MemberTable(seed: 9)
        let rings = (0..<1_000).map { _ in table.makeRing(of: .update) }
        var expected = [Set<MemberID>](repeating: [], count: rings.count)
        for number in 0..<20_000 {
            let member = table.insert(tokens.next(byteCount: 32).span, in: rings[number % 1_000], joinedSeconds: 0)
            expected[number % 1_000].insert(member)
        }
        for number in rings.indices {
            let entries = table.members(of: rings[number], limit: 6)
            #expect(Set(entries.map(\.member)) == expected[number] && entries.count == 20)
        }
    }
}

extension Array {
    fileprivate mutating func swapRemove(at index: Int) -> Element {
        self.swapAt(index, self.count - 1)
        return self.removeLast()
    }
}

import PushModel
import Testing

@testable import PushEngine

@Suite struct RingLookAheadTests {
    /// A ring whose members have random positions.
    private static func makeRing(in table: inout MemberTable, seed: UInt64, count: Int) -> RingID {
        var random = SplitMix64(seed: seed)
        let ring = table.makeRing(of: .update)
        for _ in 0..<count {
            let token = (0..<32).map { _ in UInt8.random(in: 0...255, using: &random) }
            _ = table.insert(token.span, in: ring, joinedSeconds: 0)
        }
        return ring
    }

    @Test("All members from a position on are listed once, in order", arguments: 0..<20 as Range<UInt64>)
    func namesAllOnce(seed: UInt64) {
        let count = Int(seed) * 17
        var table = MemberTable(seed: seed)
        let ring = Self.makeRing(in: &table, seed: seed, count: count)
        // The search starts in the second lap, in the middle of the ring.
        let circle = Int64(RingPosition.end)
        var position = circle + circle / 2
        var upcoming = RingLookAhead()
        var met: [RingEntry] = []
        while position < 2 * circle {
            upcoming.lookUp(ring, from: position, in: table)
            #expect(upcoming.end > position && upcoming.end <= 2 * circle)
            while let entry = upcoming.next {
                met.append(entry)
                upcoming.passed()
            }
            position = upcoming.end
        }
        let expected = table.members(of: ring).filter { $0.position >= RingPosition.end / 2 }
        #expect(met == expected)
    }

    @Test func forgetsAndCountsFromAnotherTurnOn() {
        var table = MemberTable(seed: 1)
        let ring = Self.makeRing(in: &table, seed: 1, count: 3)
        var upcoming = RingLookAhead()
        upcoming.lookUp(ring, from: Int64(RingPosition.end), in: table)
        #expect(upcoming.entries.count == 3 && upcoming.end == 2 * Int64(RingPosition.end))
        upcoming.rebase(by: Int64(RingPosition.end))
        #expect(upcoming.end == Int64(RingPosition.end))
        upcoming.forget()
        #expect(upcoming.next == nil && upcoming.end == 0)
    }
}

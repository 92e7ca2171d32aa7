import PushModel
import Testing

@testable import PushEngine

@Suite struct MemberGrowthTests {
    /// An insertion or removal rehashes at most one bucket of the ring and one of the index, however large they are.
    @Test func growsAndShrinksByOneBucketAtATime() {
        var table = MemberTable(seed: 2)
        let ring = table.makeRing(of: .update)
        var tokens = MemberTokens(seed: 2)
        var members: [MemberID] = []
        var most = 0
        var buckets = (table.indexBucketCount, table.bucketCount(of: ring))
        func look() {
            let now = (table.indexBucketCount, table.bucketCount(of: ring))
            most = max(most, abs(now.0 - buckets.0), abs(now.1 - buckets.1))
            buckets = now
        }
        for _ in 0..<20_000 {
            members.append(table.insert(tokens.next(byteCount: 16).span, in: ring, joinedSeconds: 0))
            look()
        }
        #expect(most == 1)
        // Index and ring have grown beyond their first page of buckets.
        #expect(buckets.0 > 1_024 && buckets.1 > 1_024)
        for (number, member) in members.enumerated() {
            table.remove(member)
            look()
            if number == 15_000 {
                let left = table.members(of: ring)
                #expect(left.count == 4_999)
            }
        }
        #expect(most == 1)
        #expect(buckets == (1, 1))
    }

    /// Members of one ring have tokens of one length. All allocated memory counts, including what is reserved for more
    /// members.
    @Test(arguments: [(50_000, 32, 21), (50_000, 80, 21), (15_625, 32, 22), (15_625, 80, 23)])
    func aMemberTakesFewBytesBesideItsToken(count: Int, byteCount: Int, byteCountMax: Int) {
        var table = MemberTable(seed: 1)
        let ring = table.makeRing(of: .update)
        var tokens = MemberTokens(seed: 1)
        for _ in 0..<count { _ = table.insert(tokens.next(byteCount: byteCount).span, in: ring, joinedSeconds: 0) }
        let allocated = table.allocatedByteCount
        #expect(allocated <= count * (byteCount + byteCountMax))
        var entries: [RingEntry] = []
        let next = table.fill(ring, from: 0, limit: count, into: &entries)
        #expect(entries.count == count && next == RingPosition.end)
    }

    /// Freed memory is used again, even for pieces of another size. Members are in one ring, then in 30, then in 300,
    /// and again in one.
    @Test func comingAndGoingTakesNoMoreMemory() {
        let count = 6_000
        var table = MemberTable(seed: 1)
        var tokens = MemberTokens(seed: 1)
        for round in 0..<9 {
            let rings = (0..<(round % 3 == 2 ? count / 20 : round % 3 == 1 ? 30 : 1)).map { _ in
                table.makeRing(of: .update)
            }
            for number in 0..<count {
                let ring = rings[number % rings.count]
                _ = table.insert(tokens.next(byteCount: 32).span, in: ring, joinedSeconds: 0)
            }
            let allocated = table.allocatedByteCount
            #expect(allocated <= count * (32 + 24) + MemberGrowthTests.byteCountOfRings(count / 20))
            for ring in rings {
                while table.count(of: ring) > 0 { table.removeSome(of: ring, max: 100) }
                table.removeRing(ring)
            }
        }
    }

    private static func byteCountOfRings(_ count: Int) -> Int { count * MemoryLayout<MemberTable.Ring>.stride }
}

import PushModel
import Testing

@testable import PushEngine

@Suite struct MemberGrowthTests {
    /// No insertion and no removal spreads anew more than a bucket each of ring and index, however large they are.
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
        // Past the first page of heads of both.
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

    /// As the phones of one match: one ring, and every token of one length. All of it, what is reserved for more included.
    @Test(arguments: [(100_000, 32, 22), (100_000, 80, 22), (15_625, 32, 24), (15_625, 80, 24)])
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

    /// What was given back is used again.
    @Test func comingAndGoingTakesNoMoreMemory() {
        var table = MemberTable(seed: 1)
        let updates = table.makeRing(of: .update)
        let starts = table.makeRing(of: .start)
        var tokens = MemberTokens(seed: 1)
        var most = 0
        for round in 0..<10 {
            var members: [MemberID] = []
            for number in 0..<2_000 {
                let ring = number % 2 == 0 ? updates : starts
                members.append(table.insert(tokens.next(byteCount: 40).span, in: ring, joinedSeconds: 0))
            }
            if round == 0 { most = table.allocatedByteCount }
            let allocated = table.allocatedByteCount
            #expect(allocated == most)
            for member in members { table.remove(member) }
        }
    }
}

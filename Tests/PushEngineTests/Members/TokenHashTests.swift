import PushModel
import Testing

@testable import PushEngine

@Suite struct TokenHashTests {
    /// Tokens of different lengths are read in different ways. Each bit of each byte must count.
    @Test(arguments: [1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 80, 160])
    func everyBitCounts(byteCount: Int) {
        var tokens = MemberTokens(seed: UInt64(byteCount))
        var token = tokens.next(byteCount: byteCount)
        let hash = RowSpreading.index(TokenHash(seed: 7))
        let before = hash.hash(token.span)
        var changedBits = 0
        for bit in 0..<byteCount * 8 {
            token[bit / 8] ^= 1 << UInt8(bit % 8)
            let after = hash.hash(token.span)
            #expect(after != before)
            changedBits += (after ^ before).nonzeroBitCount
            token[bit / 8] ^= 1 << UInt8(bit % 8)
        }
        let mean = Double(changedBits) / Double(byteCount * 8)
        #expect(mean > 26 && mean < 38)
    }

    @Test func anotherSeedIsAnotherHash() {
        let token: [UInt8] = Array(0..<32)
        let hashes = (0..<100 as Range<UInt64>).map { RowSpreading.index(TokenHash(seed: $0)).hash(token.span) }
        #expect(Set(hashes).count == 100)
    }

    /// Consecutive tokens differ in few bits, and must still spread over all buckets.
    @Test func likeTokensSpreadEvenly() {
        let hash = RowSpreading.index(TokenHash(seed: 3))
        var counts = [Int](repeating: 0, count: 256)
        for number in 0..<25_600 as Range<UInt64> {
            var token = [UInt8](repeating: 0, count: 32)
            for byte in 0..<8 { token[12 + byte] = UInt8(truncatingIfNeeded: number >> UInt64(8 * byte)) }
            counts[Int(hash.hash(token.span) & 255)] += 1
        }
        #expect(counts.allSatisfy { abs($0 - 100) < 60 })
    }
}

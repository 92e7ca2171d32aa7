import PushModel
import Testing

@testable import PushEngine

@Suite struct RingPositionTests {
    /// Positions computed by another program, which also computes the published test values of SipHash. Workers write
    /// positions to `state`, so positions must never change.
    @Test(
        arguments: [
            (0, 0x4507_e5af_a950), (1, 0x041d_dd7f_9e06), (7, 0x60ca_918a_89d1), (8, 0xba36_c365_ac94),
            (9, 0xddae_4d2c_aedf), (16, 0xd211_b411_7903), (32, 0x06c2_09e5_4b0c), (80, 0xc967_16f3_203f),
            (255, 0x441a_811d_39b6), (256, 0x8265_f5c7_4553), (1_024, 0x1f0c_30b7_22b1),
        ] as [(Int, UInt64)])
    func positionsAreWhatTheyWere(byteCount: Int, position: UInt64) {
        let token = (0..<byteCount).map { UInt8(truncatingIfNeeded: $0) }
        #expect(RingPosition.of(token.span) == position)
    }

    /// The first bits of positions choose a ring's bucket, so they must spread evenly.
    @Test func positionsSpreadEvenly() {
        var tokens = MemberTokens(seed: 5)
        var counts = [Int](repeating: 0, count: 256)
        for _ in 0..<25_600 {
            let token = tokens.next(byteCount: 32)
            counts[Int(RingPosition.of(token.span) >> 40)] += 1
        }
        // The bound is six times the standard deviation.
        #expect(counts.allSatisfy { abs($0 - 100) < 60 })
    }

    @Test func aReversedWordHasItsFirstBitLast() {
        #expect((1 as UInt64).bitReversed == 1 << 63)
        #expect((0x8000_0000_0000_0006 as UInt64).bitReversed == 0x6000_0000_0000_0001)
        var random = SplitMix64(seed: 1)
        for _ in 0..<1_000 {
            let word = random.next()
            var expected: UInt64 = 0
            for bit in 0..<64 as Range<UInt64> where word >> bit & 1 == 1 { expected |= 1 << (63 - bit) }
            #expect(word.bitReversed == expected)
        }
    }
}

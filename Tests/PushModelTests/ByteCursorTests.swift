import PushModel
import Testing

@Suite struct ByteCursorTests {
    private static func text(_ roomCount: Int = 200, _ body: (inout ByteCursor) -> Void) -> String {
        var bytes: [UInt8] = Array("before ".utf8)
        var scratch = [UInt8](repeating: 0, count: roomCount)
        bytes.append(using: &scratch, body)
        return String(decoding: bytes.dropFirst(7), as: UTF8.self)
    }

    @Test(arguments: [0, 1, -1, 9, 10, 99, 100, 12_345_678_901, .max, .min, .max - 1] as [Int64])
    func decimals(_ value: Int64) {
        #expect(Self.text { $0.append(decimal: value) } == "\(value)")
    }

    @Test(arguments: [0, 9, 10, 9_999_999_999_999_999_999, 10_000_000_000_000_000_000, .max] as [UInt64])
    func unsignedDecimals(_ value: UInt64) {
        #expect(Self.text { $0.append(decimal: value) } == "\(value)")
    }

    /// A text that does not fit continues in a larger buffer. The next text fits there from the start.
    @Test(arguments: [1, 7, 255, 256, 257, 4_000] as [Int])
    func memoryGrows(roomCount: Int) {
        var scratch = [UInt8](repeating: 0, count: roomCount)
        for _ in 0..<2 {
            var bytes: [UInt8] = []
            var expected = ""
            bytes.append(using: &scratch) { cursor in
                for value in (0..<2_000) as Range<Int64> {
                    cursor.append(decimal: value << (value % 40))
                    cursor.append(",")
                    expected += "\(value << (value % 40)),"
                }
                cursor.append(expected.utf8.span)
            }
            #expect(String(decoding: bytes, as: UTF8.self) == expected + expected)
            #expect(scratch.count >= bytes.count)
        }
    }

    /// A run that is composed in place, after its byte count, equals a run that was composed separately.
    @Test(arguments: [0, 1, 127, 128, 20_000] as [Int])
    func runsStandBehindTheirCount(byteCount: Int) {
        let content = (0..<byteCount).map { UInt8(truncatingIfNeeded: $0) }
        let composed = Self.text(3) {
            $0.byte(9)
            $0.run { for byte in content { $0.byte(byte) } }
            $0.word(0x0102_0304_0506_0708)
        }
        let known = Self.text {
            $0.byte(9)
            $0.run(content.span)
            for byte in (1...8 as ClosedRange<UInt8>).reversed() { $0.byte(byte) }
        }
        #expect(composed == known)
    }

    @Test func hexAndUUID() {
        #expect(Self.text { $0.append(hex: 0x0123_4567_89ab_cdef) } == "0123456789abcdef")
        #expect(Self.text { $0.append(hex: 0) } == "0000000000000000")
        #expect(
            Self.text { $0.append(uuid: (0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210)) }
                == "01234567-89ab-cdef-fedc-ba9876543210")
    }

    @Test(arguments: [(0, 1), (127, 1), (128, 2), (16_383, 2), (16_384, 3), (.max, 10)] as [(UInt64, Int)])
    func leb128(_ value: UInt64, byteCount: Int) {
        var bytes: [UInt8] = []
        var scratch: [UInt8] = []
        bytes.append(using: &scratch) { $0.append(leb128: value) }
        #expect(bytes.count == byteCount)
        var back: UInt64 = 0
        for (index, byte) in bytes.enumerated() { back |= UInt64(byte & 0x7f) << UInt64(7 * index) }
        #expect(back == value)
    }

    /// For any bytes, the string equals what `JSONBytes` writes.
    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func jsonStringsAreThoseOfJSONBytes(seed: UInt64) {
        var state = seed
        func next(_ bound: UInt64) -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (state >> 33) % bound
        }
        for _ in 0..<200 {
            let count = Int(next(40))
            // Most bytes are plain, so that a special byte is usually alone among plain words.
            let bytes = (0..<count).map { _ in
                next(12) == 0 ? UInt8(next(256)) : UInt8(0x20 + next(0x5f))
            }
            var expected: [UInt8] = []
            JSONBytes.appendString(bytes.span, to: &expected)
            var written: [UInt8] = []
            var scratch: [UInt8] = []
            written.append(using: &scratch) { $0.append(jsonString: bytes.span) }
            #expect(written == expected, "seed \(seed)")
        }
    }

    /// Whether a byte is plain does not depend on its position in a word.
    @Test func plainIsJudgedByteByByte() {
        for place in 0..<19 {
            for value in UInt8.min...UInt8.max {
                var bytes = [UInt8](repeating: UInt8(ascii: "x"), count: 19)
                bytes[place] = value
                let isPlain = value >= 0x20 && value < 0x80 && value != 0x22 && value != 0x5c
                if bytes.span.isPlainASCII != isPlain { Issue.record("\(value) at \(place)") }
            }
        }
    }
}

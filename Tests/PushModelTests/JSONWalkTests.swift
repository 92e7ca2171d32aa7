import PushModel
import Testing

/// Tests that skipping a value 64 bytes at a time gives the same result as reading it in pieces of at most eight bytes.
@Suite struct JSONWalkTests {
    private struct Verdict: Equatable {
        var end = 0
        var fault: JSONFault?
    }

    private static func whole(_ bytes: [UInt8]) -> Verdict {
        var cursor = JSONCursor()
        do throws(JSONFault) {
            _ = try cursor.skipValue(bytes.span)
            return Verdict(end: cursor.index)
        } catch { return Verdict(fault: error) }
    }

    private static func inPieces(_ bytes: [UInt8]) -> Verdict {
        var cursor = JSONCursor()
        do throws(JSONFault) {
            try Self.pass(&cursor, bytes.span)
            return Verdict(end: cursor.index)
        } catch { return Verdict(fault: error) }
    }

    private static func pass(_ cursor: inout JSONCursor, _ bytes: Span<UInt8>) throws(JSONFault) {
        switch try cursor.peekKind(bytes) {
        case .string: _ = try cursor.string(bytes)
        case .number: _ = try cursor.number(bytes)
        // Only `skipValue` can skip a literal.
        case .bool, .null: _ = try cursor.skipValue(bytes)
        case .array:
            var isFirst = true
            while try cursor.nextElement(bytes, isFirst: isFirst) {
                isFirst = false
                try Self.pass(&cursor, bytes)
            }
        case .object:
            try cursor.openObject(bytes)
            var isFirst = true
            while try cursor.nextName(bytes, isFirst: isFirst) != nil {
                isFirst = false
                try Self.pass(&cursor, bytes)
            }
        }
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func aValueEndsWhereItsPiecesEnd(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        for _ in 0..<200 {
            let text = Array(RandomJSON.object(&random, depth: 4).utf8)
            #expect(Self.whole(text) == Verdict(end: text.count))
            #expect(Self.inPieces(text) == Verdict(end: text.count))
        }
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func aFaultIsTheSameFault(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        for _ in 0..<200 {
            var text = Array(RandomJSON.object(&random, depth: 4).utf8)
            for _ in 0..<Int.random(in: 1...3, using: &random) where !text.isEmpty {
                let place = Int.random(in: 0..<text.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: text[place] = [0x22, 0x5C, 0x0A, 0x20, 0x2C, 0x3A, 0x7D, 0xC3].randomElement(using: &random)!
                case 1: text.remove(at: place)
                default: text.removeSubrange(place...)
                }
            }
            #expect(Self.whole(text) == Self.inPieces(text), "\(String(decoding: text, as: UTF8.self))")
        }
    }

    /// White space between the members is skipped, wherever the blocks of 64 bytes begin.
    @Test(arguments: 0..<70)
    func whiteSpaceIsPassedAnywhere(spaceCount: Int) {
        for space in [" ", "\n", "\t", "\r\n"] {
            let gap = String(repeating: space, count: spaceCount)
            let text = Array("{\(gap)\"a\"\(gap):\(gap)\"b\"\(gap),\(gap)\"c\":[\"d\"\(gap),\"é\"\(gap)]\(gap)}".utf8)
            #expect(Self.whole(text) == Verdict(end: text.count))
        }
    }
}

import Foundation
import PushModel
import Testing

@Suite struct HexTests {
    @Test(
        arguments: [
            (0, "0000000000000000"), (0x0123_4567_89ab_cdef, "0123456789abcdef"), (.max, "ffffffffffffffff"),
        ] as [(UInt64, String)])
    func aNumberHasSixteenDigits(number: UInt64, text: String) {
        var digits: [UInt8] = []
        Hex.append(number, to: &digits)
        #expect(String(decoding: digits, as: UTF8.self) == text)
    }

    @Test func thereAndBack() {
        let bytes = Array(UInt8.min...UInt8.max)
        var digits: [UInt8] = [0x21]
        Hex.append(bytes.span, to: &digits)
        #expect(String(decoding: digits.prefix(9), as: UTF8.self) == "!00010203")
        #expect(digits.count == 513)
        var decoded: [UInt8] = [7]
        let isDecoded = Hex.decode(Array(digits.dropFirst()).span, to: &decoded)
        #expect(isDecoded)
        #expect(decoded == [7] + bytes)
    }

    @Test(arguments: ["a", "abc", "0g", "g0", " 0", "é", "0x"])
    func whatIsNoHexLeavesTheTargetAlone(_ text: String) {
        var target: [UInt8] = [1, 2]
        let isDecoded = Hex.decode(Array("ffAB\(text)".utf8).span, to: &target)
        #expect(!isDecoded)
        #expect(target == [1, 2])
    }

    /// Each character is tried at each position. The text is long enough for steps of eight digits and a rest.
    @Test func everyCharacterIsJudgedAlikeAtEveryPlace() {
        for character in UInt8.min...UInt8.max {
            let value = Hex.value(of: character)
            for place in 0..<22 {
                var digits = [UInt8](repeating: UInt8(ascii: "7"), count: 22)
                digits[place] = character
                var expected = [UInt8](repeating: 0x77, count: 11)
                expected[place / 2] = place.isMultiple(of: 2) ? value << 4 | 7 : 0x70 | value
                var target: [UInt8] = []
                let isDecoded = Hex.decode(digits.span, to: &target)
                guard isDecoded != (value < 16) || isDecoded && target != expected else { continue }
                Issue.record("character \(character) at \(place)")
            }
        }
    }

    @Test(arguments: 1...10 as ClosedRange<UInt64>)
    func anyBytesComeBack(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        for count in 0..<100 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            var digits: [UInt8] = []
            Hex.append(bytes.span, to: &digits)
            #expect(
                String(decoding: digits, as: UTF8.self)
                    == bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())
            var decoded: [UInt8] = []
            let isDecoded = Hex.decode(
                Array(String(decoding: digits, as: UTF8.self).uppercased().utf8).span, to: &decoded)
            #expect(isDecoded && decoded == bytes)
        }
    }

    /// The text is longer than the buffer on the stack, so it is read in pieces. If a later piece is not hexadecimal,
    /// the earlier pieces are not kept.
    @Test(arguments: [255, 256, 257, 511, 512, 513, 3_000])
    func longRuns(byteCount: Int) {
        var random = SplitMix64(seed: UInt64(byteCount))
        let bytes = (0..<byteCount).map { _ in UInt8.random(in: 0...255, using: &random) }
        var digits: [UInt8] = []
        Hex.append(bytes.span, to: &digits)
        #expect(
            String(decoding: digits, as: UTF8.self)
                == bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())
        var target: [UInt8] = [1]
        #expect(Hex.decode(digits.span, to: &target))
        #expect(target == [1] + bytes)
        digits[digits.count - 1] = UInt8(ascii: "g")
        target = [1, 2]
        #expect(!Hex.decode(digits.span, to: &target))
        #expect(target == [1, 2])
    }

    @Test func eitherCaseIsRead() {
        var target: [UInt8] = []
        let isDecoded = Hex.decode(Array("aBfF09".utf8).span, to: &target)
        #expect(isDecoded)
        #expect(target == [0xAB, 0xFF, 0x09])
    }

    @Test func upperCaseLettersAreSeenAnywhere() {
        let lower = Array("0123456789abcdef0123456789abcdef".utf8)
        for count in 0...lower.count {
            let digits = Array(lower.prefix(count))
            let isSeen = Hex.hasUpperCaseLetter(digits.span)
            #expect(!isSeen)
            for index in digits.indices {
                for letter in "ABCDEF".utf8 {
                    var other = digits
                    other[index] = letter
                    let isSeen = Hex.hasUpperCaseLetter(other.span)
                    #expect(isSeen, "\(letter) at \(index) of \(count)")
                }
            }
        }
    }
}

@Suite struct DecimalDigitsTests {
    @Test(arguments: [0, 1, 9, 10, 99, 100, 1_685_952_000, 9_999_999_999, -1, -10, .max, .min] as [Int64])
    func integers(_ value: Int64) {
        var digits: [UInt8] = [0x21]
        DecimalDigits.append(value, to: &digits)
        #expect(String(decoding: digits, as: UTF8.self) == "!\(value)")
        #expect(DecimalDigits.count(value) == digits.count - 1)
    }

    /// Tries the first and the last number of each length, and random numbers between them.
    @Test(arguments: 1...20 as ClosedRange<Int>)
    func everyLength(digitCount: Int) {
        var random = SplitMix64(seed: UInt64(digitCount))
        let first = (1..<digitCount).reduce(UInt64(1)) { power, _ in power * 10 }
        let last = digitCount == 20 ? UInt64.max : first * 10 - 1
        let some = (0..<2_000).map { _ in UInt64.random(in: (digitCount == 1 ? 0 : first)...last, using: &random) }
        for value in [first, first + 1, last, last - 1] + some {
            var digits: [UInt8] = []
            DecimalDigits.append(value, to: &digits)
            guard String(decoding: digits, as: UTF8.self) != "\(value)" || DecimalDigits.count(value) != digits.count
            else { continue }
            Issue.record("\(value)")
        }
    }

    /// Tries all numbers with up to five digits, because numbers are written in steps of four digits.
    @Test func everyNumberOfUpToFiveDigits() {
        for value in 0..<100_000 as Range<UInt64> {
            var digits: [UInt8] = []
            DecimalDigits.append(value, to: &digits)
            DecimalDigits.append(value * 1_000_000_007, to: &digits)
            guard String(decoding: digits, as: UTF8.self) != "\(value)\(value * 1_000_000_007)" else { continue }
            Issue.record("\(value)")
        }
    }

    @Test func theLargestUnsigned() {
        var digits: [UInt8] = []
        DecimalDigits.append(UInt64.max, to: &digits)
        #expect(String(decoding: digits, as: UTF8.self) == "18446744073709551615")
    }
}

@Suite struct JSONBytesTests {
    @Test(arguments: [
        "", "plain", "a\"b\\c/d", "\u{0}\u{1}\u{8}\t\n\u{B}\u{C}\r\u{1F} \u{7F}", "é€🍕\u{10FFFF}", "\u{2028}",
    ])
    func anyTextComesBack(_ text: String) throws {
        var json: [UInt8] = []
        JSONBytes.appendString(text, to: &json)
        #expect(try JSONSerialization.jsonObject(with: Data(json), options: .fragmentsAllowed) as? String == text)
    }

    @Test func bytesThatAreNoUTF8AreReplacedOneByOne() {
        var json: [UInt8] = []
        JSONBytes.appendString(([0x61, 0xFF, 0xC2, 0x22, 0xED, 0xA0, 0x80, 0x62] as [UInt8]).span, to: &json)
        #expect(String(decoding: json, as: UTF8.self) == "\"a\u{FFFD}\u{FFFD}\\\"\u{FFFD}\u{FFFD}\u{FFFD}b\"")
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func anyBytesGiveValidJSON(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        for _ in 0..<200 {
            let bytes = (0..<Int.random(in: 0..<30, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            var json: [UInt8] = []
            JSONBytes.appendString(bytes.span, to: &json)
            let text = try JSONSerialization.jsonObject(with: Data(json), options: .fragmentsAllowed) as? String
            if let original = String(validating: bytes, as: UTF8.self) {
                #expect(text == original)
            } else {
                #expect(text != nil)
            }
        }
    }

    /// Tries texts with lengths on both sides of the limit for composing on the stack. Some are plain, and others need
    /// escapes.
    @Test(arguments: [85, 168, 169, 170, 171, 172, 1_021, 1_022, 1_023, 5_000])
    func longTexts(byteCount: Int) throws {
        for text in [
            String(repeating: "x", count: byteCount), String(repeating: "\u{1}", count: byteCount),
            String(repeating: "é", count: byteCount / 2), String(repeating: "x", count: byteCount - 1) + "\"",
        ] {
            var json: [UInt8] = [UInt8(ascii: " ")]
            JSONBytes.appendString(text, to: &json)
            #expect(try JSONSerialization.jsonObject(with: Data(json), options: .fragmentsAllowed) as? String == text)
        }
    }

    @Test func numbersAndLiterals() {
        var json: [UInt8] = []
        JSONBytes.appendString(literal: "name", to: &json)
        JSONBytes.appendInteger(-7, to: &json)
        #expect(String(decoding: json, as: UTF8.self) == "\"name\"-7")
    }
}

struct DecimalReadingTests {
    @Test(
        arguments: [
            ("0", 0), ("7", 7), ("007", 7), ("9223372036854775807", .max), ("9223372036854775808", nil),
            ("99999999999999999999", nil), ("00000000000000000000001", 1), ("", nil), ("-1", nil), ("+1", nil),
            ("1 ", nil),
            ("1a", nil), ("/", nil), (":", nil), ("\u{661}", nil),
        ] as [(String, Int64?)])
    func digitsAloneAreANumber(text: String, value: Int64?) {
        let bytes = Array(text.utf8)
        #expect(DecimalDigits.value(of: bytes.span) == value)
    }
}

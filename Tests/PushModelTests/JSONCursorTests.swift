import Foundation
import PushModel
import Testing

/// Tests of reading JSON by the syntax of RFC 8259, byte by byte.
@Suite struct JSONCursorTests {
    private static func fault(_ bytes: [UInt8]) -> JSONFault? {
        var cursor = JSONCursor()
        do throws(JSONFault) {
            _ = try cursor.skipValue(bytes.span)
            try cursor.expectEnd(bytes.span)
            return nil
        } catch { return error }
    }

    /// The fault of a single string, whose end is searched for eight bytes at a time.
    private static func faultOfString(_ bytes: [UInt8]) -> JSONFault? {
        var cursor = JSONCursor()
        do throws(JSONFault) {
            _ = try cursor.string(bytes.span)
            try cursor.expectEnd(bytes.span)
            return nil
        } catch { return error }
    }

    @Test(arguments: [
        "0", "-0", "10", "-1.5", "0.0", "0e0", "1E+2", "1e-07", "1.25e6", "123456789012345678901234567890", "true",
        "false", "null", "\"\"",
        "[]", "{}", "[ ]", "{ }", " [ 1 , 2 ] ", "[[[]]]", "{\"a\":{\"a\":[]}}", "[1,\"a\",true,null,{},[]]",
        "{\"a\":1,\"a\":2}", "{\"\":0}",
        #""\"\\\/\b\f\n\r\t\u0000\uFFFF\u20ac""#, #""\ud83c\udf55""#, #""\uDBFF\uDFFF""#,
        "\"é€🍕\u{7F}\u{80}\u{7FF}\u{800}\u{FFFF}\u{10FFFF}\"",
        "\t\r\n 1", "1\t\r\n ", "[\"12345678\",\"1234567\",\"123456789\"]",
    ])
    func validText(_ text: String) throws {
        #expect(Self.fault(Array(text.utf8)) == nil)
        _ = try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
    }

    @Test(arguments: [
        ("", JSONFault.Kind.unexpectedEnd, 0), ("-", .unexpectedEnd, 1), ("01", .malformedNumber, 1),
        ("-01", .malformedNumber, 2), ("+1", .expectedValue, 0),
        (".5", .expectedValue, 0), ("1.", .unexpectedEnd, 2), ("1.e5", .malformedNumber, 2), ("1e", .unexpectedEnd, 2),
        ("1e+", .unexpectedEnd, 3),
        ("1ee5", .malformedNumber, 2), ("0x10", .trailingBytes, 1), ("1 2", .trailingBytes, 2),
        ("-a", .malformedNumber, 1), ("NaN", .expectedValue, 0),
        ("Infinity", .expectedValue, 0), ("tru", .expectedValue, 0), ("True", .expectedValue, 0),
        ("truex", .trailingBytes, 4), ("nul", .expectedValue, 0),
        ("[", .unexpectedEnd, 1), ("[1", .unexpectedEnd, 2), ("[1,", .unexpectedEnd, 3), ("[1,]", .expectedValue, 3),
        ("[,1]", .expectedValue, 1),
        ("[1 2]", .expectedCommaOrEnd, 3), ("[1}", .expectedCommaOrEnd, 2), ("]", .expectedValue, 0),
        ("{", .unexpectedEnd, 1),
        ("{\"a\"", .unexpectedEnd, 4), ("{\"a\":", .unexpectedEnd, 5), ("{\"a\":1", .unexpectedEnd, 6),
        ("{\"a\":1,", .unexpectedEnd, 7),
        ("{\"a\":1,}", .expectedName, 7), ("{1:1}", .expectedNameOrEnd, 1), ("{\"a\" 1}", .expectedColon, 5),
        ("{\"a\":1]", .expectedCommaOrEnd, 6),
        ("{\"a\":}", .expectedValue, 5), ("'a'", .expectedValue, 0), ("// a", .expectedValue, 0),
        ("\"", .unexpectedEnd, 1), ("\"a", .unexpectedEnd, 2),
        ("\"\\", .unexpectedEnd, 2), ("\"\\\"", .unexpectedEnd, 3), ("\"\\x\"", .malformedEscape, 1),
        ("\"\\u12\"", .malformedEscape, 1),
        ("\"\\u12g4\"", .malformedEscape, 1), ("\"\\ud800\"", .loneSurrogate, 1), ("\"\\udc00\"", .loneSurrogate, 1),
        ("\"\\ud800\\u0041\"", .loneSurrogate, 1),
        ("\"\\ud800x\"", .loneSurrogate, 1), ("\"\\ud83c\\ud83c\"", .loneSurrogate, 1),
        ("\"a\nb\"", .controlCharacter, 2), ("\"\u{0}\"", .controlCharacter, 1),
        ("\"1234567\u{1F}\"", .controlCharacter, 8), ("\u{B}1", .expectedValue, 0), ("\u{A0}1", .expectedValue, 0),
        ("\u{FEFF}{}", .byteOrderMark, 0), (" \u{FEFF}1", .byteOrderMark, 1), ("[\u{FEFF}1]", .byteOrderMark, 1),
    ])
    func invalidText(_ text: String, kind: JSONFault.Kind, index: Int) {
        #expect(Self.fault(Array(text.utf8)) == JSONFault(kind, at: index))
    }

    /// Cases at the edges of Unicode table 3-7: overlong forms, surrogates, values past the last scalar, and lone or
    /// missing continuation bytes.
    @Test(
        arguments: [
            [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC2], [0xC2, 0x41], [0xE0, 0x80, 0x80], [0xE0, 0x9F, 0xBF],
            [0xED, 0xA0, 0x80],
            [0xED, 0xBF, 0xBF], [0xE1, 0x80], [0xE1, 0x80, 0x41], [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x8F, 0xBF, 0xBF],
            [0xF4, 0x90, 0x80, 0x80],
            [0xF5, 0x80, 0x80, 0x80], [0xF1, 0x80, 0x80], [0xF1, 0x80, 0x80, 0xC0], [0xFE], [0xFF],
        ] as [[UInt8]])
    func malformedUTF8(_ sequence: [UInt8]) {
        for prefix in 0..<10 {
            let bytes = [0x22] + [UInt8](repeating: 0x61, count: prefix) + sequence + [0x22]
            #expect(Self.fault(bytes) == JSONFault(.malformedUTF8, at: prefix + 1))
            #expect(Self.fault(bytes + [0x20, 0x20]) == JSONFault(.malformedUTF8, at: prefix + 1))
        }
        #expect(UTF8Validation.firstFault(in: sequence.span) == 0)
        #expect(String(validating: sequence, as: UTF8.self) == nil)
    }

    /// Every pair of bytes, and every triple that begins with a lead byte, is judged as the standard library judges it.
    @Test func utf8AgreesWithTheStandardLibrary() {
        var disagreements: [[UInt8]] = []
        func compare(_ bytes: [UInt8]) {
            // The bytes are tested at the end of the buffer, and with more bytes after them. In the second case, four
            // bytes are read together.
            for bytes in [bytes, bytes + [0x41, 0x41, 0x41]] {
                let isValid = UTF8Validation.firstFault(in: bytes.span) == nil
                if isValid != (String(validating: bytes, as: UTF8.self) != nil) { disagreements.append(bytes) }
            }
        }
        for first in UInt8.min...UInt8.max {
            for second in stride(from: UInt8(0x3F), through: 0xC1, by: 1) {
                compare([first, second])
                guard first >= 0xE0 else { continue }
                for third in [0x7F, 0x80, 0xBF, 0xC0] as [UInt8] {
                    compare([first, second, third])
                    compare([first, second, third, 0x80])
                }
            }
        }
        #expect(disagreements.isEmpty)
    }

    /// Reading 64 or eight bytes at a time stops where reading single bytes would stop, at any position of the special
    /// byte.
    @Test(arguments: [24, 64, 65, 128, 131])
    func everyByteIsJudgedAlikeAtEveryPlace(byteCount: Int) {
        for byte in UInt8.min...UInt8.max {
            for place in 0..<(byteCount - 4) {
                var bytes = [UInt8](repeating: 0x61, count: byteCount)
                bytes[0] = 0x22
                bytes[byteCount - 1] = 0x22
                bytes[1 + place] = byte
                let expected: JSONFault?
                switch byte {
                case 0x22: expected = JSONFault(.trailingBytes, at: place + 2)
                case 0x5C: expected = JSONFault(.malformedEscape, at: place + 1)  // \a
                case ..<0x20: expected = JSONFault(.controlCharacter, at: place + 1)
                case 0x80...: expected = JSONFault(.malformedUTF8, at: place + 1)
                default: expected = nil
                }
                for found in [Self.fault(bytes), Self.faultOfString(bytes)] where found != expected {
                    Issue.record("byte \(byte) at \(place): \(String(describing: found))")
                }
            }
        }
    }

    @Test func depthIsCountedOverBothKindsOfContainer() {
        func text(_ depth: Int) -> [UInt8] {
            var (opening, closing) = ("", "")
            for level in 0..<depth {
                opening += level.isMultiple(of: 3) ? "[" : "{\"a\":"
                closing = (level.isMultiple(of: 3) ? "]" : "}") + closing
            }
            return Array((opening + "0" + closing).utf8)
        }
        #expect(Self.fault(text(64)) == nil)
        #expect(Self.fault(text(65))?.kind == .tooDeep)
        #expect(Self.fault([UInt8](repeating: UInt8(ascii: "["), count: 10_000)) == JSONFault(.tooDeep, at: 64))
    }

    @Test(arguments: [
        (#""""#, ""), (#""plain""#, "plain"), (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"),
        (#""\u0041\u00e9\u20AC""#, "Aé€"),
        (#""a\ud83c\udf55b""#, "a🍕b"),
        (#""\u0000\u007f\u0080\u07ff\u0800\uffff""#, "\u{0}\u{7F}\u{80}\u{7FF}\u{800}\u{FFFF}"),
        (#""\udbff\udfff""#, "\u{10FFFF}"), (#""é\\u0041""#, "é\\u0041"),
    ])
    func escapesAreResolved(json: String, text: String) throws {
        let bytes = Array(json.utf8)
        var cursor = JSONCursor()
        let string = try cursor.string(bytes.span)
        #expect(String(decoding: JSONEscape.text(of: string, in: bytes.span), as: UTF8.self) == text)
        #expect(string.hasEscapes == json.contains("\\"))
        #expect(cursor.index == bytes.count)
    }
}

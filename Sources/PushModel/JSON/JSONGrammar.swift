/// Reads the smallest pieces of RFC 8259: white space, numbers, literals, and the parts of strings that are not plain
/// ASCII. Each function begins at an index, which is never negative. It returns the index after the piece, or throws
/// what is wrong. The caller keeps the index in a local variable, which is fast.
enum JSONGrammar {
    /// Passes white space, and returns the next byte without passing it; 0 at the end. JSON has no 0 outside strings.
    @inline(__always) static func significant(_ bytes: Span<UInt8>, _ index: inout Int) -> UInt8 {
        // Usually there is no white space.
        let byte = bytes.byte(orZeroAt: index)
        if byte > 0x20 { return byte }
        index = Self.endOfWhiteSpace(bytes, index)
        return bytes.byte(orZeroAt: index)
    }

    @inline(never) static func endOfWhiteSpace(_ bytes: Span<UInt8>, _ start: Int) -> Int {
        var index = start
        while true {
            let byte = bytes.byte(orZeroAt: index)
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return index }
            index &+= 1
        }
    }

    @inline(never) static func fault(_ kind: JSONFault.Kind, _ bytes: Span<UInt8>, _ index: Int) -> JSONFault {
        guard index < bytes.count else { return JSONFault(.unexpectedEnd, at: index) }
        let isMark = kind == .expectedValue || kind == .expectedObject
        return JSONFault(isMark && ByteOrderMark.stands(in: bytes, at: index) ? .byteOrderMark : kind, at: index)
    }

    @inline(__always) static func passLiteral(
        _ text: StaticString, _ bytes: Span<UInt8>, _ index: inout Int
    ) throws(JSONFault) {
        guard bytes.spells(text, at: index) else { throw JSONFault(.expectedValue, at: index) }
        index += text.utf8CodeUnitCount
    }

    /// The end of the number that begins at `start`, and whether the number has neither fraction nor exponent. A number
    /// is `-? (0 | 1-9 digit*) (. digit+)? ([eE] [+-]? digit+)?` (RFC 8259 §6).
    @inline(__always) static func numberEnd(
        _ bytes: Span<UInt8>, _ start: Int
    ) throws(JSONFault) -> (end: Int, isWhole: Bool) {
        var index = start
        if bytes.byte(orZeroAt: index) == UInt8(ascii: "-") { index &+= 1 }
        let first = index
        index = bytes.endOfDigits(from: first)
        guard index > first else { throw Self.fault(.malformedNumber, bytes, index) }
        if index &- first > 1, bytes.byte(orZeroAt: first) == UInt8(ascii: "0") {
            throw JSONFault(.malformedNumber, at: first + 1)
        }
        let byte = bytes.byte(orZeroAt: index)
        guard byte == UInt8(ascii: ".") || byte | 0x20 == UInt8(ascii: "e") else { return (index, true) }
        return (try Self.fractionEnd(bytes, index), false)
    }

    /// The end of a number's fraction and exponent. At least one of the two begins at `start`.
    @inline(never) static func fractionEnd(_ bytes: Span<UInt8>, _ start: Int) throws(JSONFault) -> Int {
        var index = start
        if bytes.byte(orZeroAt: index) == UInt8(ascii: ".") {
            index = try Self.digitsEnd(bytes, index &+ 1)
        }
        if bytes.byte(orZeroAt: index) | 0x20 == UInt8(ascii: "e") {
            index &+= 1
            let sign = bytes.byte(orZeroAt: index)
            if sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { index &+= 1 }
            index = try Self.digitsEnd(bytes, index)
        }
        return index
    }

    /// The index after one or more digits.
    static func digitsEnd(_ bytes: Span<UInt8>, _ start: Int) throws(JSONFault) -> Int {
        let index = bytes.endOfDigits(from: start)
        guard index > start else { throw Self.fault(.malformedNumber, bytes, index) }
        return index
    }

    /// The end of the string that has, at `start`, an escape, a byte beyond ASCII, or a fault.
    @inline(never) static func richStringEnd(
        _ bytes: Span<UInt8>, _ start: Int
    ) throws(JSONFault) -> (end: Int, hasEscapes: Bool) {
        var index = start
        var hasEscapes = false
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""): return (index + 1, hasEscapes)
            case UInt8(ascii: "\\"):
                hasEscapes = true
                index = try JSONEscape.end(in: bytes, at: index)
            case 0x00..<0x20:
                throw JSONFault(.controlCharacter, at: index)
            case 0x20..<0x80:
                index = bytes.endOfPlainRun(from: index)
            default:
                let byteCount = UTF8Validation.sequenceByteCount(in: bytes, at: index)
                guard byteCount > 0 else { throw JSONFault(.malformedUTF8, at: index) }
                index += byteCount
            }
        }
        throw JSONFault(.unexpectedEnd, at: index)
    }
}

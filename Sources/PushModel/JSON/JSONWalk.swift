/// Passes a whole value, with everything nested in it.
enum JSONWalk {
    /// The end of the value whose first byte is at `start`. Throws what is wrong with the value.
    /// - Parameter openCountMax: how many objects and arrays may be nested, at most 64.
    static func valueEnd(_ bytes: Span<UInt8>, _ start: Int, openCountMax: Int) throws(JSONFault) -> Int {
        var (index, stops) = (start, JSONStops())
        // One bit for each open container, 1 for an object. The lowest bit is the innermost container.
        var (openCount, objects) = (0, UInt64(0))
        value: while true {
            switch Self.significant(bytes, &index, &stops) {
            case UInt8(ascii: "\""): index = try Self.stringEnd(bytes, index, &stops)
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                index = try JSONGrammar.numberEnd(bytes, index).end
            case UInt8(ascii: "{"):
                guard openCount < openCountMax else { throw JSONFault(.tooDeep, at: index) }
                (openCount, objects) = (openCount &+ 1, objects << 1 | 1)
                index &+= 1
                if Self.significant(bytes, &index, &stops) != UInt8(ascii: "}") {
                    index = try Self.nameEnd(bytes, index, &stops, isFirst: true)
                    continue value
                }
            case UInt8(ascii: "["):
                guard openCount < openCountMax else { throw JSONFault(.tooDeep, at: index) }
                (openCount, objects) = (openCount &+ 1, objects << 1)
                index &+= 1
                if Self.significant(bytes, &index, &stops) != UInt8(ascii: "]") { continue value }
            case UInt8(ascii: "t"): try JSONGrammar.passLiteral("true", bytes, &index)
            case UInt8(ascii: "f"): try JSONGrammar.passLiteral("false", bytes, &index)
            case UInt8(ascii: "n"): try JSONGrammar.passLiteral("null", bytes, &index)
            default: throw JSONGrammar.fault(.expectedValue, bytes, index)
            }
            // A value has ended, or an empty container begins. Closes the containers that end here, or passes the comma
            // before the next value.
            while openCount > 0 {
                let isObject = objects & 1 == 1
                let byte = Self.significant(bytes, &index, &stops)
                if byte == UInt8(ascii: ",") {
                    index &+= 1
                    if isObject { index = try Self.nameEnd(bytes, index, &stops, isFirst: false) }
                    continue value
                }
                guard byte == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                    throw JSONGrammar.fault(.expectedCommaOrEnd, bytes, index)
                }
                index &+= 1
                (openCount, objects) = (openCount &- 1, objects >> 1)
            }
            return index
        }
    }

    /// Passes white space, and returns the next byte without passing it; 0 at the end.
    @inline(__always) private static func significant(
        _ bytes: Span<UInt8>, _ index: inout Int, _ stops: inout JSONStops
    ) -> UInt8 {
        // Usually there is no white space.
        let byte = bytes.byte(orZeroAt: index)
        if byte > 0x20 { return byte }
        index = JSONGrammar.endOfWhiteSpace(bytes, index)
        stops = stops.dropping(before: index)
        return bytes.byte(orZeroAt: index)
    }

    /// The index after a member's name and its colon.
    @inline(__always) private static func nameEnd(
        _ bytes: Span<UInt8>, _ start: Int, _ stops: inout JSONStops, isFirst: Bool
    ) throws(JSONFault) -> Int {
        var index = start
        guard Self.significant(bytes, &index, &stops) == UInt8(ascii: "\"") else {
            throw JSONGrammar.fault(isFirst ? .expectedNameOrEnd : .expectedName, bytes, index)
        }
        index = stops.next(after: index, in: bytes)
        // This is the usual spelling.
        if bytes.spells("\":", at: index) { return index &+ 2 }
        if bytes.byte(orZeroAt: index) == UInt8(ascii: "\"") {
            index &+= 1
        } else {
            index = try JSONGrammar.richStringEnd(bytes, index).end
            stops = JSONStops.from(index, in: bytes)
        }
        guard Self.significant(bytes, &index, &stops) == UInt8(ascii: ":") else {
            throw JSONGrammar.fault(.expectedColon, bytes, index)
        }
        return index &+ 1
    }

    /// The index after the closing quote of the string whose opening quote is at `start`.
    @inline(__always) private static func stringEnd(
        _ bytes: Span<UInt8>, _ start: Int, _ stops: inout JSONStops
    ) throws(JSONFault) -> Int {
        let stop = stops.next(after: start, in: bytes)
        if bytes.byte(orZeroAt: stop) == UInt8(ascii: "\"") { return stop &+ 1 }
        let end = try JSONGrammar.richStringEnd(bytes, stop).end
        stops = JSONStops.from(end, in: bytes)
        return end
    }
}

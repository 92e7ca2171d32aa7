/// A position in a trace, from the header `traceparent` (https://www.w3.org/TR/trace-context/, version 00).
public struct TraceContext: Sendable, Hashable {
    /// The first half of the trace's id: 16 bytes in big-endian order, not all 0.
    public var traceIDHigh: UInt64
    /// The second half of the trace's id.
    public var traceIDLow: UInt64
    /// The id of the span at this position; not 0.
    public var spanID: UInt64
    /// Bit 0 of the flags: whether an earlier system in the trace records it.
    public var isSampled: Bool

    /// A context from the parts of a header.
    public init(traceIDHigh: UInt64, traceIDLow: UInt64, spanID: UInt64, isSampled: Bool) {
        self.traceIDHigh = traceIDHigh
        self.traceIDLow = traceIDLow
        self.spanID = spanID
        self.isSampled = isSampled
    }

    /// Number of bytes of a header of version 00.
    @inlinable public static var headerByteCount: Int { 55 }

    /// Reads a header's value: `00-<32 digits>-<16 digits>-<2 digits>`, with lower-case digits. A later version may
    /// have more parts, which are ignored, as W3C's Trace Context §4.3 requires. Version ff is invalid.
    /// - Returns: `nil` if the value has another form.
    public init?(traceparent: Span<UInt8>) {
        let dash = UInt8(ascii: "-")
        guard traceparent.count >= Self.headerByteCount,
            traceparent[2] == dash, traceparent[35] == dash, traceparent[52] == dash,
            let version = Self.number(traceparent.extracting(0..<2)), version != 0xFF,
            traceparent.count == Self.headerByteCount || version > 0 && traceparent[Self.headerByteCount] == dash,
            let high = Self.number(traceparent.extracting(3..<19)),
            let low = Self.number(traceparent.extracting(19..<35)), high | low != 0,
            let span = Self.number(traceparent.extracting(36..<52)), span != 0,
            let flags = Self.number(traceparent.extracting(53..<55))
        else { return nil }
        self.init(traceIDHigh: high, traceIDLow: low, spanID: span, isSampled: flags & 1 != 0)
    }

    /// The number that at most 16 lower-case hexadecimal digits spell; `nil` if a character is not such a digit.
    private static func number(_ digits: Span<UInt8>) -> UInt64? {
        var number: UInt64 = 0
        for index in digits.indices {
            let value = Hex.value(of: digits[index])
            // `Hex.value` accepts upper-case letters, which are refused here.
            guard value < 16, digits[index] == Hex.digit(value) else { return nil }
            number = number << 4 | UInt64(value)
        }
        return number
    }

    /// Number of bytes of `traceparent` in the text that an event carries. A traced event carries this header, followed
    /// directly by `tracestate` if there is one. An untraced event carries the `traceparent` that arrived.
    @inlinable public static func headerByteCount(ofCarried byteCount: Int, isTraced: Bool) -> Int {
        isTraced ? min(byteCount, Self.headerByteCount) : byteCount
    }

    /// The value of the header, always in version 00. Its only flag is `isSampled`.
    public var traceparent: [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(Self.headerByteCount)
        text.append(utf8: "00-")
        Hex.append(self.traceIDHigh, to: &text)
        Hex.append(self.traceIDLow, to: &text)
        text.append(UInt8(ascii: "-"))
        Hex.append(self.spanID, to: &text)
        text.append(utf8: self.isSampled ? "-01" : "-00")
        return text
    }

    /// The trace's id as people and collectors write it: 32 digits.
    public var traceIDText: String {
        var text: [UInt8] = []
        Hex.append(self.traceIDHigh, to: &text)
        Hex.append(self.traceIDLow, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// The span's id as people and collectors write it: 16 digits.
    public var spanIDText: String { Self.text(ofSpanID: self.spanID) }

    /// A span's id as people and collectors write it: 16 digits.
    public static func text(ofSpanID id: UInt64) -> String {
        var text: [UInt8] = []
        Hex.append(id, to: &text)
        return String(decoding: text, as: UTF8.self)
    }
}

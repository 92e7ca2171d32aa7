/// Checks what other tracing systems say about a trace: the value of the header `tracestate`
/// (https://www.w3.org/TR/trace-context/, §3.3).
public enum TraceState {
    /// Maximum number of bytes that are passed on. Trace Context §3.3.1.5 recommends at least as many.
    public static var byteCountMax: Int { 512 }
    /// Maximum number of entries in the list (Trace Context §3.3.1.1).
    static var memberCountMax: Int { 32 }
    /// Maximum number of bytes of a key, and of a value.
    static var partByteCountMax: Int { 256 }

    /// Whether a value is a valid list, and short enough to be passed on. Its members are `key=value`, separated by
    /// commas, and each key occurs once. Spaces and tabs around members, and empty members, are allowed.
    public static func isValid(_ value: Span<UInt8>) -> Bool {
        guard !value.isEmpty, value.count <= Self.byteCountMax else { return false }
        var keys: [Range<Int>] = []
        var start = 0
        while start <= value.count {
            var end = start
            while end < value.count, value[end] != UInt8(ascii: ",") { end += 1 }
            var member = start..<end
            while let first = member.first, Self.isBlank(value[first]) { member = first + 1..<end }
            while let last = member.last, Self.isBlank(value[last]) { member = member.lowerBound..<last }
            start = end + 1
            guard !member.isEmpty else { continue }
            guard let key = Self.key(of: member, in: value), keys.count < Self.memberCountMax else { return false }
            let bytes = value.extracting(key)
            guard !keys.contains(where: { value.extracting($0).holdsSameBytes(as: bytes) }) else { return false }
            keys.append(key)
        }
        return !keys.isEmpty
    }

    /// Range of a member's key; `nil` if the member is invalid.
    private static func key(of member: Range<Int>, in value: Span<UInt8>) -> Range<Int>? {
        guard let equals = member.first(where: { value[$0] == UInt8(ascii: "=") }) else { return nil }
        let key = member.lowerBound..<equals
        let text = equals + 1..<member.upperBound
        guard (1...Self.partByteCountMax).contains(key.count), (1...Self.partByteCountMax).contains(text.count),
            Self.begins(value[key.lowerBound]), key.allSatisfy({ Self.isInKey(value[$0]) }),
            text.allSatisfy({ (0x20...0x7E).contains(value[$0]) && value[$0] != UInt8(ascii: "=") })
        else { return nil }
        return key
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private static func begins(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func isInKey(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "*"), UInt8(ascii: "/"), UInt8(ascii: "@"): true
        default: Self.begins(byte)
        }
    }
}

import PushModel

/// A device token in hexadecimal, as in the path and in the control API.
enum TokenHex {
    /// Decodes into `token`, which is emptied first. Returns `false` if the digits are odd in number, not hex, empty,
    /// or longer than a token may be.
    static func decode(_ text: Span<UInt8>, into token: inout [UInt8]) -> Bool {
        token.removeAll(keepingCapacity: true)
        guard !text.isEmpty, text.count / 2 <= TokenTable.tokenByteCountMax else { return false }
        return Hex.decode(text, to: &token)
    }

    /// The decoded token; `nil` if the digits are odd in number, not hex, empty, or longer than a token may be.
    static func decode(_ text: String) -> [UInt8]? {
        var token: [UInt8] = []
        return Self.decode(Array(text.utf8).span, into: &token) ? token : nil
    }

    /// The token in lower-case hex.
    static func encode(_ token: ArraySlice<UInt8>) -> String {
        var text: [UInt8] = []
        Hex.append(token.span, to: &text)
        return String(decoding: text, as: UTF8.self)
    }
}

/// The rule for the members of an audience: the key of a member's record is its token, so that members spread over all
/// partitions.
extension EventRules {
    /// The longest token of a member, in bytes. A key must hold its digits.
    public static let memberTokenByteCountMax = EventRules.keyByteCountMax / 2

    /// Appends the bytes of the token that the key of a member's registration spells, in lower-case hexadecimal digits.
    /// No other spelling is taken, because it would belong to another partition.
    ///
    /// When this throws, `token` is as it was. The rejection shows no part of the key.
    public static func memberToken(key: Span<UInt8>, into token: inout [UInt8]) throws(EventRejection) {
        guard !key.isEmpty, key.count <= 2 * Self.memberTokenByteCountMax, !Hex.hasUpperCaseLetter(key),
            Hex.decode(key, to: &token)
        else {
            throw EventRejection(field: "key", reason: Self.whyNoMemberToken(key))
        }
    }

    private static func whyNoMemberToken(_ key: Span<UInt8>) -> String {
        if key.isEmpty { return "is empty: expected the member's token in hexadecimal digits" }
        // A person counts characters, not the bytes of one.
        let characterCount = key.indices.count { key[$0] & 0xC0 != 0x80 }
        for index in 0..<key.count where Hex.value(of: key[index]) > 15 {
            return
                "is not hexadecimal at character \(index + 1) of \(characterCount): expected the member's token, in the digits "
                + "0-9 and a-f only"
        }
        for index in 0..<key.count where (UInt8(ascii: "A")...UInt8(ascii: "F")).contains(key[index]) {
            return "has an upper-case letter at character \(index + 1) of \(key.count): expected the member's token in "
                + "lower case"
        }
        guard key.count.isMultiple(of: 2) else {
            return "has \(key.count) hexadecimal digits: expected an even number; the token may have been cut off"
        }
        return "has \(key.count) hexadecimal digits: at most \(2 * Self.memberTokenByteCountMax) are allowed"
    }
}

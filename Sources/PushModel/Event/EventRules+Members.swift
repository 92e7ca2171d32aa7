/// The rule for keys of members of audiences: the key of a member's record is its token, so that members spread over
/// all partitions.
extension EventRules {
    /// Maximum number of bytes of a member's token. A key has room for twice as many digits.
    public static let memberTokenByteCountMax = EventRules.keyByteCountMax / 2

    /// Appends the bytes of the token that the key of a member's registration spells, in lower-case hexadecimal digits.
    /// Any other spelling is rejected, because it would belong to another partition.
    ///
    /// If this throws, `token` is unchanged. The rejection shows no part of the key.
    public static func memberToken(key: Span<UInt8>, into token: inout [UInt8]) throws(EventRejection) {
        guard !key.isEmpty, key.count <= 2 * Self.memberTokenByteCountMax, !Hex.hasUpperCaseLetter(key),
            Hex.decode(key, to: &token)
        else {
            throw EventRejection(field: "key", reason: Self.whyNoMemberToken(key))
        }
    }

    private static func whyNoMemberToken(_ key: Span<UInt8>) -> String {
        if key.isEmpty { return "is empty: expected the member's token in hexadecimal digits" }
        // Characters are counted, because people do not count bytes.
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

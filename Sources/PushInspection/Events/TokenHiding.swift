import PushModel

/// Device tokens as they are shown: enough digits to tell two apart, never enough to push.
public enum TokenHiding {
    private static let digitsShownMax = 8

    /// The first digits of a token: `0a1b2c3d…`. Half of the digits if the token is short.
    public static func shortened(_ token: String) -> String {
        String(token.prefix(min(Self.digitsShownMax, token.count / 2))) + "…"
    }

    /// A token's hash as outcomes, `mailboat explain` and `mailboat tail` write it: 16 digits; empty: it is not a token
    /// in hex.
    public static func hash(_ token: String) -> String {
        var bytes: [UInt8] = []
        guard !token.isEmpty, Hex.decode(Array(token.utf8).span, to: &bytes) else { return "" }
        // FNV-1a.
        let hash = bytes.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
        var digits: [UInt8] = []
        Hex.append(hash, to: &digits)
        return String(decoding: digits, as: UTF8.self)
    }

    /// The event with its tokens cut: those in `token` and `start-token`, and everything else that looks like a token,
    /// names included.
    public static func hidden(_ event: JSONTree) -> JSONTree { Self.hidden(event, .cut) }

    /// The JSON with everything cut that looks like a token, names included. The caller has already cut the fields
    /// `token` and `start-token`.
    public static func withoutStrayTokens(_ tree: JSONTree) -> JSONTree { Self.hidden(tree, .asText) }

    /// An event to publish again: `token` and `start-token` are whole, because half a token is useless. Only for
    /// simulated tokens, and never for a log.
    public static func publishable(_ event: JSONTree) -> JSONTree { Self.hidden(event, .whole) }

    /// How the fields `token` and `start-token` are written.
    private enum TokenFields { case cut, asText, whole }

    private static func hidden(_ tree: JSONTree, _ fields: TokenFields) -> JSONTree {
        switch tree {
        case .object(let members):
            return .object(
                members.map { member in
                    if fields != .asText, ["token", "start-token"].contains(member.name),
                        case .string(let token) = member.value
                    {
                        return fields == .whole
                            ? member : JSONTree.Member(member.name, .string(Self.shortened(token)))
                    }
                    return JSONTree.Member(
                        TokenText.shortened(member.name), Self.hidden(member.value, fields))
                })
        case .array(let elements): return .array(elements.map { Self.hidden($0, fields) })
        case .string(let text): return .string(TokenText.shortened(text))
        case .number(let spelling):
            // The digits of a token may all be decimal. A shortened one is not a number.
            let shown = TokenText.shortened(spelling)
            return shown == spelling ? tree : .string(shown)
        case .bool, .null: return tree
        }
    }
}

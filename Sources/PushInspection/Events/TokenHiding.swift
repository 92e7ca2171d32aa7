import PushModel

/// Device tokens as they are shown: enough to tell two apart, never enough to push.
public enum TokenHiding {
    private static let digitsShownMax = 8

    /// The first digits of a token: `0a1b2c3d…`. Of a short one, half of them.
    public static func shortened(_ token: String) -> String {
        String(token.prefix(min(Self.digitsShownMax, token.count / 2))) + "…"
    }

    /// The event with the tokens in `token` and `start-token` cut, and whatever else looks like one, also in names.
    public static func hidden(_ event: JSONTree) -> JSONTree { Self.hidden(event, .cut) }

    /// JSON whose tokens are cut where they belong: whatever still looks like one is cut, wherever somebody put it.
    public static func withoutStrayTokens(_ tree: JSONTree) -> JSONTree { Self.hidden(tree, .asText) }

    /// An event to be published again: `token` and `start-token` are whole, as half of one pushes to nobody. Only for simulated tokens, and never for a log.
    public static func publishable(_ event: JSONTree) -> JSONTree { Self.hidden(event, .whole) }

    /// What becomes of the fields `token` and `start-token`.
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
            // The digits of a token may all be decimal. What is left of one is no number.
            let shown = TokenText.shortened(spelling)
            return shown == spelling ? tree : .string(shown)
        case .bool, .null: return tree
        }
    }
}

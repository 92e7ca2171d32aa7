import PushModel

/// Device tokens as they are shown: enough to tell two apart, never enough to push.
public enum TokenHiding {
    private static let digitsShownMax = 8

    /// The first digits of a token: `0a1b2c3d…`. Of a short one, half of them.
    public static func shortened(_ token: String) -> String {
        String(token.prefix(min(Self.digitsShownMax, token.count / 2))) + "…"
    }

    /// The event with the tokens in `token` and `start-token` cut, and whatever else looks like one.
    public static func hidden(_ event: JSONTree) -> JSONTree {
        switch event {
        case .object(let members):
            .object(
                members.map { member in
                    if ["token", "start-token"].contains(member.name), case .string(let token) = member.value {
                        return JSONTree.Member(member.name, .string(Self.shortened(token)))
                    }
                    return JSONTree.Member(member.name, Self.hidden(member.value))
                })
        case .array(let elements): .array(elements.map(Self.hidden))
        case .string(let text): .string(TokenText.shortened(text))
        case .number, .bool, .null: event
        }
    }
}

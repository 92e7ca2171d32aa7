import DeviceModel

/// The change that a `POST /tokens/{token}` requests.
enum TokenDocument {
    case state(TokenState, sinceMillis: Int64?)
    /// The app gets a new token for the same activity.
    case rotate(to: String, keepsOld: Bool, sinceMillis: Int64?)

    /// The token has this kind from now on.
    case kind(TokenKind)

    /// The kind with this name; `nil` for none.
    static func kind(named name: String) -> TokenKind? { TokenKind.allCases.first { "\($0)" == name } }

    static func read(_ body: [UInt8]) throws(FlatDocument.Refusal) -> TokenDocument {
        var document = try FlatDocument(body)
        let name = try document.text("state")
        let since = try document.integer("sinceMillis", in: 0...(1 << 52)).map(Int64.init)
        let successor = try document.text("to")
        let keepsOld = try document.bool("keepsOld") ?? false
        let kindName = try document.text("kind")
        try document.finish()
        if let kindName {
            guard name == nil, successor == nil, since == nil else {
                throw FlatDocument.Refusal(text: "'kind' stands alone")
            }
            guard let kind = Self.kind(named: kindName) else {
                throw FlatDocument.Refusal(text: "'kind' is '\(kindName)'. Known: any, update, start")
            }
            return .kind(kind)
        }
        if let successor {
            guard name == nil || name == "rotated" else {
                throw FlatDocument.Refusal(text: "'to' belongs to the state 'rotated'")
            }
            return .rotate(to: successor, keepsOld: keepsOld, sinceMillis: since)
        }
        switch name {
        case "alive": return .state(.alive, sinceMillis: since)
        case "rotated": return .state(.rotated, sinceMillis: since)
        case "dead": return .state(.dead, sinceMillis: since)
        case "unknown": return .state(.unknown, sinceMillis: since)
        case let other?: throw FlatDocument.Refusal(text: "'state' is '\(other)'. Known: alive, rotated, dead, unknown")
        case nil:
            throw FlatDocument.Refusal(text: "'state' is missing. Known: alive, rotated, dead, unknown. Or 'kind'")
        }
    }
}

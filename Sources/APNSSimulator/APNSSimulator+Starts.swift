/// Push-to-start tokens, and the update tokens that come back.
extension APNSSimulator {
    /// Says what a token (hex) is for; one never seen is made known. From then on the phone shows nothing of what is for the other kind, and that is
    /// a violation. Without it a token is what is sent to it first, and takes the rest as well. It is not written into the journal.
    /// - Returns: `false`: not the hex of a token, or no room for it.
    @discardableResult
    public func setTokenKind(_ token: String, _ kind: TokenKind) -> Bool {
        guard let bytes = TokenHex.decode(token) else { return false }
        return self.shared.withState { $0.setKind(bytes, kind) }
    }

    /// Update tokens of started cards, in the order in which the apps told of them.
    /// - Parameters:
    ///   - since: number of tokens that are known already: the `next` of the answer before; 0: none.
    ///   - limit: most tokens in the answer.
    /// - Returns: the tokens behind `since`, and the next call's `since`.
    public func updateTokens(since: Int = 0, limit: Int = .max) -> (tokens: [ReturnedUpdateToken], next: Int) {
        let nowMillis = self.shared.nowMillis()
        return self.shared.withState { state in
            state.store.updateTokens.tell(nowMillis: nowMillis)
            let told = state.store.updateTokens.told
            let first = min(max(0, since), told.count)
            let end = first + min(max(0, limit), told.count - first)
            let tokens = (first..<end).map { number -> ReturnedUpdateToken in
                let entry = told[number]
                let startToken = Int(state.store.starts[Int(entry.start)].token)
                return ReturnedUpdateToken(
                    startToken: TokenHex.encode(state.store.tokens.token(startToken)),
                    updateToken: TokenHex.encode(state.store.tokens.token(Int(entry.token))),
                    channel: state.store.channel(of: Int(state.store.tokens[Int(entry.token)].device)).map {
                        String(decoding: $0.id, as: UTF8.self)
                    },
                    activity: Int(entry.start) + 1, atMillis: entry.dueMillis)
            }
            return (tokens, end)
        }
    }
}

/// What an app tells its server when a card was started: the card's update token.
public struct ReturnedUpdateToken: Equatable, Sendable {
    /// Lower-case hex.
    public var startToken: String
    /// Lower-case hex.
    public var updateToken: String
    /// Id of the channel that the card listens to now, base64; `nil`: to none. What an app that joins an audience can say of it.
    public var channel: String?
    /// Number of the activity: the how many-th start it was, of all phones.
    public var activity: Int
    /// Milliseconds since 1970.
    public var atMillis: Int64
}

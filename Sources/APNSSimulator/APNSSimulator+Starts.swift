/// Push-to-start tokens, and the update tokens that apps report.
extension APNSSimulator {
    /// Sets the kind of a token (hex). An unknown token is added. From then on a push of the other kind is not shown,
    /// and is a violation. Without this call, the token takes pushes of both kinds, and counts as a push-to-start token
    /// after its first `start`. The kind is not written to the journal.
    /// - Returns: `false` if the token is not hex, or there is no room for it.
    @discardableResult
    public func setTokenKind(_ token: String, _ kind: TokenKind) -> Bool {
        guard let bytes = TokenHex.decode(token) else { return false }
        return self.shared.withState { $0.setKind(bytes, kind) }
    }

    /// Update tokens of started cards, in the order in which the apps reported them.
    /// - Parameters:
    ///   - since: number of tokens that the caller knows already: `next` of the previous answer, or 0 at first.
    ///   - limit: maximum number of tokens in the answer.
    /// - Returns: the tokens after the first `since` ones, and the next call's `since`.
    public func updateTokens(since: Int = 0, limit: Int = .max) -> (tokens: [ReturnedUpdateToken], next: Int) {
        let nowMillis = self.shared.nowMillis()
        return self.shared.withState { state in
            state.store.updateTokens.report(nowMillis: nowMillis)
            let reported = state.store.updateTokens.reported
            let first = min(max(0, since), reported.count)
            let end = first + min(max(0, limit), reported.count - first)
            let tokens = (first..<end).map { number -> ReturnedUpdateToken in
                let entry = reported[number]
                let start = state.store.starts[Int(entry.start)]
                return ReturnedUpdateToken(
                    startToken: TokenHex.encode(state.store.tokens.token(Int(start.token))),
                    messageID: MessageID.text(start.messageID),
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

/// What an app reports to its server when a card was started: the card's update token.
public struct ReturnedUpdateToken: Equatable, Sendable {
    /// The push-to-start token, in lower-case hex.
    public var startToken: String
    /// `apns-id` of the start.
    public var messageID: String
    /// The update token, in lower-case hex.
    public var updateToken: String
    /// Id of the channel that the card listens to now, base64; `nil` for none. An app that joins an audience can report
    /// the channel.
    public var channel: String?
    /// Number of the activity: the count of all starts of all phones up to this one.
    public var activity: Int
    /// When the update token was reported, milliseconds since 1970.
    public var atMillis: Int64
}

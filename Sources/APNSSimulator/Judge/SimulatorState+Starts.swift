import DeviceModel
import PushModel

/// Push-to-start tokens, and the update tokens that follow.
extension SimulatorState {
    /// Length of update tokens, bytes, as on most phones.
    private static let updateTokenByteCount = 32

    /// Handles a start that reached the phone. The app of its card gets an update token, and reports it later, or
    /// never.
    mutating func started(_ token: Int, _ reaction: Device.Reaction, nowMillis: Int64) {
        guard reaction == .shown || reaction == .shownAsSecondCard else { return }
        let start = self.store.tokens[token].start
        // The activity's number is in the seed, so the update token does not depend on requests between two starts.
        var random = SplitMix64(seed: self.configuration.randomSeed ^ UInt64(start + 1) &* 0x9E37_79B9_7F4A_7C15)
        guard random.unit() < self.configuration.updateTokens.share else { return }
        let delayMillis = Int64.random(in: self.configuration.updateTokens.delayMillis, using: &random)
        let bytes = (0..<Self.updateTokenByteCount).map { _ in UInt8.random(in: 0...255, using: &random) }
        guard let index = self.store.addToken(bytes, device: self.store.tokens[token].device) else {
            self.counters.devicesFull += 1
            return
        }
        self.store.tokens[index].topic = self.store.tokens[token].topic
        self.store.tokens[index].start = start
        self.store.tokens[index].kind = .update
        self.store.giveUpdateToken(index, toCardOf: start, dueMillis: nowMillis + max(0, delayMillis))
        self.journal?.append(
            .rotation(
                old: TokenHex.encode(self.store.tokens.token(token)), new: TokenHex.encode(bytes[...]),
                TokenStatus()))
    }

    /// Records a violation if a push does not fit the kind of its token, or if a start names an unknown channel.
    mutating func watchKind(
        _ token: Int, _ content: PushContent, _ body: Span<UInt8>, on connection: ConnectionRecord, nowMillis: Int64
    ) {
        let kind = self.store.tokens[token].kind
        switch (content.event, kind) {
        case (.start, .update):
            self.recordOn(connection, .tokenOfOtherKind, "start to an update token", nowMillis)
        case (.start, .any), (.start, .start):
            let channel = self.store.startChannel(content, body: body, app: self.app(ofToken: token))
            guard channel == .unknown else { return }
            self.recordOn(
                connection, .payload, "aps.input-push-channel: names no channel of this app: the phone does not start",
                nowMillis)
        case (.update, .start), (.end, .start):
            self.recordOn(
                connection, .tokenOfOtherKind, "\(content.event) to a push-to-start token", nowMillis)
        case (.update, _), (.end, _): break
        }
    }

    /// Sets the kind of a token. Returns `false` if there is no room for it.
    mutating func setKind(_ token: [UInt8], _ kind: TokenKind) -> Bool {
        guard let index = self.store.findOrAdd(token) else { return false }
        self.store.tokens[index].kind = kind
        return true
    }
}

/// What can be seen of a card at a glance: enough to colour one of thousands.
public struct CardGlance: Equatable, Sendable {
    /// The card's state.
    public var card: Shown.Card
    /// The newest stamp applied, seconds since 1970; `nil` before the first.
    public var stampSeconds: Int64?
    /// Hash of the `content-state` shown.
    public var contentHash: UInt64
    /// Whether the phone can be reached.
    public var isOnline: Bool
    /// Whether APNs accepts the token.
    public var isTokenAlive: Bool

    public init(card: Shown.Card, stampSeconds: Int64?, contentHash: UInt64, isOnline: Bool, isTokenAlive: Bool) {
        self.card = card
        self.stampSeconds = stampSeconds
        self.contentHash = contentHash
        self.isOnline = isOnline
        self.isTokenAlive = isTokenAlive
    }
}

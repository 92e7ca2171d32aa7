/// What can be seen of a card in passing: enough to colour one of thousands.
public struct CardGlance: Equatable, Sendable {
    /// How the card stands.
    public var card: Shown.Card
    /// The newest stamp applied, seconds since 1970; `nil`: none yet.
    public var stampSeconds: Int64?
    /// Names the `content-state` shown: equal where it is equal.
    public var contentHash: UInt64
    /// `false`: the phone is away.
    public var isOnline: Bool
    /// `false`: APNs refuses the token.
    public var isTokenAlive: Bool

    public init(card: Shown.Card, stampSeconds: Int64?, contentHash: UInt64, isOnline: Bool, isTokenAlive: Bool) {
        self.card = card
        self.stampSeconds = stampSeconds
        self.contentHash = contentHash
        self.isOnline = isOnline
        self.isTokenAlive = isTokenAlive
    }
}

/// What is known of a phone beside its card: only of those that listen, have heard something, or are away.
struct PhoneState {
    /// A push that came while the phone was away. APNs keeps one.
    struct WaitingPush {
        /// Index into the tokens.
        var token: Int
        var body: [UInt8]
        var priority: Int
        /// `apns-id`.
        var messageID: (UInt64, UInt64)
        /// Seconds since 1970.
        var expirationSeconds: Int64
    }

    /// How something reached a card.
    enum Way { case token, channel }

    var isOnline = true
    /// Number of the channel it listens to; -1: none.
    var channel: Int32 = -1
    /// Where it stands among the channel's listeners.
    var listenerIndex = 0
    /// How many messages the channel had published when it began to listen, or when it last got one.
    var heard = 0
    var waiting: WaitingPush?
    /// Messages of channels that reached it.
    var messageCount: UInt32 = 0
    /// What it shows came so; `nil`: it came before the phone listened.
    var shownBy: Way?
    /// Pushes and messages that brought what the card had got the other way.
    var bothWaysCount: UInt32 = 0

    /// Nothing worth keeping.
    var isOrdinary: Bool { self.isOnline && self.channel < 0 && self.waiting == nil && self.messageCount == 0 }
}

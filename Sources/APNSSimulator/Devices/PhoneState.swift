/// What is known of a phone in addition to its card. Only a phone that listens, has got a message, or is away has this
/// state.
struct PhoneState {
    /// A push that arrived while the phone was away. APNs stores only the newest.
    struct WaitingPush {
        /// Index into the tokens.
        var token: Int
        var body: [UInt8]
        var priority: Int
        /// `apns-id`.
        var messageID: (UInt64, UInt64)
        /// When the push expires, seconds since 1970.
        var expirationSeconds: Int64
    }

    /// How a message reached a card.
    enum Way { case token, channel }

    var isOnline = true
    /// Number of the channel that the phone listens to; -1 for none.
    var channel: Int32 = -1
    /// The phone's index among the channel's listeners.
    var listenerIndex = 0
    /// Number of messages that the channel had published when the phone began to listen, or last got one.
    var heard = 0
    var waiting: WaitingPush?
    /// Number of channel messages that reached the phone.
    var messageCount: UInt32 = 0
    /// The way in which the card got its content; `nil` if the card had that content before the phone listened.
    var shownBy: Way?
    /// Number of times that the card got content twice: once over its channel, and once by its token.
    var bothWaysCount: UInt32 = 0

    /// Whether the phone is online, listens to no channel and has got no message. Such a phone needs no `PhoneState`.
    var isOrdinary: Bool { self.isOnline && self.channel < 0 && self.waiting == nil && self.messageCount == 0 }
}

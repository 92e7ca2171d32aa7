/// What is known of a phone beside its card. Only phones that listen, have got a message, or are away have one.
struct PhoneState {
    /// A push that arrived while the phone was away. APNs stores one.
    struct WaitingPush {
        /// Index into the tokens.
        var token: Int
        var body: [UInt8]
        var priority: Int
        /// `apns-id`.
        var messageID: (UInt64, UInt64)
        /// When it expires, seconds since 1970.
        var expirationSeconds: Int64
    }

    /// How something reached a card.
    enum Way { case token, channel }

    var isOnline = true
    /// Number of the channel it listens to; -1 for none.
    var channel: Int32 = -1
    /// Its index among the channel's listeners.
    var listenerIndex = 0
    /// Number of messages that the channel had published when the phone began to listen, or last got one.
    var heard = 0
    var waiting: WaitingPush?
    /// Number of channel messages that reached it.
    var messageCount: UInt32 = 0
    /// How it got its content; `nil` if it had that before it listened.
    var shownBy: Way?
    /// Number of pushes and messages whose content the card had got the other way.
    var bothWaysCount: UInt32 = 0

    /// Whether nothing here must be kept.
    var isOrdinary: Bool { self.isOnline && self.channel < 0 && self.waiting == nil && self.messageCount == 0 }
}

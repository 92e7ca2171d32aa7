public import DeviceModel

/// What the simulator knows behind one token. A copy.
public struct SimulatedDevice: Sendable {
    /// Lower-case hex.
    public var token: String
    /// What the token is for: as it was said to be, or a push-to-start token because a `start` came first.
    public var kind: TokenKind
    /// Whether the token is good, and since when it is as it is.
    public var status: TokenStatus
    /// `apns-topic` it belongs to; empty before its first push.
    public var topic: String
    /// The activity on the phone; of a push-to-start token, the newest card. A rotated token and its successor have the same.
    public var device: Device
    /// Requests to this token that were answered 200.
    public var accepted: Int
    /// Requests to this token that were refused.
    public var refused: Int
    /// The least time between two pushes to this token that were answered 200, milliseconds; `nil`: there were no two.
    public var leastDistanceMillis: Int64?
    /// The most pushes to this token that were unanswered at once. One that is never answered counts no more.
    public var inFlightPeak: Int
    /// The starts with this push-to-start token, oldest first; empty for any other token.
    public var starts: [SimulatedStart]
    /// Id of the broadcast channel the phone listens to, base64; `nil`: to none.
    public var channel: String?
    /// `false`: the phone is away, and APNs cannot reach it.
    public var isOnline: Bool
    /// Messages of channels that reached its card.
    public var messages: Int
    /// What reached its card over the channel and by the token, while it listened: pushes and messages that brought what the other way had
    /// brought already.
    public var bothWays: Int
}

/// One `start` that reached a phone. A copy.
public struct SimulatedStart: Sendable {
    /// Number of the activity: the how many-th start it was, of all phones.
    public var activity: Int
    /// When the phone got it, milliseconds since 1970.
    public var atMillis: Int64
    /// `aps.timestamp`, seconds since 1970.
    public var stampSeconds: Int64
    /// `apns-id`; empty: no longer known.
    public var messageID: String
    /// The card it put up, as it is now; `nil`: none, it was over the budget.
    public var card: Device?
    /// The newest update token of the card, in hex, whether its app has told of it already or not; `nil`: none.
    public var updateToken: String?
    /// Starts with the same token in the hour ending with this one, itself included.
    public var startsWithinHour: Int
}

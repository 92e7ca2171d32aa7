public import DeviceModel

/// What the simulator knows about one token and its device: a copy.
public struct SimulatedDevice: Sendable {
    /// The token in lower-case hex.
    public var token: String
    /// The token's kind, as it was set. It is also `start` if no kind was set and the token has got a `start`.
    public var kind: TokenKind
    /// The token's state, and when it began.
    public var status: TokenStatus
    /// The token's `apns-topic`; empty before its first push.
    public var topic: String
    /// The activity on the phone; for a push-to-start token, the newest card. A rotated token and its successor have
    /// the same activity.
    public var device: Device
    /// Number of requests to this token that were answered 200.
    public var accepted: Int
    /// Number of requests to this token that were refused.
    public var refused: Int
    /// The least time between two pushes to this token that were answered 200, milliseconds; `nil` before the second.
    public var leastDistanceMillis: Int64?
    /// The most pushes to this token that were unanswered at once. A push that will never be answered no longer counts.
    public var inFlightPeak: Int
    /// The starts with this push-to-start token, oldest first; empty for any other token.
    public var starts: [SimulatedStart]
    /// Id of the broadcast channel the phone listens to, base64; `nil` for none.
    public var channel: String?
    /// Whether APNs can reach the phone. If not, the phone is away.
    public var isOnline: Bool
    /// Number of channel messages that reached the card.
    public var messages: Int
    /// Number of times that the card got content twice: once over its channel, and once by its token.
    public var bothWays: Int
}

/// One `start` that reached a phone: a copy.
public struct SimulatedStart: Sendable {
    /// Number of the activity: the count of all starts of all phones up to this one.
    public var activity: Int
    /// When the phone got the start, milliseconds since 1970.
    public var atMillis: Int64
    /// `aps.timestamp`, seconds since 1970.
    public var stampSeconds: Int64
    /// `apns-id`; empty if it is no longer known.
    public var messageID: String
    /// The card that the start put up, in its present state; `nil` if the start was over the budget.
    public var card: Device?
    /// The newest update token of the card, in hex, whether its app has reported it or not; `nil` for none.
    public var updateToken: String?
    /// Number of starts with the same token in the hour that ends with this start, including this start.
    public var startsWithinHour: Int
}

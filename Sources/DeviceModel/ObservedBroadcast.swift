/// One broadcast as APNs saw it, for an observer. A copy.
public struct ObservedBroadcast: Sendable, Equatable {
    /// When, by the simulator's clock, milliseconds since 1970.
    public var atMillis: Int64
    /// `apns-request-id`; empty: the request had none and was not answered.
    public var messageID: String
    /// The channel's id, base64; empty: the request named none.
    public var channel: String
    /// Bundle id.
    public var app: String
    /// `apns-priority`; 10 when the request said nothing.
    public var priority: Int
    /// The payload.
    public var body: [UInt8]
    /// HTTP status of the answer; `nil`: it was never answered.
    public var status: Int?
    /// APNs' reason of a refusal; empty: none.
    public var reason: String
    /// Phones that listen.
    public var listenerCount: Int
    /// Those of them that are away.
    public var awayCount: Int

    public init(
        atMillis: Int64, messageID: String, channel: String, app: String, priority: Int, body: [UInt8], status: Int?,
        reason: String, listenerCount: Int, awayCount: Int
    ) {
        self.atMillis = atMillis
        self.messageID = messageID
        self.channel = channel
        self.app = app
        self.priority = priority
        self.body = body
        self.status = status
        self.reason = reason
        self.listenerCount = listenerCount
        self.awayCount = awayCount
    }
}

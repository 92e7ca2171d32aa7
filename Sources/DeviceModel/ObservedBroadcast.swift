/// One broadcast as APNs saw it: a copy for an observer.
public struct ObservedBroadcast: Sendable, Equatable {
    /// The time by the simulator's clock, milliseconds since 1970.
    public var atMillis: Int64
    /// `apns-request-id`; empty if the request had none and was not answered.
    public var messageID: String
    /// The channel's id, base64; empty if the request had none.
    public var channel: String
    /// The app's bundle id.
    public var app: String
    /// `apns-priority`; 10 if the request had none.
    public var priority: Int
    /// The payload.
    public var body: [UInt8]
    /// HTTP status of the answer; `nil` if it was never answered.
    public var status: Int?
    /// APNs' reason for a refusal; empty without one.
    public var reason: String
    /// Number of phones that listen.
    public var listenerCount: Int
    /// Number of listening phones that are away.
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

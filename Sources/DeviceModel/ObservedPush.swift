/// One request to a phone as APNs and the phone saw it: a copy for an observer.
public struct ObservedPush: Sendable, Equatable {
    /// The result of the push on the phone.
    public enum Phone: Sendable, Equatable {
        /// APNs did not deliver the push.
        case notReached
        /// The phone is away, and APNs keeps the newest push for it.
        case isAway
        /// The phone could not decode the push. The text says why.
        case couldNotDecode(String)
        /// The phone took the push, and reacted in this way.
        case took(Device.Reaction)
    }

    /// The time by the simulator's clock, milliseconds since 1970.
    public var atMillis: Int64
    /// `apns-id`; empty if the request had none and was not answered.
    public var messageID: String
    /// The token in lower-case hex. It is a secret, and must not be shown whole.
    public var token: String
    /// `apns-topic`; empty without one.
    public var topic: String
    /// `apns-priority`; 10 if the request had none.
    public var priority: Int
    /// `apns-expiration`, seconds since 1970; `nil` if the request had none, or it is no longer known.
    public var expirationSeconds: Int64?
    /// The payload.
    public var body: [UInt8]
    /// HTTP status of the answer; `nil` if it was never answered, or the push had waited for the phone and was answered
    /// long ago.
    public var status: Int?
    /// APNs' reason for a refusal; empty without one.
    public var reason: String
    /// The result of the push on the phone.
    public var phone: Phone
    /// Whether the push had waited for the phone to return.
    public var hadWaited: Bool
    /// The newest stamp that the phone had shown before, seconds since 1970; `nil` before the first.
    public var stampBeforeSeconds: Int64?

    public init(
        atMillis: Int64, messageID: String, token: String, topic: String, priority: Int,
        expirationSeconds: Int64? = nil,
        body: [UInt8], status: Int?, reason: String, phone: Phone, hadWaited: Bool,
        stampBeforeSeconds: Int64?
    ) {
        self.atMillis = atMillis
        self.messageID = messageID
        self.token = token
        self.topic = topic
        self.priority = priority
        self.expirationSeconds = expirationSeconds
        self.body = body
        self.status = status
        self.reason = reason
        self.phone = phone
        self.hadWaited = hadWaited
        self.stampBeforeSeconds = stampBeforeSeconds
    }
}

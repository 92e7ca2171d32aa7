/// One request to a phone as APNs and the phone saw it, for an observer. A copy.
public struct ObservedPush: Sendable, Equatable {
    /// What became of the push on the phone.
    public enum Phone: Sendable, Equatable {
        /// APNs did not hand it over.
        case notReached
        /// The phone is away, and APNs keeps the newest push for it.
        case isAway
        /// The phone could make nothing of it; says why.
        case couldNotDecode(String)
        /// The phone took it, and did this with it.
        case took(Device.Reaction)
    }

    /// When, by the simulator's clock, milliseconds since 1970.
    public var atMillis: Int64
    /// `apns-id`; empty: the request had none and was not answered.
    public var messageID: String
    /// In lower-case hex: a secret, not to be shown whole.
    public var token: String
    /// `apns-topic`; empty: none.
    public var topic: String
    /// `apns-priority`; 10 when the request said nothing.
    public var priority: Int
    /// `apns-expiration`, seconds since 1970; `nil`: the request said nothing, or it is no longer known.
    public var expirationSeconds: Int64?
    /// The payload.
    public var body: [UInt8]
    /// HTTP status of the answer; `nil`: it was never answered, or the push had waited for the phone and was answered long ago.
    public var status: Int?
    /// APNs' reason of a refusal; empty: none.
    public var reason: String
    /// What became of it on the phone.
    public var phone: Phone
    /// It had waited for the phone to come back.
    public var hadWaited: Bool
    /// The newest stamp that the phone had shown before, seconds since 1970; `nil`: nothing yet.
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

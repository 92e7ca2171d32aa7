/// A run of bytes inside a buffer that somebody else owns.
public struct ByteRange: Equatable, Sendable {
    /// Index of the first byte.
    public var start: UInt32
    /// Number of bytes; 0 for none.
    public var count: UInt32

    /// Both are at least 0 and fit 32 bits.
    @inlinable public init(start: Int, count: Int) {
        self.start = UInt32(truncatingIfNeeded: start)
        self.count = UInt32(truncatingIfNeeded: count)
    }

    /// No bytes.
    @inlinable public init() {
        self.start = 0
        self.count = 0
    }

    /// No bytes: how an absent optional field is written.
    @inlinable public var isEmpty: Bool { self.count == 0 }
    /// The range as indices of that buffer.
    @inlinable public var range: Range<Int> { Int(self.start)..<(Int(self.start) + Int(self.count)) }
}

/// What an event asks for (contract: field `event`).
public enum EventKind: UInt8, Sendable, CaseIterable {
    /// The values of `event`, as the page Events describes them.
    case register, unregister, start, update, end, open
}

/// Which of Apple's two services a token belongs to.
public enum PushEnvironment: UInt8, Sendable, CaseIterable {
    /// Apple's service for released apps, and the one (`sandbox`) for apps built for development.
    case production, development
}

/// Where an event is addressed (contract: field `to`).
public enum EventTarget: UInt8, Sendable {
    /// The registered token of the activity named by the record's key.
    case activity
    /// The activity is the key; the update token comes with the event.
    case token
    /// The activity is the key; the push-to-start token comes with the event.
    case startToken
    /// The members of an audience: every phone that joined it. Its id is the key. Of a registration: the key is the token that joins or leaves.
    case audience
    /// A broadcast channel: every phone that listens on it. The channel's id is the key.
    case channel
}

/// `apns-priority` as this product uses it (Apple: "Sending notification requests to APNs").
public enum PushPriority: UInt8, Sendable, Comparable {
    /// Sent when power allows, and the phone is not woken for it; events for a channel only.
    case lowest = 1
    /// Sent when power allows; does not spend the device's budget.
    case low = 5
    /// Sent at once; spends the device's budget.
    case high = 10

    /// By what APNs makes of it.
    @inlinable public static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
}

/// One decoded record of an input topic. Reused from record to record: `EventDecoder.decode` resets it.
///
/// Ranges named `…InValue` index the record's value and are valid while that is borrowed; they are the producer's own bytes and reach
/// the payload as they came. Ranges named `…InText` index `text`, where short strings lie unescaped.
public struct DecodedEvent: Sendable {
    /// `event`.
    public var kind: EventKind = .update
    /// What `to` names; of a registration for an audience, `.audience`.
    public var target: EventTarget = .activity
    /// Environment of the token that the event brings, or of the channel that it goes to.
    public var environment: PushEnvironment = .production
    /// `environment` was given.
    public var isEnvironmentGiven = false
    /// Defaults already applied: see the contract's table.
    public var priority: PushPriority = .low
    /// Seconds since 1970 as given; `nil`: take the record's time.
    public var timestampSeconds: Int64?
    /// `stale-date`, seconds since 1970.
    public var staleDateSeconds: Int64?
    /// `dismissal-date` of an `end`, seconds since 1970.
    public var dismissalDateSeconds: Int64?
    /// `expires`, seconds since 1970.
    public var expiresSeconds: Int64?
    /// `frequent-updates` of a registration.
    public var frequentUpdates = false
    /// `"token-type": "start"` of a join: the key is a push-to-start token. A leave may repeat it; it concerns the token whatever its type.
    public var isStartMember = false
    /// `channel-capable` of a start member: the phone may be told to listen on a channel by the push that starts its activity.
    public var channelCapable = false
    /// `input-push-token` was given.
    public var inputPushToken = false
    /// `"alert": null`: an alert that has not been sent is no longer sent.
    public var withdrawsAlert = false

    /// A JSON object. Empty when absent (`end` may do without).
    public var contentStateInValue = ByteRange()
    /// The `alert` object. Empty when absent.
    public var alertInValue = ByteRange()
    /// The `attributes` object of a `start`.
    public var attributesInValue = ByteRange()
    /// The JSON string, quotes included, of `attributes-type`.
    public var attributesTypeInValue = ByteRange()
    /// The JSON number of `relevance-score`, spelling kept.
    public var relevanceScoreInValue = ByteRange()
    /// The JSON string, quotes included, of `input-push-channel`.
    public var inputPushChannelInValue = ByteRange()

    /// The bundle id; empty when absent.
    public var appInText = ByteRange()
    /// The `id` echoed in outcomes.
    public var eventIDInText = ByteRange()
    /// Raw bytes (hex decoded) of the token of a registration, `to.token` or `to.start-token`.
    public var tokenInText = ByteRange()
    /// The id of `to.activity`. Empty when `to` is absent; given, it must equal the record's key, which the decoder does not know.
    public var activityInText = ByteRange()
    /// Audience of a registration, or the audience or channel id of `to`. An audience or channel of `to` must equal the record's key.
    public var audienceInText = ByteRange()
    /// `channel` of an update member's join: the channel that this phone is known to listen on. Empty when absent.
    public var channelInText = ByteRange()
    /// Where the ranges named `…InText` lie. Its storage is kept from event to event.
    public var text: [UInt8] = []

    /// As it is before the first event.
    public init() {}

    /// Makes it as new, but for the storage of `text`.
    mutating func reset() {
        // One by one: a new value would bring an array, to be exchanged for this one's and released. A test sees that none is missing.
        self.kind = .update
        self.target = .activity
        self.environment = .production
        self.isEnvironmentGiven = false
        self.priority = .low
        self.timestampSeconds = nil
        self.staleDateSeconds = nil
        self.dismissalDateSeconds = nil
        self.expiresSeconds = nil
        self.frequentUpdates = false
        self.isStartMember = false
        self.channelCapable = false
        self.inputPushToken = false
        self.withdrawsAlert = false
        self.contentStateInValue = ByteRange()
        self.alertInValue = ByteRange()
        self.attributesInValue = ByteRange()
        self.attributesTypeInValue = ByteRange()
        self.relevanceScoreInValue = ByteRange()
        self.inputPushChannelInValue = ByteRange()
        self.appInText = ByteRange()
        self.eventIDInText = ByteRange()
        self.tokenInText = ByteRange()
        self.activityInText = ByteRange()
        self.audienceInText = ByteRange()
        self.channelInText = ByteRange()
        if !self.text.isEmpty { self.text.removeAll(keepingCapacity: true) }
    }
}

/// Why an event cannot be taken. The text names the field, the value (shortened, never a whole token) and what was expected;
/// it goes into the dead letter's headers and is read by strangers.
public struct EventRejection: Error, Equatable, Sendable {
    /// The field's path, such as `alert.title.loc-key`; `key`, `value` and `payload` stand for the record's parts.
    public var field: String
    /// A sentence whose subject is the field: `is missing: …`.
    public var reason: String

    /// Both in the sense of the properties.
    public init(field: String, reason: String) {
        self.field = field
        self.reason = reason
    }
}

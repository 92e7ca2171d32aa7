/// A run of bytes inside a buffer that has another owner.
public struct ByteRange: Equatable, Sendable {
    /// Index of the first byte.
    public var start: UInt32
    /// Number of bytes; 0 for none.
    public var count: UInt32

    /// A range of `count` bytes from `start` on. Both are at least 0 and fit 32 bits.
    @inlinable public init(start: Int, count: Int) {
        self.start = UInt32(truncatingIfNeeded: start)
        self.count = UInt32(truncatingIfNeeded: count)
    }

    /// An empty range.
    @inlinable public init() {
        self.start = 0
        self.count = 0
    }

    /// Whether the range has no bytes, as that of an absent optional field.
    @inlinable public var isEmpty: Bool { self.count == 0 }
    /// The range as indices of the buffer.
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
    /// The members of an audience: every phone that joined it. The audience's id is the key, except in a registration,
    /// whose key is the token that joins or leaves.
    case audience
    /// A broadcast channel: every phone that listens on it. The channel's id is the key.
    case channel
}

/// `apns-priority` as this product uses it (Apple: "Sending notification requests to APNs").
public enum PushPriority: UInt8, Sendable, Comparable {
    /// Sent when power allows, without waking the phone. Only for events of a channel.
    case lowest = 1
    /// Sent when power allows, without spending the device's budget.
    case low = 5
    /// Sent at once, spending the device's budget.
    case high = 10

    /// Whether APNs gives `one` the lower priority.
    @inlinable public static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
}

/// One decoded record of an input topic. It is reused from record to record: `EventDecoder.decode` resets it.
///
/// Ranges named `…InValue` index the record's value, and are valid while that is borrowed. They are the producer's own
/// bytes and reach the payload unchanged. Ranges named `…InText` index `text`, which holds short strings without their
/// escapes.
public struct DecodedEvent: Sendable {
    /// The field `event`.
    public var kind: EventKind = .update
    /// The kind of target that `to` names; `.audience` for a registration for an audience.
    public var target: EventTarget = .activity
    /// Environment of the token that the event brings, or of the channel that it goes to.
    public var environment: PushEnvironment = .production
    /// Whether `environment` was given.
    public var isEnvironmentGiven = false
    /// The priority, with the defaults of the contract's table applied.
    public var priority: PushPriority = .low
    /// `timestamp`, seconds since 1970, as given. `nil` means the record's time.
    public var timestampSeconds: Int64?
    /// `stale-date`, seconds since 1970.
    public var staleDateSeconds: Int64?
    /// `dismissal-date` of an `end`, seconds since 1970.
    public var dismissalDateSeconds: Int64?
    /// `expires`, seconds since 1970.
    public var expiresSeconds: Int64?
    /// `frequent-updates` of a registration.
    public var frequentUpdates = false
    /// Whether the key of a join is a push-to-start token (`"token-type": "start"`). A leave may repeat it, but removes
    /// the token of either type.
    public var isStartMember = false
    /// `channel-capable` of a start member: whether the push that starts its activity may ask the phone to listen on a
    /// channel.
    public var channelCapable = false
    /// Whether `input-push-token` was given.
    public var inputPushToken = false
    /// Whether `"alert": null` was given: an alert that has not been sent yet is then dropped.
    public var withdrawsAlert = false

    /// The object `content-state`. Empty when absent, as an `end` may omit it.
    public var contentStateInValue = ByteRange()
    /// The object `alert`. Empty when absent.
    public var alertInValue = ByteRange()
    /// The object `attributes` of a `start`.
    public var attributesInValue = ByteRange()
    /// The JSON string, quotes included, of `attributes-type`.
    public var attributesTypeInValue = ByteRange()
    /// The JSON number of `relevance-score`, in its original spelling.
    public var relevanceScoreInValue = ByteRange()
    /// The JSON string, quotes included, of `input-push-channel`.
    public var inputPushChannelInValue = ByteRange()

    /// The bundle id; empty when absent.
    public var appInText = ByteRange()
    /// The event's `id`, which outcomes repeat.
    public var eventIDInText = ByteRange()
    /// The token of a registration, of `to.token` or of `to.start-token`, as raw bytes (hex decoded).
    public var tokenInText = ByteRange()
    /// The id of `to.activity`; empty when `to` is absent. If given, it must equal the record's key, which the decoder
    /// does not know.
    public var activityInText = ByteRange()
    /// The audience of a registration, or the id of an audience or channel in `to`. An id in `to` must equal the
    /// record's key.
    public var audienceInText = ByteRange()
    /// `channel` of an update member's join: the channel on which this phone is known to listen. Empty when absent.
    public var channelInText = ByteRange()
    /// The bytes that the ranges named `…InText` index. Its storage is kept from event to event.
    public var text: [UInt8] = []

    /// An event before the first record is decoded.
    public init() {}

    /// Resets every field, but keeps the storage of `text`.
    mutating func reset() {
        // The fields are reset one by one: assigning a new value would allocate an array and release this one's. A test
        // sees that none is missing.
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

/// Why an event cannot be taken. The text names the field, the value (shortened, never a whole token) and what was
/// expected. It is written to the dead letter's headers, and read by people who do not know this code.
public struct EventRejection: Error, Equatable, Sendable {
    /// The field's path, such as `alert.title.loc-key`; `key`, `value` and `payload` stand for the record's parts.
    public var field: String
    /// A sentence whose subject is the field: `is missing: …`.
    public var reason: String

    /// A rejection whose texts have the form that the properties describe.
    public init(field: String, reason: String) {
        self.field = field
        self.reason = reason
    }
}

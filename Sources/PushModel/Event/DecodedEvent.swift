/// A range of bytes in a buffer that is kept elsewhere.
public struct ByteRange: Equatable, Sendable {
    /// Index of the first byte.
    public var start: UInt32
    /// Number of bytes; 0 for none.
    public var count: UInt32

    /// A range of `count` bytes from `start` on. Both must be from 0 to `UInt32.max`.
    @inlinable public init(start: Int, count: Int) {
        self.start = UInt32(truncatingIfNeeded: start)
        self.count = UInt32(truncatingIfNeeded: count)
    }

    /// An empty range.
    @inlinable public init() {
        self.start = 0
        self.count = 0
    }

    /// Whether the range has no bytes. The range of an optional field that is absent is empty.
    @inlinable public var isEmpty: Bool { self.count == 0 }
    /// The range as indices of the buffer.
    @inlinable public var range: Range<Int> { Int(self.start)..<(Int(self.start) + Int(self.count)) }
}

/// What an event asks for (the field `event`).
public enum EventKind: UInt8, Sendable, CaseIterable {
    /// The values of `event`, as the page Events of the documentation describes them.
    case register, unregister, start, update, end, open
}

/// Which of Apple's two services a token belongs to.
public enum PushEnvironment: UInt8, Sendable, CaseIterable {
    /// Apple's service for released apps, and its service for apps that are built for development (`sandbox`).
    case production, development
}

/// Where an event is addressed (the field `to`).
public enum EventTarget: UInt8, Sendable {
    /// The activity that the record's key names, by its registered token.
    case activity
    /// The activity that the record's key names. The event contains its update token.
    case token
    /// The activity that the record's key names. The event contains a push-to-start token for it.
    case startToken
    /// The members of an audience: every phone that joined it. The audience's id is the key. In a registration, the key
    /// is the token that joins or leaves.
    case audience
    /// A broadcast channel: every phone that listens on it. The channel's id is the key.
    case channel
}

/// `apns-priority` as Mailboat uses it (Apple: "Sending notification requests to APNs").
public enum PushPriority: UInt8, Sendable, Comparable {
    /// Sent when power allows, without waking the phone. Only events of a channel may have this priority.
    case lowest = 1
    /// Sent when power allows, without spending the device's budget.
    case low = 5
    /// Sent at once, spending the device's budget.
    case high = 10

    /// Whether `one` is the lower priority for APNs.
    @inlinable public static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
}

/// One decoded record of an input topic. It is reused from record to record: `EventDecoder.decode` resets it.
///
/// Ranges named `…InValue` index the record's value, and are valid while the value is borrowed. Their bytes are the
/// producer's own, and are copied to the payload unchanged. Ranges named `…InText` index `text`, which holds short
/// strings without their escapes.
public struct DecodedEvent: Sendable {
    /// The field `event`.
    public var kind: EventKind = .update
    /// The kind of target that `to` names; `.audience` for a registration for an audience.
    public var target: EventTarget = .activity
    /// Environment of the token in the event, or of the channel that the event goes to.
    public var environment: PushEnvironment = .production
    /// Whether `environment` was given.
    public var isEnvironmentGiven = false
    /// The priority. If the event gives none, it is the default from the contract's table.
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
    /// Whether the key of a join is a push-to-start token (`"token-type": "start"`). A leave may have this field, too,
    /// but removes a token of either type.
    public var isStartMember = false
    /// `channel-capable` of a start member. It says whether a push that starts its activity may ask the phone to listen
    /// on a channel.
    public var channelCapable = false
    /// Whether `input-push-token` was given.
    public var inputPushToken = false
    /// Whether `"alert": null` was given. An alert that has not been sent yet is then dropped.
    public var withdrawsAlert = false

    /// The object `content-state`. Empty when it is absent; an `end` may omit it.
    public var contentStateInValue = ByteRange()
    /// The object `alert`. Empty when absent.
    public var alertInValue = ByteRange()
    /// The object `attributes` of a `start`.
    public var attributesInValue = ByteRange()
    /// The JSON string `attributes-type`, with its quotes.
    public var attributesTypeInValue = ByteRange()
    /// The JSON number `relevance-score`, spelt as in the event.
    public var relevanceScoreInValue = ByteRange()
    /// The JSON string `input-push-channel`, with its quotes.
    public var inputPushChannelInValue = ByteRange()

    /// The bundle id; empty when absent.
    public var appInText = ByteRange()
    /// The event's `id`, which outcomes repeat.
    public var eventIDInText = ByteRange()
    /// The token of a registration, of `to.token` or of `to.start-token`, as bytes decoded from hexadecimal.
    public var tokenInText = ByteRange()
    /// The id of `to.activity`; empty when it is absent. It must equal the record's key, but the decoder does not have
    /// the key.
    public var activityInText = ByteRange()
    /// The audience of a registration, or the id of an audience or channel in `to`. An id in `to` must equal the
    /// record's key.
    public var audienceInText = ByteRange()
    /// `channel` in the join of an update member: a channel on which this phone listens. Empty when absent.
    public var channelInText = ByteRange()
    /// The bytes that the ranges named `…InText` index. Their storage is reused for the next event.
    public var text: [UInt8] = []

    /// An event with default values, before a record is decoded into it.
    public init() {}

    /// Resets every field, but keeps the storage of `text`.
    mutating func reset() {
        // The fields are reset one by one. A new value would allocate an array for `text` and release the old one. A
        // test checks that no field is missing here.
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

/// Why an event is rejected. The text names the field, the value and what was expected. The value is shortened, and a
/// token is never shown whole. The text is written to the headers of the dead letter, for people who do not know this
/// code.
public struct EventRejection: Error, Equatable, Sendable {
    /// The field's path, such as `alert.title.loc-key`. `key`, `value` and `payload` name parts of the record instead.
    public var field: String
    /// A predicate whose subject is the field, such as `is missing: …`.
    public var reason: String

    /// A rejection with these texts.
    public init(field: String, reason: String) {
        self.field = field
        self.reason = reason
    }
}

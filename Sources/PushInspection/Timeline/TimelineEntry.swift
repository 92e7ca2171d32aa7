import PushModel

/// One line of the timeline.
public struct TimelineEntry: Sendable {
    /// An event in Kafka.
    public struct Event: Sendable {
        /// The record's position.
        public var position: EventPosition
        /// The record's key as text, without a whole device token.
        public var key: String
        /// The record as it arrived, for a replay. A value over 16 KiB, which no worker takes, is cut.
        public var record: (key: [UInt8]?, value: [UInt8]?)
        /// The record as a worker reads it.
        public var reading: EventReading
        /// The event's outcome; `nil`: none yet.
        public var outcome: EventOutcome?
        /// What tells the event from others at a glance; empty: nothing does.
        public var gist: String
        /// Whether the page itself published the event, in place of an app or its server.
        public var isByPage: Bool
        /// What the event waits for, as the worker last reported; `nil`: not reported.
        public var wait: EventWait?
        /// Whether reading of the outcomes in the event's partition stopped before the event had an outcome.
        public var isOutcomeUnread = false
    }

    /// A push that reached APNs.
    public struct Push: Sendable {
        /// The phone that the push was for.
        public var phone: Int
        /// `apns-id`.
        public var messageID: String
        /// `aps.event`; empty: it cannot be read.
        public var event: String
        /// `apns-topic`; empty: none.
        public var topic: String
        /// `apns-priority`.
        public var priority: Int
        /// `apns-expiration`, seconds since 1970; `nil`: missing or unknown.
        public var expirationSeconds: Int64?
        /// The payload as APNs got it.
        public var body: [UInt8]
        /// HTTP status; `nil`: no answer, or the push had waited for the phone.
        public var status: Int?
        /// APNs' reason for a refusal.
        public var reason: String
        /// `aps.timestamp`, seconds since 1970.
        public var stampSeconds: Int64?
        /// What the phone did.
        public var verdict: PushVerdict
        /// The content of the push.
        public var contentState: JSONTree?
        /// The alert of the push.
        public var alert: JSONTree?
        /// Differences from the previous push to the same phone.
        public var changes: [ContentDifference.Change]
        /// Values in the content that look like dates.
        public var dates: [DateLens.Finding]
        /// The first digits of the push's token.
        public var tokenShown = ""
        /// When the phone showed a newer push, milliseconds since 1970; `nil`: it has not.
        public var shownUntilMillis: Int64?
        /// The word by which the page marks the push: its verdict's word, unless the app misreads a date in the content
        /// shown.
        var word: String {
            self.verdict.word == .shown && self.dates.contains(where: \.isTrouble)
                ? PhoneStatus.Word.doubtfulDate.name : self.verdict.word.rawValue
        }
    }

    /// A broadcast that reached APNs.
    public struct Broadcast: Sendable {
        /// The channel's id.
        public var channel: String
        /// `apns-request-id`.
        public var messageID: String
        /// `aps.event`; empty: it cannot be read.
        public var event: String
        /// `apns-priority`.
        public var priority: Int
        /// The payload as APNs got it.
        public var body: [UInt8]
        /// HTTP status; `nil`: no answer.
        public var status: Int?
        /// APNs' reason for a refusal.
        public var reason: String
        /// `aps.timestamp`, seconds since 1970.
        public var stampSeconds: Int64?
        /// The result of the broadcast.
        public var verdict: PushVerdict
        /// The content of the broadcast.
        public var contentState: JSONTree?
        /// The alert of the broadcast.
        public var alert: JSONTree?
        /// Differences from the previous broadcast to the same channel.
        public var changes: [ContentDifference.Change]
        /// Values in the content that look like dates.
        public var dates: [DateLens.Finding]
    }

    /// What a line is about.
    public enum Body: Sendable {
        /// An event in Kafka.
        case event(Event)
        /// A push that reached APNs.
        case push(Push)
        /// A broadcast that reached APNs.
        case broadcast(Broadcast)
        /// Something that happened to a phone.
        case note(phone: Int, text: String)
    }

    /// Number of the entry, counted from 1.
    public let id: Int
    /// When the entry's event happened, milliseconds since 1970.
    public let atMillis: Int64
    /// The activity, channel or audience of the entry; empty: not known.
    public var activity: String
    /// What the entry is about.
    public var body: Body
    /// Related entries: the pushes of an event, or the events of a push.
    public var related: [Int] = []
    /// The timeline's revision when the entry last changed.
    public var revision: Int

    /// Maximum number of entries in `related`.
    static let relatedMax = 64
}

/// Position of an event's record.
public struct EventPosition: Hashable, Sendable {
    /// The record's partition.
    public var partition: Int32
    /// The record's offset.
    public var offset: Int64

    public init(partition: Int32, offset: Int64) {
        self.partition = partition
        self.offset = offset
    }
}

/// What the outcomes topic says about one event.
public struct EventOutcome: Equatable, Sendable {
    /// The outcome's name, such as `delivered`.
    public var name: String
    /// The reason; empty: none given.
    public var reason: String
    /// The newer event that replaced this one.
    public var into: EventPosition?
    /// What the newer event inherits from this one: `alert`, `priority`.
    public var kept: [String]
    /// `apns-id` of the event's push; empty: none.
    public var messageID: String
    /// HTTP status of APNs' answer; `nil`: none.
    public var status: Int?
    /// `apns-priority` of the push; `nil`: none was sent.
    public var priority: Int?
    /// Number of events merged into the push; `nil`: none was sent.
    public var merged: Int?
    /// How long the event waited in the worker, in milliseconds; `nil`: not reported.
    public var queuedMillis: Int64?
    /// How long APNs took, in milliseconds; `nil`: not reported.
    public var apnsMillis: Int64?

    /// Whether the event is a duplicate: the worker had it already, or had a start of the activity that has not ended.
    var isDuplicate: Bool { Outcome(named: self.name) == .duplicate }

    /// Reads a record of the outcomes topic; `nil`: it is not about one event.
    /// - Parameter topic: the events topic.
    public static func read(_ value: [UInt8], topic: String) -> (position: EventPosition, outcome: EventOutcome)? {
        guard let record = try? JSONTree.parse(value), let name = record["outcome"]?.plainText,
            record["topic"]?.plainText == topic, let position = Self.position(record)
        else { return nil }
        func number<Value: FixedWidthInteger>(_ name: String) -> Value? { record[name].flatMap { Value($0.plainText) } }
        var kept: [String] = []
        if case .array(let names)? = record["kept"] { kept = names.map(\.plainText) }
        let outcome = EventOutcome(
            name: name, reason: record["reason"]?.plainText ?? "", into: record["into"].flatMap(Self.position),
            kept: kept, messageID: record["apns-id"]?.plainText ?? "", status: number("status"),
            priority: number("priority"), merged: number("merged"), queuedMillis: number("queued-ms"),
            apnsMillis: number("apns-ms"))
        return (position, outcome)
    }

    private static func position(_ record: JSONTree) -> EventPosition? {
        guard let partition = record["partition"].flatMap({ Int32($0.plainText) }),
            let offset = record["offset"].flatMap({ Int64($0.plainText) })
        else { return nil }
        return EventPosition(partition: partition, offset: offset)
    }
}

/// One line of the timeline.
public struct TimelineEntry: Sendable {
    /// An event that lies in Kafka.
    public struct Event: Sendable {
        /// Where it lies.
        public var position: EventPosition
        /// The record's key as text, without a whole device token.
        public var key: String
        /// The record as it came, for a replay; a value over 16 KiB, which no worker takes, is cut.
        public var record: (key: [UInt8]?, value: [UInt8]?)
        /// As a worker reads it.
        public var reading: EventReading
        /// What became of it; `nil`: nothing yet.
        public var outcome: EventOutcome?
        /// The page published it by itself, as an app or its server would have to.
        public var isByPage: Bool
        /// What it waits for in the worker, as the worker said last; `nil`: it has not said.
        public var wait: EventWait?
        /// It had no outcome yet when outcomes were no longer read where it would lie.
        public var isOutcomeUnread = false
    }

    /// A push that reached APNs.
    public struct Push: Sendable {
        /// The phone it was for.
        public var phone: Int
        /// `apns-id`.
        public var messageID: String
        /// `aps.event`; empty: it cannot be read.
        public var event: String
        /// `apns-topic`; empty: none.
        public var topic: String
        /// `apns-priority`.
        public var priority: Int
        /// `apns-expiration`, seconds since 1970; `nil`: none that is known.
        public var expirationSeconds: Int64?
        /// The payload as APNs got it.
        public var body: [UInt8]
        /// HTTP status; `nil`: no answer, or it had waited for the phone.
        public var status: Int?
        /// APNs' reason of a refusal.
        public var reason: String
        /// `aps.timestamp`, seconds since 1970.
        public var stampSeconds: Int64?
        /// What the phone did.
        public var verdict: PushVerdict
        /// The content it brought.
        public var contentState: JSONTree?
        /// The alert it brought.
        public var alert: JSONTree?
        /// Against the push before it to the same phone.
        public var changes: [ContentDifference.Change]
        /// Values in the content that look like dates.
        public var dates: [DateLens.Finding]
        /// The first digits of the token that it went to.
        public var tokenShown = ""
        /// How the page marks it: as its verdict says, unless a date in what is shown is not what it seems.
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
        /// APNs' reason of a refusal.
        public var reason: String
        /// `aps.timestamp`, seconds since 1970.
        public var stampSeconds: Int64?
        /// What became of it.
        public var verdict: PushVerdict
        /// The content it brought.
        public var contentState: JSONTree?
        /// The alert it brought.
        public var alert: JSONTree?
        /// Against the broadcast before it to the same channel.
        public var changes: [ContentDifference.Change]
        /// Numbers in the content that look like dates.
        public var dates: [DateLens.Finding]
    }

    /// What a line tells of.
    public enum Body: Sendable {
        /// An event that lies in Kafka.
        case event(Event)
        /// A push that reached APNs.
        case push(Push)
        /// A broadcast that reached APNs.
        case broadcast(Broadcast)
        /// Something that happened to a phone.
        case note(phone: Int, text: String)
    }

    /// Counted from 1.
    public let id: Int
    /// When it happened, milliseconds since 1970.
    public let atMillis: Int64
    /// The activity, channel or audience it concerns; empty: none that is known.
    public var activity: String
    /// What it tells of.
    public var body: Body
    /// Entries that belong to it: of an event its pushes, of a push its events.
    public var related: [Int] = []
    /// The timeline's revision when it last changed.
    public var revision: Int

    /// Most outcomes and pushes of an event that `related` holds.
    static let relatedMax = 64
}

/// Where an event lies.
public struct EventPosition: Hashable, Sendable {
    /// Its partition.
    public var partition: Int32
    /// Its offset.
    public var offset: Int64

    public init(partition: Int32, offset: Int64) {
        self.partition = partition
        self.offset = offset
    }
}

/// What the outcomes topic says of one event.
public struct EventOutcome: Equatable, Sendable {
    /// Such as `delivered`.
    public var name: String
    /// Why; empty: it says nothing.
    public var reason: String
    /// The event that took its place.
    public var into: EventPosition?
    /// What of it lives on in that: `alert`, `priority`.
    public var kept: [String]
    /// `apns-id` of its push; empty: none.
    public var messageID: String
    /// HTTP status of APNs' answer; `nil`: none.
    public var status: Int?
    /// `apns-priority` with which it was sent; `nil`: it was not.
    public var priority: Int?
    /// How many events went into the push; `nil`: none was sent.
    public var merged: Int?
    /// How long it waited in the worker, and how long APNs took, milliseconds; `nil`: not said.
    public var queuedMillis: Int64?
    /// How long APNs took, milliseconds; `nil`: not said.
    public var apnsMillis: Int64?

    /// Reads a record of the outcomes topic; `nil`: it is not about one event.
    /// - Parameter topic: that of the events.
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

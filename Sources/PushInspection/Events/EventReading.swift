public import PushModel

/// One record of an events topic as a worker would read it, for display.
public struct EventReading: Equatable, Sendable {
    /// Why the worker would refuse the record; `nil`: it takes it.
    public var rejection: EventRejection?
    /// The event of an accepted record; `nil`: the record is refused.
    public var event: Event?
    /// The kind that the value names, even if the record is refused for another reason; `nil`: it names none.
    public var kind: EventKind?
    /// The value as JSON, without whole device tokens; `nil`: it is not JSON.
    public var shown: JSONTree?

    /// What a page needs to know of an event.
    public struct Event: Equatable, Sendable {
        /// The event's kind, from `event`.
        public var kind: EventKind
        /// The event's target.
        public var target: EventTarget
        /// The priority, with defaults applied.
        public var priority: Int
        /// Bundle id; empty: the event names none.
        public var app: String
        /// The event's `id`; empty: none.
        public var eventID: String
        /// The token in the event, in lower-case hex; empty: none. A secret.
        public var token: String
        /// Id of the audience that the event addresses, or that a member joins or leaves; otherwise the id of the
        /// channel that the event addresses. Empty: none.
        public var group: String
        /// Whether the joining member has a push-to-start token.
        public var isStartMember: Bool
        /// The content, if the event has any.
        public var contentState: JSONTree?
        /// Whether the event has an alert.
        public var hasAlert: Bool
    }

    /// Judges a record by the rules of `mailboat check`.
    /// - Parameters:
    ///   - key: `nil`: a null key.
    ///   - value: `nil`: a null value.
    ///   - nowSeconds: the worker's clock, seconds since 1970.
    public init(key: [UInt8]?, value: [UInt8]?, nowSeconds: Int64) {
        self.shown = value.flatMap { try? JSONTree.parse($0) }.map(TokenHiding.hidden)
        let name = (self.shown?["event"] ?? self.shown?["data"]?["event"])?.plainText
        self.kind = EventKind.allCases.first { $0.name.description == name }
        do throws(EventRejection) {
            guard let key else { throw EventRules.missingKey }
            try EventRules.checkKey(key.span)
            guard let value else { throw EventRejection(field: "value", reason: "is null: expected one JSON object") }
            var decoded = DecodedEvent()
            try EventDecoder.decode(value.span, into: &decoded)
            try EventRules.checkTarget(decoded, key: key.span)
            try EventRules.checkContent(
                decoded, value: value.span, eventSeconds: decoded.timestampSeconds ?? nowSeconds,
                nowSeconds: nowSeconds)
            self.event = Event(decoded, value: value)
            self.kind = decoded.kind
        } catch {
            self.rejection = error
        }
    }
}

extension EventReading.Event {
    fileprivate init(_ decoded: DecodedEvent, value: [UInt8]) {
        func text(_ range: ByteRange) -> String { String(decoding: decoded.text[range.range], as: UTF8.self) }
        var token: [UInt8] = []
        Hex.append(decoded.text[decoded.tokenInText.range].span, to: &token)
        self.kind = decoded.kind
        self.target = decoded.target
        self.priority = Int(decoded.priority.rawValue)
        self.app = text(decoded.appInText)
        self.eventID = text(decoded.eventIDInText)
        self.token = String(decoding: token, as: UTF8.self)
        self.group = text(decoded.audienceInText)
        self.isStartMember = decoded.isStartMember
        self.contentState =
            decoded.contentStateInValue.isEmpty
            ? nil : try? JSONTree.parse(Array(value[decoded.contentStateInValue.range]))
        self.hasAlert = !decoded.alertInValue.isEmpty
    }
}

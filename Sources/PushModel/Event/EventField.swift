/// The fields of an event's object (contract: What an event is).
enum EventField: UInt8, CaseIterable {
    case event, app, id
    case to, priority, timestamp, contentState, alert, staleDate, relevanceScore, dismissalDate, expires
    case attributesType, attributes, inputPushToken, inputPushChannel
    case token, environment, frequentUpdates, audience, tokenType, channelCapable, channel

    var name: StaticString {
        switch self {
        case .event: "event"
        case .app: "app"
        case .id: "id"
        case .to: "to"
        case .priority: "priority"
        case .timestamp: "timestamp"
        case .contentState: "content-state"
        case .alert: "alert"
        case .staleDate: "stale-date"
        case .relevanceScore: "relevance-score"
        case .dismissalDate: "dismissal-date"
        case .expires: "expires"
        case .attributesType: "attributes-type"
        case .attributes: "attributes"
        case .inputPushToken: "input-push-token"
        case .inputPushChannel: "input-push-channel"
        case .token: "token"
        case .environment: "environment"
        case .frequentUpdates: "frequent-updates"
        case .audience: "audience"
        case .tokenType: "token-type"
        case .channelCapable: "channel-capable"
        case .channel: "channel"
        }
    }

    /// Passes the name, closing quote and colon that begin at `index`, if they are spelt as nearly every producer
    /// spells them. The known names are compared in place, without looking for the name's end first. Returns `nil` for
    /// another name, escapes, or white space before the colon.
    @inline(never) static func passName(in bytes: Span<UInt8>, _ index: inout Int) -> Self? {
        let start = index
        @inline(__always) func passes(_ text: StaticString) -> Bool {
            guard bytes.spells(text, at: start) else { return false }
            index = start &+ text.utf8CodeUnitCount
            return true
        }
        switch bytes.byte(orZeroAt: start) {
        case UInt8(ascii: "e"):
            if passes("event\":") { return .event }
            if passes("expires\":") { return .expires }
            if passes("environment\":") { return .environment }
        case UInt8(ascii: "c"):
            if passes("content-state\":") { return .contentState }
            if passes("channel\":") { return .channel }
            if passes("channel-capable\":") { return .channelCapable }
        case UInt8(ascii: "t"):
            if passes("timestamp\":") { return .timestamp }
            if passes("token\":") { return .token }
            if passes("to\":") { return .to }
            if passes("token-type\":") { return .tokenType }
        case UInt8(ascii: "p"): if passes("priority\":") { return .priority }
        case UInt8(ascii: "a"):
            if passes("app\":") { return .app }
            if passes("alert\":") { return .alert }
            if passes("attributes\":") { return .attributes }
            if passes("attributes-type\":") { return .attributesType }
            if passes("audience\":") { return .audience }
        case UInt8(ascii: "s"): if passes("stale-date\":") { return .staleDate }
        case UInt8(ascii: "r"): if passes("relevance-score\":") { return .relevanceScore }
        case UInt8(ascii: "d"): if passes("dismissal-date\":") { return .dismissalDate }
        case UInt8(ascii: "i"):
            if passes("id\":") { return .id }
            if passes("input-push-token\":") { return .inputPushToken }
            if passes("input-push-channel\":") { return .inputPushChannel }
        case UInt8(ascii: "f"): if passes("frequent-updates\":") { return .frequentUpdates }
        default: break
        }
        return nil
    }

    /// The field named by `range`, which has no escapes. `passName` has handled names in the usual spelling already.
    /// A name that reaches this method has white space before the colon, was spelt with escapes, or is unknown.
    static func named(_ range: ByteRange, in bytes: Span<UInt8>) -> Self? {
        Self.allCases.first { bytes.spells($0.name, in: range) }
    }
}

/// A set of fields, one bit each.
struct EventFieldSet: OptionSet {
    var rawValue: UInt32

    init(rawValue: UInt32) { self.rawValue = rawValue }
    init(_ field: EventField) { self.rawValue = 1 << UInt32(field.rawValue) }

    @inline(__always) func contains(_ field: EventField) -> Bool { self.rawValue & (1 << UInt32(field.rawValue)) != 0 }
    @inline(__always) mutating func insert(_ field: EventField) { self.rawValue |= 1 << UInt32(field.rawValue) }
    /// The fields of `self` that `other` lacks.
    func without(_ other: Self) -> Self { Self(rawValue: self.rawValue & ~other.rawValue) }
    /// The first field of the set, in the order of `EventField`.
    var first: EventField? {
        self.rawValue == 0 ? nil : EventField(rawValue: UInt8(self.rawValue.trailingZeroBitCount))
    }
}

extension EventKind {
    /// The kind's value in the field `event`.
    public var name: StaticString {
        switch self {
        case .register: "register"
        case .unregister: "unregister"
        case .start: "start"
        case .update: "update"
        case .end: "end"
        case .open: "open"
        }
    }

    private static var registrationFields: EventFieldSet {
        [
            .init(.event), .init(.app), .init(.id), .init(.token), .init(.environment), .init(.frequentUpdates),
            .init(.audience), .init(.tokenType), .init(.channelCapable), .init(.channel),
        ]
    }
    private static var updateFields: EventFieldSet {
        [
            .init(.event), .init(.app), .init(.id), .init(.to), .init(.priority), .init(.timestamp),
            .init(.contentState),
            .init(.alert), .init(.staleDate), .init(.relevanceScore), .init(.expires),
        ]
    }
    private static var openFields: EventFieldSet { [.init(.event), .init(.app), .init(.id), .init(.to)] }
    private static var endFields: EventFieldSet { Self.updateFields.union(EventFieldSet(.dismissalDate)) }
    private static var startFields: EventFieldSet {
        Self.updateFields.union([
            .init(.attributesType), .init(.attributes), .init(.inputPushToken), .init(.inputPushChannel),
        ])
    }

    /// The fields that apply to events of this kind.
    var allowedFields: EventFieldSet {
        switch self {
        case .register, .unregister: Self.registrationFields
        case .start: Self.startFields
        case .update: Self.updateFields
        case .end: Self.endFields
        case .open: Self.openFields
        }
    }

    /// The fields that events of this kind must have. A registration's required fields also depend on `audience`.
    var requiredFields: EventFieldSet {
        switch self {
        case .register, .unregister, .end: EventFieldSet(rawValue: 0)
        case .start: Self.startRequiredFields
        case .update: EventFieldSet(.contentState)
        case .open: EventFieldSet(.to)
        }
    }
    private static var startRequiredFields: EventFieldSet {
        [.init(.to), .init(.contentState), .init(.alert), .init(.attributesType), .init(.attributes)]
    }
}

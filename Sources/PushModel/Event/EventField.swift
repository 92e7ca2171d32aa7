/// The fields of an event's object (contract §2).
enum EventField: UInt8, CaseIterable {
    case event, app, id
    case to, priority, timestamp, contentState, alert, staleDate, relevanceScore, dismissalDate, expires
    case attributesType, attributes, inputPushToken, inputPushChannel
    case token, environment, frequentUpdates, audience

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
        }
    }

    /// The field named by `range`, which holds no escapes. The count leaves few candidates, so that mostly one name is compared.
    static func named(_ range: ByteRange, in bytes: Span<UInt8>) -> Self? {
        func oneOf(_ first: Self, _ second: Self? = nil, _ third: Self? = nil) -> Self? {
            if bytes.spells(first.name, in: range) { return first }
            if let second, bytes.spells(second.name, in: range) { return second }
            if let third, bytes.spells(third.name, in: range) { return third }
            return nil
        }
        return switch range.count {
        case 2: oneOf(.to, .id)
        case 3: oneOf(.app)
        case 5: oneOf(.event, .alert, .token)
        case 7: oneOf(.expires)
        case 8: oneOf(.priority, .audience)
        case 9: oneOf(.timestamp)
        case 10: oneOf(.staleDate, .attributes)
        case 11: oneOf(.environment)
        case 13: oneOf(.contentState)
        case 14: oneOf(.dismissalDate)
        case 15: oneOf(.relevanceScore, .attributesType)
        case 16: oneOf(.inputPushToken, .frequentUpdates)
        case 18: oneOf(.inputPushChannel)
        default: nil
        }
    }
}

/// A set of fields, one bit each.
struct EventFieldSet: OptionSet {
    var rawValue: UInt32

    init(rawValue: UInt32) { self.rawValue = rawValue }
    init(_ field: EventField) { self.rawValue = 1 << UInt32(field.rawValue) }

    func contains(_ field: EventField) -> Bool { self.rawValue & (1 << UInt32(field.rawValue)) != 0 }
    mutating func insert(_ field: EventField) { self.rawValue |= 1 << UInt32(field.rawValue) }
    /// The fields of `self` that `other` lacks.
    func without(_ other: Self) -> Self { Self(rawValue: self.rawValue & ~other.rawValue) }
    /// The first field of the set, in the order of `EventField`.
    var first: EventField? {
        self.rawValue == 0 ? nil : EventField(rawValue: UInt8(self.rawValue.trailingZeroBitCount))
    }

    static func of(_ fields: EventField...) -> Self {
        var set = Self(rawValue: 0)
        for field in fields { set.insert(field) }
        return set
    }
}

extension EventKind {
    /// The word in the event.
    public var name: StaticString {
        switch self {
        case .register: "register"
        case .unregister: "unregister"
        case .start: "start"
        case .update: "update"
        case .end: "end"
        }
    }

    private static let registrationFields = EventFieldSet.of(
        .event, .app, .id, .token, .environment, .frequentUpdates, .audience)
    private static let updateFields = EventFieldSet.of(
        .event, .app, .id, .to, .priority, .timestamp, .contentState, .alert, .staleDate, .relevanceScore, .expires)
    private static let endFields = Self.updateFields.union(.of(.dismissalDate))
    private static let startFields = Self.updateFields.union(
        .of(.attributesType, .attributes, .inputPushToken, .inputPushChannel))

    /// The fields that apply to events of this kind.
    var allowedFields: EventFieldSet {
        switch self {
        case .register, .unregister: Self.registrationFields
        case .start: Self.startFields
        case .update: Self.updateFields
        case .end: Self.endFields
        }
    }

    /// The fields that events of this kind must have. What a registration needs depends on `audience`.
    var requiredFields: EventFieldSet {
        switch self {
        case .register, .unregister, .end: EventFieldSet(rawValue: 0)
        case .start: Self.startRequiredFields
        case .update: EventFieldSet(.contentState)
        }
    }
    private static let startRequiredFields = EventFieldSet.of(.to, .contentState, .alert, .attributesType, .attributes)
}

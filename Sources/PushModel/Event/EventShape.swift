/// The rules about which fields an event of a kind has, and which fields go together (contract: What an event is;
/// fan-out contract: Joins and leaves).
enum EventShape {
    /// The values of `priority`, for a rejection.
    static let priorities: StaticString = "10, 5, “high” or “low” (1 is for channels)"

    /// Checks a decoded event, and sets the target of a registration for an audience.
    /// - Parameter seen: the fields that the event has.
    static func check(_ event: inout DecodedEvent, seen: EventFieldSet) throws(EventRejection) {
        guard seen.contains(.event) else {
            throw EventRejection(
                field: "event", reason: "is missing: expected \(RejectionText.list(EventKind.allCases.map(\.name)))")
        }
        let kind = event.kind
        if let field = seen.without(kind.allowedFields).first { throw Self.misplaced(field, in: kind) }
        if let field = kind.requiredFields.without(seen).first { throw Self.missing(field, in: kind) }
        switch kind {
        case .register:
            guard seen.contains(.token) || seen.contains(.audience) else { throw Self.missing(.token, in: kind) }
            if !seen.isDisjoint(with: Self.memberFields) { try Self.checkMember(&event, seen: seen) }
        case .unregister:
            if !seen.isDisjoint(with: Self.memberFields) { try Self.checkMember(&event, seen: seen) }
        case .start: try Self.checkStart(event, seen: seen)
        case .open:
            guard event.target == .audience else {
                throw EventRejection(
                    field: "to",
                    reason: "names no audience: “open” opens the channel kept for one, expected {\"audience\": …}")
            }
        case .update, .end:
            if event.target == .startToken {
                throw EventRejection(
                    field: "to.start-token",
                    reason:
                        "starts activities only: “\(kind.name)” goes to “activity”, “audience”, “channel” or “token”")
            }
        }
    }

    /// Checks that only broadcasts have priority 1. Apple would refuse it in a push to one phone.
    static func checkLowestPriority(_ event: borrowing DecodedEvent) throws(EventRejection) {
        guard event.target != .channel else { return }
        throw EventRejection(field: "priority", reason: "is 1: expected \(Self.priorities)")
    }

    private static var memberFields: EventFieldSet {
        [.init(.audience), .init(.tokenType), .init(.channelCapable), .init(.channel)]
    }

    /// Checks a join or a leave. A leave may have the fields of its join, but only `audience` has an effect.
    @inline(never) private static func checkMember(
        _ event: inout DecodedEvent, seen: EventFieldSet
    ) throws(EventRejection) {
        guard seen.contains(.audience) else {
            guard let field = seen.intersection(Self.memberFields).first else { return }
            throw EventRejection(
                field: "\(field.name)", reason: "is given without “audience”: only members of an audience have it")
        }
        event.target = .audience
        if seen.contains(.token) {
            throw EventRejection(field: "token", reason: "is given with “audience”: the record's key is the token")
        }
        if seen.contains(.channelCapable), !event.isStartMember {
            throw EventRejection(
                field: "channel-capable", reason: "belongs to push-to-start tokens: expected \"token-type\": \"start\"")
        }
        if seen.contains(.channel), event.isStartMember {
            throw EventRejection(
                field: "channel", reason: "is given with “token-type” “start”: only a running activity listens on one")
        }
    }

    private static func checkStart(_ event: borrowing DecodedEvent, seen: EventFieldSet) throws(EventRejection) {
        switch event.target {
        case .startToken, .audience: break
        case .token:
            throw EventRejection(
                field: "to.token", reason: "cannot start an activity: expected “start-token” or “audience”")
        case .activity:
            throw EventRejection(
                field: "to.activity",
                reason: "cannot start an activity: expected “start-token” or “audience”; the key names it")
        case .channel:
            throw EventRejection(
                field: "to.channel", reason: "cannot start an activity: broadcasts only update and end")
        }
        if event.withdrawsAlert {
            throw EventRejection(
                field: "alert",
                reason:
                    "is null: expected an object with “title” and “body”, because there is nothing yet that it could withdraw"
            )
        }
        if seen.contains(.inputPushToken), seen.contains(.inputPushChannel) {
            throw EventRejection(
                field: "input-push-channel", reason: "is given with “input-push-token”: at most one is allowed")
        }
    }

    private static func missing(_ field: EventField, in kind: EventKind) -> EventRejection {
        let reason: String
        switch field {
        case .to:
            reason =
                kind == .open
                ? "is missing: “open” needs {\"audience\": …}"
                : "is missing: “start” needs {\"start-token\": …}, the push-to-start token, or {\"audience\": …}"
        case .token:
            reason =
                "is missing: “register” needs the activity's token, or an “audience” (then the record's key is the token)"
        default: reason = "is missing: “\(kind.name)” needs it"
        }
        return EventRejection(field: "\(field.name)", reason: reason)
    }

    private static func misplaced(_ field: EventField, in kind: EventKind) -> EventRejection {
        let advice: String
        switch field {
        case .token: advice = "write {\"to\": {\"\(kind == .start ? "start-token" : "token")\": …}}"
        case .audience: advice = "write {\"to\": {\"audience\": …}}"
        case .channel: advice = kind == .start ? "write “input-push-channel”" : "write {\"to\": {\"channel\": …}}"
        case .environment: advice = "write it inside “to”, next to the token or channel"
        default:
            advice =
                "only to "
                + RejectionText.list(EventKind.allCases.filter { $0.allowedFields.contains(field) }.map(\.name))
        }
        return EventRejection(field: "\(field.name)", reason: "does not apply to “\(kind.name)”: \(advice)")
    }
}

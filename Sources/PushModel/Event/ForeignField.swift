/// The rejection of a field that Mailboat does not know.
enum ForeignField {
    static func rejection(of name: [UInt8]) -> EventRejection {
        EventRejection(
            field: Self.shown(name),
            reason: "is not a field of an event"
                + (Self.advice(for: name) ?? ". Fields of your own may begin with “x-”"))
    }

    /// The rejection of an unknown field inside an object of the event.
    static func rejection(of name: [UInt8], in object: StaticString, knows names: [StaticString]) -> EventRejection {
        let near = FieldSuggestion.nearest(to: name, among: names).map { ". Did you mean “\($0)”?" }
        return EventRejection(
            field: "\(object).\(Self.shown(name))",
            reason: "is not a field of “\(object)”" + (near ?? ": expected \(RejectionText.list(names))"))
    }

    /// The name as a rejection shows it. An empty name is shown as `""`, because a rejection must show a name.
    private static func shown(_ name: [UInt8]) -> String { name.isEmpty ? "\"\"" : RejectionText.quoted(name.span) }

    private static func advice(for name: [UInt8]) -> String? {
        guard name.count <= FieldSuggestion.byteCountMax else { return nil }
        switch String(decoding: FieldSuggestion.folded(name), as: UTF8.self) {
        case "aps": return ": write the content of “aps” directly into the event"
        // These are other names for the event's `id`. Outcomes have it as `event-id`.
        case "event-id", "eventid", "event-i-d": return ". Did you mean “id”?"
        case "apns-priority": return ". Did you mean “priority”?"
        case "apns-expiration", "expiration", "ttl": return ". Did you mean “expires”?"
        case "apns-topic", "topic", "bundle-id", "bundle-identifier", "bundle": return ". Did you mean “app”?"
        case "device-token", "push-token", "update-token": return ". Did you mean “token”?"
        case "state", "content": return ". Did you mean “content-state”?"
        case "type", "event-type": return ". Did you mean “event”?"
        case "activity", "activity-id", "start-token": return ": it belongs inside “to”"
        case "title", "body", "sound": return ": it belongs inside “alert”"
        default:
            return FieldSuggestion.nearest(to: name, among: EventField.allCases.map(\.name)).map {
                ". Did you mean “\($0)”?"
            }
        }
    }
}

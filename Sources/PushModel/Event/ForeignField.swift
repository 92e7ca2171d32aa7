/// The rejection of a field that no event has.
enum ForeignField {
    static func rejection(of name: [UInt8]) -> EventRejection {
        EventRejection(
            field: Self.shown(name),
            reason: "is not a field of an event"
                + (Self.advice(for: name) ?? ". Fields of your own may begin with “x-”"))
    }

    /// The rejection of a field inside an object of the event.
    static func rejection(of name: [UInt8], in object: StaticString, knows names: [StaticString]) -> EventRejection {
        let near = FieldSuggestion.nearest(to: name, among: names).map { ". Did you mean “\($0)”?" }
        return EventRejection(
            field: "\(object).\(Self.shown(name))",
            reason: "is not a field of “\(object)”" + (near ?? ": expected \(RejectionText.list(names))"))
    }

    /// The name as a rejection shows it. An empty name is shown as `""`, because a rejection always names the field.
    private static func shown(_ name: [UInt8]) -> String { name.isEmpty ? "\"\"" : RejectionText.quoted(name.span) }

    private static func advice(for name: [UInt8]) -> String? {
        switch String(decoding: name, as: UTF8.self) {
        case "aps": return ": write what stands inside “aps” directly into the event"
        case "apns-priority": return ". Did you mean “priority”?"
        case "apns-expiration", "expiration": return ". Did you mean “expires”?"
        case "apns-topic", "topic", "bundle-id", "bundleId": return ". Did you mean “app”?"
        case "activity", "start-token": return ": it belongs inside “to”"
        case "title", "body", "sound": return ": it belongs inside “alert”"
        default:
            return FieldSuggestion.nearest(to: name, among: EventField.allCases.map(\.name)).map {
                ". Did you mean “\($0)”?"
            }
        }
    }
}

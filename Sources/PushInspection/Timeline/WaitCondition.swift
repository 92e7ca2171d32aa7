import PushModel

/// What somebody waits for a phone to show, such as a test that has just published an event.
public struct WaitCondition: Equatable, Sendable {
    /// Why the question cannot be understood.
    public struct Fault: Error, Equatable, Sendable {
        /// Names the parameter and what was expected.
        public var description: String
    }

    /// How it stands.
    public enum Answer: Equatable, Sendable {
        /// A phone shows it.
        case met(phone: Int)
        /// None does; says why not.
        case unmet(String)
    }

    /// The activity.
    public let activity: String
    /// Path of the key in the `content-state`; `nil`: any content.
    public let key: String?
    /// What stands there, as text: a string without quotes, anything else as JSON. `nil`: anything.
    public let value: String?
    /// How the card stands: `active`, `stale`, `ended` or `dismissed`; `nil`: as may be.
    public let card: String?
    /// How long to wait, seconds.
    public let timeoutSeconds: Double

    /// Seconds that a wait may take, and takes unless told otherwise.
    public static let timeoutSecondsMax = 600.0
    private static let timeoutSecondsUnlessSaid = 30.0
    private static let cards = ["active", "stale", "ended", "dismissed"]

    /// Reads the parameters of a query.
    public init(_ parameters: [(name: String, value: String)]) throws(Fault) {
        var values: [String: String] = [:]
        for parameter in parameters {
            guard ["activity", "key", "value", "card", "timeout"].contains(parameter.name) else {
                throw Fault(
                    description: "“\(parameter.name)” is no parameter: expected activity, key, value, card or timeout")
            }
            guard values.updateValue(parameter.value, forKey: parameter.name) == nil else {
                throw Fault(description: "“\(parameter.name)” is given twice")
            }
        }
        guard let activity = values["activity"], !activity.isEmpty else {
            throw Fault(description: "“activity” is missing: expected the activity's id")
        }
        if values["value"] != nil, values["key"] == nil { throw Fault(description: "“value” stands without “key”") }
        if let card = values["card"], !Self.cards.contains(card) {
            throw Fault(description: "“card” is “\(card)”: expected \(Self.cards.joined(separator: ", "))")
        }
        var seconds = Self.timeoutSecondsUnlessSaid
        if let text = values["timeout"] {
            let number = text.hasSuffix("s") ? String(text.dropLast()) : text
            guard let given = Double(number), (0...Self.timeoutSecondsMax).contains(given) else {
                throw Fault(
                    description: "“timeout” is “\(text)”: expected seconds, at most \(Int(Self.timeoutSecondsMax))")
            }
            seconds = given
        }
        (self.activity, self.key, self.value, self.card) = (activity, values["key"], values["value"], values["card"])
        self.timeoutSeconds = seconds
    }

    /// Looks at the phones.
    public func answer(_ timeline: Timeline) -> Answer {
        guard let phone = timeline.phone(activity: self.activity) else {
            return .unmet("no phone has the activity “\(self.activity)”.\(self.lastEvent(timeline))")
        }
        if let card = self.card, card != phone.card {
            return .unmet("the card is \(phone.card), not \(card)\(self.lastNews(phone, timeline))")
        }
        guard let key = self.key else {
            guard self.card != nil || phone.content != nil else {
                return .unmet("the phone shows nothing yet\(self.lastNews(phone, timeline))")
            }
            return .met(phone: phone.id)
        }
        guard let content = phone.content else {
            return .unmet("the phone shows nothing yet\(self.lastNews(phone, timeline))")
        }
        guard let found = content.value(at: key) else {
            return .unmet("“\(key)” is not in what the phone shows\(self.lastNews(phone, timeline))")
        }
        guard let value = self.value else { return .met(phone: phone.id) }
        let isSame = found.plainText == value || (found.double != nil && found.double == Double(value))
        guard isSame else {
            return .unmet("“\(key)” is \(found.text), not \(value)\(self.lastNews(phone, timeline))")
        }
        return .met(phone: phone.id)
    }

    private func lastNews(_ phone: SimulatedPhone, _ timeline: Timeline) -> String {
        let verdict = phone.lastVerdict.map { ". The last push: \($0.text)" } ?? "."
        return verdict + self.lastEvent(timeline)
    }

    private func lastEvent(_ timeline: Timeline) -> String {
        let newest = timeline.entries.last { entry in
            guard entry.activity == self.activity, case .event(let event) = entry.body else { return false }
            return event.reading.event.map { ![.register, .unregister].contains($0.kind) } ?? true
        }
        guard let newest else { return " No event with content was published for it." }
        return " The last event: \(timeline.summary(of: newest))"
    }
}

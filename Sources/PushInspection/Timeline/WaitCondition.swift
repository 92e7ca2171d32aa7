import PushModel

/// What a phone must show for a wait to end. After publishing an event, a test can wait until a phone shows this.
public struct WaitCondition: Equatable, Sendable {
    /// Why the question cannot be understood.
    public struct Fault: Error, Equatable, Sendable {
        /// The parameter that is wrong, and what was expected.
        public var description: String
    }

    /// The result of a look at the phones.
    public enum Answer: Equatable, Sendable {
        /// A phone shows what is awaited.
        case met(phone: Int)
        /// This number of members of an audience show what is awaited.
        case metByMembers(audience: Int, members: Int)
        /// No phone shows what is awaited. The text says why.
        case unmet(String)
    }

    /// The activity; empty: the wait is for an audience.
    public let activity: String
    /// The audience; empty: the wait is for an activity.
    public let audience: String
    /// Number of members that must show what is awaited; `nil`: all, except those that are gone or whose card has left
    /// the Lock Screen.
    public let memberCount: Int?
    /// Path of the key in the `content-state`; `nil`: any content.
    public let key: String?
    /// The value of the key as text: a string without quotes, anything else as JSON. `nil`: any value.
    public let value: String?
    /// State of the card: `active`, `stale`, `ended` or `dismissed`; `nil`: any.
    public let card: String?
    /// How long to wait, seconds.
    public let timeoutSeconds: Double

    /// Longest time that `timeout` may give, in seconds. Without `timeout`, the wait lasts `timeoutSecondsUnlessSaid`.
    public static let timeoutSecondsMax = 600.0
    private static let timeoutSecondsUnlessSaid = 30.0
    private static let names = ["activity", "audience", "key", "value", "card", "members", "timeout"]
    private static let cards = ["active", "stale", "ended", "dismissed"]

    /// Reads the parameters of a query.
    public init(_ parameters: [(name: String, value: String)]) throws(Fault) {
        var values: [String: String] = [:]
        for parameter in parameters {
            guard Self.names.contains(parameter.name) else {
                throw Fault(
                    description:
                        "“\(parameter.name)” is not a parameter: expected \(Self.names.joined(separator: ", "))")
            }
            guard values.updateValue(parameter.value, forKey: parameter.name) == nil else {
                throw Fault(description: "“\(parameter.name)” is given twice")
            }
        }
        let (activity, audience) = (values["activity"] ?? "", values["audience"] ?? "")
        guard activity.isEmpty != audience.isEmpty else {
            throw Fault(
                description: activity.isEmpty
                    ? "“activity” is missing: expected the activity's id, or “audience”"
                    : "“activity” and “audience” are both given: expected one of them")
        }
        if !audience.isEmpty, values["key"] == nil || values["card"] != nil {
            throw Fault(description: "“audience” needs “key”, allows “value”, and excludes “card”")
        }
        self.memberCount = try Self.memberCount(values["members"], hasAudience: !audience.isEmpty)
        if values["value"] != nil, values["key"] == nil { throw Fault(description: "“value” is given without “key”") }
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
        (self.activity, self.audience) = (activity, audience)
        (self.key, self.value, self.card) = (values["key"], values["value"], values["card"])
        self.timeoutSeconds = seconds
    }

    private static func memberCount(_ text: String?, hasAudience: Bool) throws(Fault) -> Int? {
        guard let text else { return nil }
        guard hasAudience else { throw Fault(description: "“members” is given without “audience”") }
        guard let count = Int(text), count >= 1 else {
            throw Fault(description: "“members” is “\(text)”: expected a number from 1 on")
        }
        return count
    }

    /// Looks at the phones.
    public func answer(_ timeline: Timeline) -> Answer {
        guard self.audience.isEmpty else { return self.answerForMembers(timeline) }
        guard let phone = timeline.phone(activity: self.activity) else {
            let news = self.lastEvent(timeline) + Self.advice(timeline)
            return .unmet("no phone has the activity “\(self.activity)”.\(news)")
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
        guard Self.isSame(found, value) else {
            return .unmet("“\(key)” is \(found.text), not \(value)\(self.lastNews(phone, timeline))")
        }
        return .met(phone: phone.id)
    }

    private static func isSame(_ found: JSONTree, _ value: String) -> Bool {
        found.plainText == value || (found.double != nil && found.double == Double(value))
    }

    /// Advice after a wait in vain. The event that would have brought a phone may have arrived too fast to be read.
    private static func advice(_ timeline: Timeline) -> String {
        guard timeline.unlisted.events > 0 else { return "" }
        let reason =
            timeline.makesPhones ? "" : " None appears automatically while events arrive too fast to be listed."
        return "\(reason) POST /api/activities makes one."
    }

    private func answerForMembers(_ timeline: Timeline) -> Answer {
        guard let audience = timeline.audiences.audience(named: self.audience) else {
            return .unmet("nobody has joined the audience “\(self.audience)”")
        }
        let showing = audience.groups.filter { group in
            guard let key = self.key, let found = group.content?.value(at: key) else { return false }
            return self.value.map { Self.isSame(found, $0) } ?? true
        }.reduce(0) { $0 + $1.count }
        let counts = audience.counts
        let wanted = self.memberCount ?? audience.members.count - counts.gone - counts.dismissed
        if wanted > 0, showing >= wanted { return .metByMembers(audience: audience.id, members: showing) }
        var reasons = ["\(showing) of \(wanted) members show it"]
        if counts.away > 0 { reasons.append("\(counts.away) are away") }
        if counts.gone > 0 { reasons.append("\(counts.gone) have left, or APNs refuses their tokens") }
        if counts.untouched > 0 { reasons.append("\(counts.untouched) show nothing yet") }
        if let most = audience.groups.first?.content { reasons.append("most show \(most.text)") }
        return .unmet(reasons.joined(separator: "; ") + "." + self.lastEvent(timeline))
    }

    private func lastNews(_ phone: SimulatedPhone, _ timeline: Timeline) -> String {
        let verdict = phone.lastVerdict.map { ". The last push: \($0.text)" } ?? "."
        return verdict + self.lastEvent(timeline)
    }

    private func lastEvent(_ timeline: Timeline) -> String {
        let wanted = self.activity.isEmpty ? self.audience : self.activity
        var isForAudience = false
        let newest = timeline.entries.last { entry in
            guard entry.activity == wanted, case .event(let event) = entry.body else { return false }
            isForAudience = event.reading.event?.target == .audience
            return event.reading.event.map { ![.register, .unregister].contains($0.kind) } ?? true
        }
        guard let newest else {
            return timeline.unlisted.events > 0
                ? " No event with content that is listed is for it." : " No event with content was published for it."
        }
        let hint = isForAudience && self.audience.isEmpty ? " It is for an audience: expected “audience” here." : ""
        return " The last event: \(timeline.summary(of: newest))\(hint)"
    }
}

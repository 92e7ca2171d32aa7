/// One topic setting that matters to Mailboat: the value it is created with, and the values that an existing topic may
/// have.
public struct TopicRule: Sendable, Hashable {
    /// How important a rule is.
    public enum Weight: Sendable, Hashable {
        /// A promise depends on the setting.
        case required
        /// Mailboat works without the setting, but worse.
        case advised
    }

    enum Acceptable: Sendable, Hashable {
        case anything
        case equal(String)
        case atLeast(Int64)
        case atMost(Int64)
    }

    static let minuteMillis: Int64 = 60_000
    static let dayMillis: Int64 = 86_400_000

    /// Kafka's name of the setting.
    public let name: String
    /// How important the rule is.
    public let weight: Weight
    /// The value that `topics create` sets.
    public let createdValue: String
    /// Why the setting matters, in a few words.
    public let reason: String
    let acceptable: Acceptable
    /// Whether some versions of Kafka lack the setting. It is checked only if the cluster returns it, and `topics
    /// create` does not set it.
    public private(set) var isOptional = false

    /// A rule for a bound on how far a record's time may be from the broker's time. The bound has no effect if the
    /// broker sets the time itself.
    static func timestampBound(_ name: String, _ low: Int64, _ reason: String) -> TopicRule {
        var rule = TopicRule.atLeast(name, low, .advised, created: low, reason)
        rule.isOptional = true
        return rule
    }

    /// Rules for topics that workers write to: the broker must accept the time that a worker gave a record.
    static let timestampBounds: [TopicRule] = [
        .timestampBound(
            "message.timestamp.before.max.ms", TopicRule.dayMillis, "a record that waited for an outage is taken"),
        .timestampBound(
            "message.timestamp.after.max.ms", 60 * TopicRule.minuteMillis, "a worker's clock may be ahead"),
        .timestampBound(
            "message.timestamp.difference.max.ms", TopicRule.dayMillis, "a record that waited for an outage is taken"),
    ]

    static func cleanupPolicy(_ policy: String) -> TopicRule {
        let reason = policy == "compact" ? "the newest record of every key is kept for good" : "old records go"
        return TopicRule(
            name: "cleanup.policy", weight: .required, createdValue: policy, reason: reason, acceptable: .equal(policy))
    }

    static func equal(_ name: String, _ value: String, _ weight: Weight, _ reason: String) -> TopicRule {
        TopicRule(name: name, weight: weight, createdValue: value, reason: reason, acceptable: .equal(value))
    }

    static func atLeast(_ name: String, _ low: Int64, _ weight: Weight, created: Int64, _ reason: String) -> TopicRule {
        TopicRule(name: name, weight: weight, createdValue: String(created), reason: reason, acceptable: .atLeast(low))
    }

    static func atMost(_ name: String, _ high: Int64, created: Int64, _ reason: String) -> TopicRule {
        TopicRule(
            name: name, weight: .advised, createdValue: String(created), reason: reason, acceptable: .atMost(high))
    }

    static func created(_ name: String, _ value: String, _ reason: String) -> TopicRule {
        TopicRule(name: name, weight: .advised, createdValue: value, reason: reason, acceptable: .anything)
    }

    /// Whether a topic may have this value of the setting. In Kafka -1 means "no bound", so it counts as more than any
    /// number.
    func accepts(_ value: String) -> Bool {
        switch self.acceptable {
        case .anything: true
        case .equal(let wanted): value == wanted
        case .atLeast(let low): Int64(value).map { $0 == -1 || $0 >= low } ?? false
        case .atMost(let high): Int64(value).map { $0 != -1 && $0 <= high } ?? false
        }
    }

    /// The expected values as they are shown beside the value found.
    public var expected: String {
        switch self.acceptable {
        case .anything: "any (created with \(self.createdValue))"
        case .equal(let wanted): wanted
        case .atLeast(let low): "at least \(low)"
        case .atMost(let high): "at most \(high)"
        }
    }
}

/// The purpose of a topic in Mailboat; it decides the settings the topic needs.
public enum TopicRole: String, Sendable, Hashable, CaseIterable {
    /// The input events.
    case events
    /// Records from one partition to another: forwarded events, and messages such as the versions of an audience.
    case routed
    /// What must survive of each slot, in a compacted topic. A new owner restores from this topic and the committed
    /// offsets alone.
    case state
    /// The outcomes of events.
    case outcomes
    /// Records that cannot be processed, with the reason.
    case deadLetters = "dead-letters"

    /// Whether partition *p* of the topic must belong to the same worker as partition *p* of the events.
    public var isCoPartitioned: Bool {
        switch self {
        case .events, .routed, .state: true
        case .outcomes, .deadLetters: false
        }
    }

    /// The rules for the topic's settings, in the order in which they are shown.
    public var rules: [TopicRule] {
        switch self {
        case .events: Self.inputRules
        case .routed: Self.inputRules + TopicRule.timestampBounds
        case .state: Self.stateRules + TopicRule.timestampBounds
        case .outcomes: Self.outcomeRules + TopicRule.timestampBounds
        case .deadLetters: Self.deadLetterRules + TopicRule.timestampBounds
        }
    }

    private static let inputRules: [TopicRule] = [
        .cleanupPolicy("delete"),
        .atLeast(
            "retention.ms", TopicRule.dayMillis, .required, created: 7 * TopicRule.dayMillis,
            "an outage this long loses nothing"),
        .equal("retention.bytes", "-1", .advised, "a bound in bytes can delete events that were not read yet"),
        .atLeast(
            "max.message.bytes", 65_536, .required, created: 1_048_588,
            "an event of 16 KiB with its key and headers"),
    ]

    private static let stateRules: [TopicRule] = [
        .cleanupPolicy("compact"),
        .atLeast(
            "min.compaction.lag.ms", 30 * TopicRule.minuteMillis, .required,
            created: 30 * TopicRule.minuteMillis,
            "a late writer's record must be found before compaction hides it"),
        .atLeast(
            "max.message.bytes", 262_144, .required, created: 1_048_588,
            "one record holds all of a slot, including its pending update"),
        .equal(
            "unclean.leader.election.enable", "false", .required,
            "an unclean leader may lack acknowledged state"),
        .atMost(
            "max.compaction.lag.ms", 60 * TopicRule.minuteMillis, created: 45 * TopicRule.minuteMillis,
            "restores read less"),
        .atMost(
            "segment.ms", 30 * TopicRule.minuteMillis, created: 10 * TopicRule.minuteMillis,
            "the open segment is never compacted"),
        .atMost("segment.bytes", 67_108_864, created: 33_554_432, "the open segment is never compacted"),
        .created("min.cleanable.dirty.ratio", "0.1", "restores read less"),
    ]

    private static let outcomeRules: [TopicRule] = [
        .cleanupPolicy("delete"),
        .atLeast(
            "retention.ms", TopicRule.dayMillis, .advised, created: 7 * TopicRule.dayMillis,
            "time to read the outcomes"),
        .atLeast(
            "max.message.bytes", 65_536, .advised, created: 1_048_588,
            "an outcome with its key, its reason and its headers"),
    ]

    private static let deadLetterRules: [TopicRule] = [
        .cleanupPolicy("delete"),
        .atLeast(
            "retention.ms", 7 * TopicRule.dayMillis, .advised, created: 30 * TopicRule.dayMillis,
            "time to repair and replay"),
        .atLeast(
            "max.message.bytes", 1_048_588, .advised, created: 2_097_152,
            "the largest record that arrived, and its headers"),
    ]
}

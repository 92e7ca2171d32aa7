/// The topics a deployment needs: which of them to create, and what is wrong with those that exist. Decides; asks
/// nobody.
public struct TopicPlan: Sendable {
    /// A topic that the deployment needs.
    public struct Topic: Sendable, Hashable {
        /// Its name in this deployment.
        public var name: String
        /// What it is for; this decides its settings.
        public var role: TopicRole
        public init(_ name: String, _ role: TopicRole) {
            self.name = name
            self.role = role
        }
    }

    /// All topics of the deployment.
    public var topics: [Topic]
    /// For topics to be created when no co-partitioned one exists yet. An existing count is never changed.
    public var partitionCount: Int
    /// Copies of each partition, for topics to be created and expected of those that exist.
    public var replicationFactor: Int
    /// Copies that must have a record before it counts as written.
    public var inSyncReplicasMin: Int
    /// Somebody chose it. Otherwise it is only advised.
    private let isInSyncMinGiven: Bool
    /// Topics to be created get only what a promise rests on; the cluster's defaults decide the rest.
    public var isRequiredOnly = false
    /// Settings that topics to be created are not given, by Kafka's names.
    public var leftOut: Set<String> = []

    /// - Parameter inSyncReplicasMin: `nil`: one less than `replicationFactor`, so that one broker may be away, but at
    ///   least 1.
    public init(topics: [Topic], partitionCount: Int = 64, replicationFactor: Int = 3, inSyncReplicasMin: Int? = nil) {
        self.topics = topics
        self.partitionCount = partitionCount
        self.replicationFactor = replicationFactor
        self.inSyncReplicasMin = inSyncReplicasMin ?? max(1, replicationFactor - 1)
        self.isInSyncMinGiven = inSyncReplicasMin != nil
    }

    /// The number of partitions that counts: that of `state` and `routed` (one of them may have been given more), or the first input topic's while
    /// neither exists. Input topics that have more were given them later. The worker goes by what is written in `state`, which nobody reads here.
    public func coPartitionCount(existing: [TopicDescription]) -> Int? {
        let counts = Dictionary(existing.map { ($0.name, $0.partitionCount) }, uniquingKeysWith: { first, _ in first })
        let kept = self.topics.filter { $0.role == .state || $0.role == .routed }.compactMap { counts[$0.name] }
        return kept.min() ?? self.topics.filter { $0.role == .events }.compactMap { counts[$0.name] }.first
    }

    /// What is missing, with every setting it needs, except for those that are to be left out. All get the count of the co-partitioned topics that exist, though
    /// outcomes and dead letters need not.
    public func missing(existing: [TopicDescription]) -> [NewTopic] {
        let names = Set(existing.map(\.name))
        let partitionCount = self.coPartitionCount(existing: existing) ?? self.partitionCount
        return self.topics.filter { !names.contains($0.name) }.map { topic in
            var configuration = Dictionary(
                topic.role.rules.filter { !$0.isOptional && (!self.isRequiredOnly || $0.weight == .required) }
                    .map { ($0.name, $0.createdValue) },
                uniquingKeysWith: { first, _ in first })
            if !self.isRequiredOnly || self.isInSyncMinGiven {
                configuration["min.insync.replicas"] = String(self.inSyncReplicasMin)
            }
            configuration = configuration.filter { !self.leftOut.contains($0.key) }
            return NewTopic(
                name: topic.name, partitionCount: partitionCount,
                replicationFactor: self.replicationFactor, configuration: configuration)
        }
    }

    /// Settings that a promise rests on, by Kafka's names; of some topics, perhaps not of all.
    public static let requiredSettings = Self.settings { $0.weight == .required }
    /// Everything that topics may be created with, by Kafka's names.
    public static let createdSettings = Self.settings { !$0.isOptional }.union(["min.insync.replicas"])

    private static func settings(_ isWanted: (TopicRule) -> Bool) -> Set<String> {
        Set(TopicRole.allCases.flatMap(\.rules).filter(isWanted).map(\.name))
    }

    /// Looks at every topic of the plan.
    /// - Parameter configurations: settings by topic; `nil`: the cluster does not tell, and the findings say so.
    public func check(existing: [TopicDescription], configurations: [String: [String: String]]?) -> [TopicFinding] {
        let described = Dictionary(existing.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        let coPartitionCount = self.coPartitionCount(existing: existing)
        return self.topics.flatMap { topic -> [TopicFinding] in
            guard let found = described[topic.name] else {
                return [
                    TopicFinding(
                        topic: topic.name, setting: "exists", value: "no", expected: "yes",
                        reason: "'mailboat topics create' makes it", verdict: .wrong)
                ]
            }
            var findings = [
                self.partitions(topic, found, coPartitionCount),
                self.replication(topic, found, isKnown: configurations != nil),
            ]
            let values = configurations.map { $0[topic.name] ?? [:] }
            findings.append(self.inSyncReplicas(topic, values))
            findings += topic.role.rules.filter { !$0.isOptional || Self.applies($0, values) }.map {
                Self.finding(topic, $0, values)
            }
            return findings
        }
    }

    /// Whether a setting that not every Kafka has is there, and means something. A topic that sets the time of its records itself has no bounds.
    private static func applies(_ rule: TopicRule, _ values: [String: String]?) -> Bool {
        values?[rule.name] != nil && values?["message.timestamp.type"] != "LogAppendTime"
    }

    private func partitions(_ topic: Topic, _ found: TopicDescription, _ coPartitionCount: Int?) -> TopicFinding {
        let wanted = topic.role.isCoPartitioned ? coPartitionCount : nil
        let more = found.partitionCount - (wanted ?? found.partitionCount)
        let reason =
            wanted == nil
            ? ""
            : more <= 0
                ? "events, routed and state have the same count"
                : topic.role == .events
                    ? "records of the others are forwarded, or wait with placement: trust, until publishers stop, workers drain, and all begin on new topics"
                    : "the others are not used"
        return TopicFinding(
            topic: topic.name, setting: "partitions", value: String(found.partitionCount),
            expected: wanted.map { String($0) } ?? "any", reason: reason,
            verdict: more == 0 ? .right : more > 0 ? .poor : .wrong)
    }

    private func replication(_ topic: Topic, _ found: TopicDescription, isKnown: Bool) -> TopicFinding {
        TopicFinding(
            topic: topic.name, setting: "replication", value: String(found.replicationFactor),
            expected: "at least \(self.replicationFactor)",
            reason: "a broker that is lost takes nothing with it",
            verdict: !isKnown ? .unknown : found.replicationFactor >= self.replicationFactor ? .right : .poor)
    }

    private func inSyncReplicas(_ topic: Topic, _ values: [String: String]?) -> TopicFinding {
        let rule = TopicRule.atLeast(
            "min.insync.replicas", Int64(self.inSyncReplicasMin), .advised, created: Int64(self.inSyncReplicasMin),
            "an acknowledged record is on this many brokers")
        return Self.finding(topic, rule, values)
    }

    private static func finding(_ topic: Topic, _ rule: TopicRule, _ values: [String: String]?) -> TopicFinding {
        let value = values?[rule.name]
        let verdict: TopicFinding.Verdict =
            switch value {
            case nil: .unknown
            case let value? where rule.accepts(value): .right
            case _?: rule.weight == .required ? .wrong : .poor
            }
        return TopicFinding(
            topic: topic.name, setting: rule.name, value: value ?? "?", expected: rule.expected, reason: rule.reason,
            verdict: verdict)
    }
}

/// One line of a topic check.
public struct TopicFinding: Sendable, Hashable {
    /// How good or bad what was found is. The raw value is the word that is printed.
    public enum Verdict: String, Sendable, Hashable, CaseIterable {
        /// As it should be.
        case right = "ok"
        /// The cluster did not say.
        case unknown = "not checked"
        /// Works, but worse.
        case poor = "warning"
        /// A promise does not hold.
        case wrong = "error"
    }

    /// The topic's name.
    public var topic: String
    /// Kafka's name of the setting, or `exists`, `partitions` or `replication`.
    public var setting: String
    /// What was found; `?`: the cluster did not say.
    public var value: String
    /// What is acceptable, in words.
    public var expected: String
    /// Why it is expected; may be empty.
    public var reason: String
    /// How good or bad what was found is.
    public var verdict: Verdict
}

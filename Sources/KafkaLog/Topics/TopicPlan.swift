/// The topics that a deployment needs. The plan says which of them to create, and what is wrong with those that exist.
/// It only decides; the caller asks the cluster.
public struct TopicPlan: Sendable {
    /// A topic that the deployment needs.
    public struct Topic: Sendable, Hashable {
        /// The topic's name in this deployment.
        public var name: String
        /// The topic's purpose, which decides its settings.
        public var role: TopicRole
        public init(_ name: String, _ role: TopicRole) {
            self.name = name
            self.role = role
        }
    }

    /// All topics of the deployment.
    public var topics: [Topic]
    /// Number of partitions of new topics while no co-partitioned topic exists yet. The number of an existing topic is
    /// never changed.
    public var partitionCount: Int
    /// Number of copies of each partition that new topics get, and that existing topics should have at least.
    public var replicationFactor: Int
    /// Number of copies that must have a record before Kafka acknowledges the record.
    public var inSyncReplicasMin: Int
    /// Whether the caller chose `inSyncReplicasMin`. If not, new topics do not get the setting when `isRequiredOnly` is
    /// set.
    private let isInSyncMinGiven: Bool
    /// Whether new topics get only the settings that a promise depends on. The cluster's defaults decide the others.
    public var isRequiredOnly = false
    /// Kafka's names of settings that new topics do not get.
    public var leftOut: Set<String> = []

    /// - Parameter inSyncReplicasMin: `nil`: one less than `replicationFactor`, but at least 1, so that one broker may
    ///   be down.
    public init(topics: [Topic], partitionCount: Int = 64, replicationFactor: Int = 3, inSyncReplicasMin: Int? = nil) {
        self.topics = topics
        self.partitionCount = partitionCount
        self.replicationFactor = replicationFactor
        self.inSyncReplicasMin = inSyncReplicasMin ?? max(1, replicationFactor - 1)
        self.isInSyncMinGiven = inSyncReplicasMin != nil
    }

    /// Number of partitions that all co-partitioned topics should have; `nil` while none exists. Of `state` and
    /// `routed`, the one with fewer partitions decides, because the other may have been given more later. While neither
    /// exists, the first input topic decides. A worker uses the number that is written in a record of `state`, which
    /// this method does not read.
    public func coPartitionCount(existing: [TopicDescription]) -> Int? {
        let counts = Dictionary(existing.map { ($0.name, $0.partitionCount) }, uniquingKeysWith: { first, _ in first })
        let kept = self.topics.filter { $0.role == .state || $0.role == .routed }.compactMap { counts[$0.name] }
        return kept.min() ?? self.topics.filter { $0.role == .events }.compactMap { counts[$0.name] }.first
    }

    /// The missing topics, with every setting they need except those in `leftOut`. All of them get the number of
    /// partitions of the existing co-partitioned topics. Topics for outcomes and dead letters do not depend on that
    /// number, but get it, too.
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

    /// Kafka's names of the settings that a promise depends on, in at least one of the topics.
    public static let requiredSettings = Self.settings { $0.weight == .required }
    /// Kafka's names of all settings that new topics may get.
    public static let createdSettings = Self.settings { !$0.isOptional }.union(["min.insync.replicas"])

    private static func settings(_ isWanted: (TopicRule) -> Bool) -> Set<String> {
        Set(TopicRole.allCases.flatMap(\.rules).filter(isWanted).map(\.name))
    }

    /// Checks every topic of the plan.
    /// - Parameter configurations: settings by topic; `nil`: the cluster does not return them, and the findings say so.
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

    /// Whether an optional setting exists on this cluster and has an effect. If the broker sets the time of records
    /// (`LogAppendTime`), bounds on that time have no effect.
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
                    ? "records of the other partitions are forwarded, or wait with placement: trust, until publishers stop, workers drain, and all begin with new topics"
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
    /// How good or bad the finding is. The raw value is the word that is printed.
    public enum Verdict: String, Sendable, Hashable, CaseIterable {
        /// The setting is as it should be.
        case right = "ok"
        /// The cluster did not return the setting.
        case unknown = "not checked"
        /// The topic works with the setting, but worse.
        case poor = "warning"
        /// A promise does not hold with the setting.
        case wrong = "error"
    }

    /// The topic's name.
    public var topic: String
    /// Kafka's name of the setting, or `exists`, `partitions` or `replication`.
    public var setting: String
    /// The value that was found; `?`: the cluster did not return it.
    public var value: String
    /// What is acceptable, in words.
    public var expected: String
    /// Why the value is expected; may be empty.
    public var reason: String
    /// How good or bad the finding is.
    public var verdict: Verdict
}

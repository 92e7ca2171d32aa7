/// Finds out which settings of a topic a cluster refuses. A refusal names at most one setting, so the search asks about
/// the topic again and again, each time with some of its settings. This type only decides the questions; the caller
/// asks the cluster.
public struct SettingSearch: Sendable {
    /// What the caller does next.
    public enum Step: Sendable, Hashable {
        /// Ask whether the cluster would create this topic.
        case ask(NewTopic)
        /// The names of the refused settings, in the order in which they were tried. If empty, the refusal is not about
        /// single settings.
        case found([String])
    }

    private enum Phase {
        /// `bare` asks about the topic without settings. If the cluster refuses that, `firstOnly` asks with only the
        /// settings that `init` got as `first`. Other settings are then added to the accepted question, one by one.
        case bare, firstOnly
        /// Asks with the accepted settings and one more. Each setting is tried once.
        case growing(index: Int)
        /// Asks with all settings but one. Each setting is left out once. This phase follows if neither `bare` nor
        /// `firstOnly` was accepted: a policy may demand a setting that they lacked.
        case lacking(index: Int)
        case over
    }

    private let topic: NewTopic
    /// Names of the settings: the `first` ones, then the others.
    private let names: [String]
    private let firstCount: Int
    private var phase = Phase.bare
    private var accepted: Set<String> = []
    private var refused: [String] = []

    /// - Parameters:
    ///   - topic: a topic that the cluster has refused with all its settings.
    ///   - first: settings that are tried first. If two settings contradict each other, the one that is tried later
    ///     counts as refused.
    public init(_ topic: NewTopic, first: Set<String>) {
        self.topic = topic
        let names = topic.configuration.keys.sorted()
        let leading = names.filter { first.contains($0) }
        self.names = leading + names.filter { !first.contains($0) }
        self.firstCount = leading.count
        if names.isEmpty { self.phase = .over }
    }

    /// What the caller does now.
    public var step: Step {
        switch self.phase {
        case .bare: .ask(self.with([]))
        case .firstOnly: .ask(self.with(Set(self.names.prefix(self.firstCount))))
        case .growing(let index): .ask(self.with(self.accepted.union([self.names[index]])))
        case .lacking(let index): .ask(self.with(Set(self.names).subtracting([self.names[index]])))
        case .over: .found(self.refused)
        }
    }

    /// Takes the cluster's answer to the last `ask`.
    public mutating func answered(isAccepted: Bool) {
        switch self.phase {
        case .bare:
            // If all settings are `first` settings, `firstOnly` would repeat the question that was refused before the
            // search.
            self.phase =
                isAccepted
                ? .growing(index: 0)
                : self.firstCount > 0 && self.firstCount < self.names.count ? .firstOnly : .lacking(index: 0)
        case .firstOnly:
            guard isAccepted else { return self.phase = .lacking(index: 0) }
            self.accepted = Set(self.names.prefix(self.firstCount))
            self.phase = .growing(index: self.firstCount)
        case .growing(let index):
            if isAccepted { self.accepted.insert(self.names[index]) } else { self.refused.append(self.names[index]) }
            self.phase = index + 1 < self.names.count ? .growing(index: index + 1) : .over
        case .lacking(let index):
            if isAccepted { self.refused = [self.names[index]] }
            self.phase = isAccepted || index + 1 == self.names.count ? .over : .lacking(index: index + 1)
        case .over: break
        }
    }

    /// Ends the search because the cluster did not answer, or answered with an error that is not about settings. `step`
    /// then returns the settings found so far.
    public mutating func gaveUp() { self.phase = .over }

    private func with(_ names: Set<String>) -> NewTopic {
        var topic = self.topic
        topic.configuration = topic.configuration.filter { names.contains($0.key) }
        return topic
    }
}

extension KafkaError {
    /// Whether the cluster may accept the topic with other settings.
    public var isOfTopicSettings: Bool {
        // Some brokers other than Apache Kafka call this an invalid request, code 42.
        [.invalidConfiguration, .policyViolation, Code(rawValue: 42)].contains(self.code)
    }
}

extension KafkaAdmin {
    /// Finds the settings that make the cluster refuse these topics, by asking about each topic with some of its
    /// settings. Creates nothing. Blocks: it calls `createTopics` some ten times, each time with `limit`.
    /// - Parameters:
    ///   - topics: topics that the cluster has refused with all their settings.
    ///   - first: see `SettingSearch`.
    /// - Returns: the refused settings by topic. If a topic has none, it is refused for another reason.
    public func refusedSettings(
        of topics: [NewTopic], first: Set<String>, within limit: Duration
    ) throws(KafkaError) -> [String: [String]] {
        var searches = Dictionary(
            topics.map { ($0.name, SettingSearch($0, first: first)) }, uniquingKeysWith: { first, _ in first })
        while true {
            let questions = searches.values.compactMap { search in
                if case .ask(let topic) = search.step { topic } else { nil }
            }
            guard !questions.isEmpty else { break }
            let answers = try self.createTopics(questions, within: limit, isOnlyAsked: true)
            for question in questions {
                guard let answer = answers.first(where: { $0.name == question.name }),
                    answer.error?.isOfTopicSettings ?? true
                else {
                    searches[question.name]?.gaveUp()
                    continue
                }
                searches[question.name]?.answered(isAccepted: answer.error == nil)
            }
        }
        return searches.mapValues { search in
            if case .found(let names) = search.step { names } else { [] }
        }
    }
}

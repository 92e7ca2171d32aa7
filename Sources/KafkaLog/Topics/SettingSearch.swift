/// Finds out which settings of a topic a cluster refuses. Its own answer names one at most, so the cluster is asked about the same topic with some of
/// them. Decides; asks nobody.
public struct SettingSearch: Sendable {
    /// What is to be done next.
    public enum Step: Sendable, Hashable {
        /// Ask whether this would be created.
        case ask(NewTopic)
        /// These settings are refused, in order; none: it is not about single settings.
        case found([String])
    }

    private enum Phase {
        /// Without any setting, then with those that come first alone: from one of the two it grows.
        case bare, firstOnly
        /// Each setting is added to those that were accepted.
        case growing(index: Int)
        /// Nothing small is accepted: a policy may demand what the topic lacks then. One after the other is left out.
        case lacking(index: Int)
        case over
    }

    private let topic: NewTopic
    /// Those that come first, then the others.
    private let names: [String]
    private let firstCount: Int
    private var phase = Phase.bare
    private var accepted: Set<String> = []
    private var refused: [String] = []

    /// - Parameters:
    ///   - topic: refused as it is.
    ///   - first: settings that are asked about first. Where two do not go together, the second counts as refused.
    public init(_ topic: NewTopic, first: Set<String>) {
        self.topic = topic
        let names = topic.configuration.keys.sorted()
        let leading = names.filter { first.contains($0) }
        self.names = leading + names.filter { !first.contains($0) }
        self.firstCount = leading.count
        if names.isEmpty { self.phase = .over }
    }

    /// What to do now.
    public var step: Step {
        switch self.phase {
        case .bare: .ask(self.with([]))
        case .firstOnly: .ask(self.with(Set(self.names.prefix(self.firstCount))))
        case .growing(let index): .ask(self.with(self.accepted.union([self.names[index]])))
        case .lacking(let index): .ask(self.with(Set(self.names).subtracting([self.names[index]])))
        case .over: .found(self.refused)
        }
    }

    /// What the cluster says of the last `ask`.
    public mutating func answered(isAccepted: Bool) {
        switch self.phase {
        case .bare:
            // All of them together are what was refused to begin with.
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

    /// The cluster did not answer whether it would: what was found by now stands.
    public mutating func gaveUp() { self.phase = .over }

    private func with(_ names: Set<String>) -> NewTopic {
        var topic = self.topic
        topic.configuration = topic.configuration.filter { names.contains($0.key) }
        return topic
    }
}

extension KafkaError {
    /// The cluster may take the topic with other settings.
    public var isOfTopicSettings: Bool {
        // Some brokers that speak Kafka's protocol call it an invalid request.
        [.invalidConfiguration, .policyViolation, Code(rawValue: 42)].contains(self.code)
    }
}

extension KafkaAdmin {
    /// Which settings make the cluster refuse these topics: it is asked about each with some of them. Creates nothing. Blocks, for each
    /// question at most about `limit`; there are some ten.
    /// - Parameters:
    ///   - topics: each refused as it is.
    ///   - first: see `SettingSearch`.
    /// - Returns: by topic; one without any is refused for something else.
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

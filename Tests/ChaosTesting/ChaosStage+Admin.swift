import ChildProcesses
import CommandSupport
import KafkaLog
import PushWorker

/// Changes to topics as an operator may make them, also by mistake.
extension ChaosStage {
    private static let adminDurationMax = Duration.seconds(30)

    /// Name of the topic in this run.
    func name(of role: TopicRole) -> String {
        switch role {
        case .events: self.topics.events[0]
        case .routed: self.topics.routed
        case .state: self.topics.state
        case .outcomes: self.topics.outcomes
        case .deadLetters: self.topics.deadLetters
        }
    }

    /// Topics of the run, with the settings that they are created with.
    var plannedTopics: [NewTopic] {
        var topics = TopicPlan(
            topics: self.topics.planned, partitionCount: Int(Self.partitionCount), replicationFactor: 1
        ).missing(existing: [])
        // Kafka deletes by the time of records. A publisher's wrong clock would have unread events deleted.
        for index in topics.indices where self.topics.events.contains(topics[index].name) {
            topics[index].configuration["retention.ms"] = "-1"
        }
        return topics
    }

    /// Changes one setting of topics, and restores all other settings to those of their creation.
    /// - Parameter setting: name of the setting, or `nil` to change none.
    func configure(_ roles: [TopicRole], setting: String?, _ value: String) async throws {
        let names = Set(roles.map { self.name(of: $0) })
        var topics = self.plannedTopics.filter { names.contains($0.name) }
        if let setting { for index in topics.indices { topics[index].configuration[setting] = value } }
        let changed = topics
        try await self.administer("settings") { admin in
            try admin.configureTopics(changed, within: Self.adminDurationMax)
        }
    }

    /// Gives `events` one or two partitions more, and in some cases `routed` or `state` one more.
    func grow(_ choice: Int) async throws {
        var added = [self.topics.events[0]: Int32(1 + choice % 2)]
        if choice / 2 % 2 == 0 { added[self.topics.routed] = 1 }
        if choice / 4 % 2 == 0 { added[self.topics.state] = 1 }
        let topics = added.map { NewTopic(name: $0.key, partitionCount: Int(Self.partitionCount + $0.value)) }
        try await self.administer("partitions") { admin in
            let answers = try admin.addPartitions(topics, within: Self.adminDurationMax)
            if answers.allSatisfy({ $0.error == nil }) {
                try admin.waitUntilShown(topics, within: Self.adminDurationMax)
            }
            return answers
        }
        for topic in topics { self.partitionCounts[topic.name] = Int32(topic.partitionCount) }
    }

    /// Deletes a topic, and returns when the cluster has forgotten it.
    func delete(_ role: TopicRole) async throws {
        let name = self.name(of: role)
        try await self.administer("delete") { admin in
            let answers = try admin.deleteTopics([name], within: Self.adminDurationMax)
            try admin.waitUntilGone([name], within: Self.adminDurationMax)
            return answers
        }
    }

    /// Creates a deleted topic as it was at first.
    func create(_ role: TopicRole) async throws {
        let name = self.name(of: role)
        let topics = self.plannedTopics.filter { $0.name == name }
        try await self.administer("create") { admin in
            let answers = try admin.createTopics(topics, within: Self.adminDurationMax)
            try admin.waitUntilShown(topics, within: Self.adminDurationMax)
            return answers
        }
        self.partitionCounts[name] = nil
    }

    /// Makes the broker of the embedded Kafka that leads a topic refuse the next `count` produce requests. Does nothing
    /// for a topic without its own leading broker.
    func fail(_ role: TopicRole, code: Int, count: Int) async throws {
        guard let broker = Self.embeddedLeaders[role] else { return }
        try await self.steerKafka("/errors?api=Produce&code=\(code)&count=\(count)&broker=\(broker)")
    }

    /// Topics of the embedded Kafka that have their own leading broker, with the broker's number. Broker 1 leads all
    /// other topics.
    static let embeddedLeaders: [TopicRole: Int] = [.deadLetters: 2, .state: 3]
    static let embeddedBrokerCount = 3

    /// Spreads the topics of the embedded Kafka over its brokers, so that requests for one topic can fail alone.
    func spreadLeaders() async throws {
        for role in TopicRole.allCases {
            try await self.steerKafka("/leader?topic=\(self.name(of: role))&broker=\(Self.embeddedLeaders[role] ?? 1)")
        }
    }

    private func steerKafka(_ path: String) async throws {
        guard let answer = try await LocalHTTP.post(path, port: self.kafkaControlPort), answer.status == 200 else {
            throw CommandFailure("the embedded Kafka refused POST \(path)")
        }
    }

    private func administer(
        _ what: String, _ body: @escaping @Sendable (KafkaAdmin) throws -> [TopicAnswer]
    ) async throws {
        let settings = self.kafkaSettings
        let failure = await NamedThread.run("chaos-admin") { () -> String? in
            do {
                for answer in try body(try KafkaAdmin(settings, log: { _ in })) {
                    if let error = answer.error { return "\(answer.name): \(error)" }
                }
                return nil
            } catch { return "\(error)" }
        }
        if let failure { throw CommandFailure("the topics of the run cannot be changed (\(what)): \(failure)") }
    }
}

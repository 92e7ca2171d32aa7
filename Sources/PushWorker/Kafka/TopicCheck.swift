public import KafkaLog
import PushEngine
import Redaction

/// Checks whether the topics exist and have equal numbers of partitions (contract: Topics). `judge` is pure; `ask` asks
/// Kafka.
enum TopicCheck {
    enum Verdict: Equatable {
        /// All co-partitioned topics have at least this many partitions. `remarks` has one line for each topic with
        /// more.
        case agreed(partitionCount: Int32, remarks: [String] = [])
        /// The faults, one line each, for an operator.
        case faults([String])
    }

    /// - Parameters:
    ///   - hidden: topics that this client may not see, though they may exist.
    ///   - named: number of partitions that the markers of `state` contain; `nil`: no marker contains one.
    ///   - forwards: whether records of partitions that were added after `state` was written are forwarded.
    static func judge(
        _ found: [TopicDescription], hidden: Set<String> = [], topics: WorkerConfiguration.Topics, named: Int32? = nil,
        forwards: Bool = true
    ) -> Verdict {
        let faults = topics.all.filter { name in !found.contains { $0.name == name } }.map { name in
            hidden.contains(name)
                ? "this client's user may not see the topic \(name): grant it \(topics.rights(on: name).map(\.rawValue).joined(separator: " and ")) on it"
                : "the topic \(ShownText.name(name)) does not exist; 'mailboat topics create' creates what is missing"
        }
        guard faults.isEmpty else { return .faults(faults) }
        func count(_ name: String) -> CoPartitionCount.TopicCount {
            .init(name: name, count: found.first { $0.name == name }?.partitionCount ?? 0)
        }
        switch CoPartitionCount.judge(
            events: topics.events.map(count), routed: count(topics.routed), state: count(topics.state), named: named,
            forwards: forwards)
        {
        case .agreed(let number, let remarks): return .agreed(partitionCount: number, remarks: remarks)
        case .fault(let text): return .faults([text])
        }
    }

    /// Finds the number of partitions that the markers of `state` contain; `nil` when no marker contains one. Asks
    /// again while Kafka does not answer.
    private static func namedCount(
        _ configuration: WorkerConfiguration, _ found: [TopicDescription], log: KafkaLogHandler?,
        whenUnreachable: (KafkaError) -> Void
    ) async throws -> Int32? {
        let name = configuration.topics.state
        guard let count = found.first(where: { $0.name == name })?.partitionCount, count > 0 else { return nil }
        let search = MarkerSearch(
            reader: try KafkaLogReader(configuration.kafka.consumerSettings, log: log), stateTopic: name,
            partitionCount: Int32(clamping: count), limit: .seconds(10))
        while true {
            try Task.checkCancellation()
            let answer = await NamedThread.run("kafka-topics") { () -> Result<Int32?, KafkaError> in
                do throws(KafkaError) { return .success(try search.run()) } catch { return .failure(error) }
            }
            switch answer {
            case .success(let count): return count
            case .failure(let error):
                guard !error.isFatal else { throw error }
                whenUnreachable(error)
                try await Task.sleep(for: .seconds(1))
            }
        }
    }

    /// The missing topics that exist but are hidden from this client.
    private static func hidden(
        _ names: [String], _ found: [TopicDescription], admin: KafkaAdmin
    ) async -> Set<String> {
        let missing = names.filter { name in !found.contains { $0.name == name } }
        guard !missing.isEmpty else { return [] }
        return await NamedThread.run("kafka-topics") {
            // If Kafka does not answer about a topic, the topic counts as missing.
            Set(missing.filter { ((try? admin.refusal(toShow: $0, within: .seconds(5))) ?? nil) != nil })
        }
    }

    /// Wrong settings of topics on which a promise depends, one line for each. 'mailboat topics check' also reports
    /// settings that are only advised, and numbers of replicas.
    static func settingFaults(
        _ found: [TopicDescription], configurations: [String: [String: String]], topics: WorkerConfiguration.Topics
    ) -> [String] {
        TopicPlan(topics: topics.planned).check(existing: found, configurations: configurations)
            // `CoPartitionCount` judges the numbers of partitions. The plan does not know for how many partitions
            // `state` was written.
            .filter { $0.verdict == .wrong && $0.setting != "partitions" }
            .map { "\($0.setting) of the topic \($0.topic) is \($0.value), expected \($0.expected): \($0.reason)" }
    }

    /// How long to wait for a topic that does not exist, in milliseconds. A script may create topics and start workers
    /// at once. Kafka acknowledges a new topic a moment before all brokers know it.
    static let absenceMillisMax: Int64 = 10_000

    /// Asks the cluster. Asks again while the cluster cannot be reached or does not show all topics yet.
    /// - Parameters:
    ///   - whenUnreachable: called each time the cluster could not be reached.
    ///   - whenMissing: called each time topics were missing, with their names.
    ///   - whenSettingsUnknown: called when this client cannot read the topics' settings. They are not checked then.
    /// - Throws: `CancellationError`, or `KafkaError` when asking can never succeed.
    static func ask(
        _ configuration: WorkerConfiguration, log: KafkaLogHandler?, whenUnreachable: (KafkaError) -> Void,
        whenMissing: ([String]) -> Void, whenSettingsUnknown: (KafkaError) -> Void
    ) async throws -> Verdict {
        let admin = try KafkaAdmin(configuration.kafka.producerSettings, log: log)
        let names = configuration.topics.all
        var wait = TopicWait(for: names, limitMillis: Self.absenceMillisMax)
        var firstLookAt: ContinuousClock.Instant?
        while true {
            try Task.checkCancellation()
            let answer = await NamedThread.run("kafka-topics") { () -> Result<[TopicDescription], KafkaError> in
                do throws(KafkaError) {
                    return .success(try admin.describeTopics(names, within: .seconds(5)))
                } catch {
                    return .failure(error)
                }
            }
            switch answer {
            case .success(let found):
                let lookAt = firstLookAt ?? .now
                firstLookAt = lookAt
                let elapsedMillis = Int64((ContinuousClock.now - lookAt) / .milliseconds(1))
                if case .lookAgain(let afterMillis, let missing) = wait.looked(found, elapsedMillis: elapsedMillis) {
                    whenMissing(missing)
                    try await Task.sleep(for: .milliseconds(afterMillis))
                    continue
                }
                let isComplete = Set(names).isSubset(of: found.map(\.name))
                let verdict = Self.judge(
                    found, hidden: await Self.hidden(names, found, admin: admin), topics: configuration.topics,
                    named: isComplete
                        ? try await Self.namedCount(configuration, found, log: log, whenUnreachable: whenUnreachable)
                        : nil,
                    forwards: configuration.engine.placement == .check)
                guard case .agreed = verdict else { return verdict }
                let settings = await NamedThread.run("kafka-topics") {
                    () -> Result<[String: [String: String]], KafkaError> in
                    do throws(KafkaError) {
                        return .success(try admin.topicConfigurations(names, within: .seconds(5)))
                    } catch {
                        return .failure(error)
                    }
                }
                switch settings {
                case .success(let configurations):
                    let faults = Self.settingFaults(found, configurations: configurations, topics: configuration.topics)
                    return faults.isEmpty ? verdict : .faults(faults)
                case .failure(let error)
                where error.code == .unknownTopicOrPartition && elapsedMillis < Self.absenceMillisMax:
                    // The answer came from a broker that does not know the topic yet.
                    try await Task.sleep(for: .milliseconds(200))
                case .failure(let error):
                    whenSettingsUnknown(error)
                    return verdict
                }
            case .failure(let error) where error.isRetriable || error.isRefusal || error.code == .allBrokersDown:
                // An operator may correct a password, a certificate or a right while the worker waits, so the worker
                // asks again.
                whenUnreachable(error)
                try await Task.sleep(for: .seconds(1))
            case .failure(let error): throw error
            }
        }
    }
}

extension WorkerConfiguration.Topics {
    /// The rights that a worker needs for a topic.
    func rights(on name: String) -> [KafkaRight] {
        if name == self.outcomes || name == self.deadLetters { return [.write] }
        return self.events.contains(name) ? [.read] : [.read, .write]
    }

    /// All topics, each with its purpose.
    public var planned: [TopicPlan.Topic] {
        self.events.map { .init($0, .events) } + [
            .init(self.routed, .routed), .init(self.state, .state), .init(self.outcomes, .outcomes),
            .init(self.deadLetters, .deadLetters),
        ]
    }
}

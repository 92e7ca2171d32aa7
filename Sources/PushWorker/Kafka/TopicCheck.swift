import KafkaLog

/// Whether the topics are there, and agree (contract §1). The decision is pure; asking is not.
enum TopicCheck {
    enum Verdict: Equatable {
        /// Every partition number of the co-partitioned topics exists in each.
        case agreed(partitionCount: Int32)
        /// One line per fault, for an operator.
        case faults([String])
    }

    static func judge(_ found: [TopicDescription], topics: WorkerConfiguration.Topics) -> Verdict {
        var faults = topics.all.filter { name in !found.contains { $0.name == name } }.map {
            "the topic \($0) does not exist; 'mailboat topics create' creates what is missing"
        }
        let counts = topics.coPartitioned.compactMap { name in
            found.first { $0.name == name }.map { (name, $0.partitionCount) }
        }
        if Set(counts.map(\.1)).count > 1 {
            let list = counts.map { "\($0.0) has \($0.1)" }.joined(separator: ", ")
            faults.append(
                "partition counts differ: \(list); input, routed and state topics must have the same, and it cannot be changed once there are records"
            )
        }
        guard faults.isEmpty, let count = counts.first?.1, let number = Int32(exactly: count), number > 0 else {
            return .faults(faults.isEmpty ? ["the input topic has no partitions"] : faults)
        }
        return .agreed(partitionCount: number)
    }

    /// Asks the cluster, again and again while it cannot be reached.
    /// - Throws: `CancellationError`, or `KafkaError` when asking can never succeed.
    static func ask(
        _ configuration: WorkerConfiguration, log: KafkaLogHandler?, whenUnreachable: (KafkaError) -> Void
    ) async throws -> Verdict {
        let admin = try KafkaAdmin(configuration.kafka.producerSettings, log: log)
        while true {
            try Task.checkCancellation()
            let names = configuration.topics.all
            let answer = await NamedThread.run("kafka-topics") { () -> Result<[TopicDescription], KafkaError> in
                do throws(KafkaError) {
                    return .success(try admin.describeTopics(names, within: .seconds(5)))
                } catch {
                    return .failure(error)
                }
            }
            switch answer {
            case .success(let found): return Self.judge(found, topics: configuration.topics)
            case .failure(let error) where error.isRetriable || error.code == .allBrokersDown:
                whenUnreachable(error)
                try await Task.sleep(for: .seconds(1))
            case .failure(let error): throw error
            }
        }
    }
}

/// A topic as the cluster's metadata shows it.
public struct TopicDescription: Sendable, Hashable {
    /// The topic's name.
    public var name: String
    /// Number of partitions of the topic.
    public var partitionCount: Int
    /// Number of replicas of the topic's first partition.
    public var replicationFactor: Int

    public init(name: String, partitionCount: Int, replicationFactor: Int) {
        self.name = name
        self.partitionCount = partitionCount
        self.replicationFactor = replicationFactor
    }
}

/// A topic as a request describes it: to be created, or to get more partitions or other settings.
public struct NewTopic: Sendable, Hashable {
    /// The topic's name: 1 to 249 letters, digits, `.`, `_` and `-`.
    public var name: String
    /// Number of partitions that the topic gets, 1 or more.
    public var partitionCount: Int
    /// Number of replicas of each partition; -1: the broker's default.
    public var replicationFactor: Int
    /// Kafka's topic settings by name.
    public var configuration: [String: String]

    /// Creates a description. The broker's defaults decide what it leaves out.
    public init(name: String, partitionCount: Int, replicationFactor: Int = -1, configuration: [String: String] = [:]) {
        self.name = name
        self.partitionCount = partitionCount
        self.replicationFactor = replicationFactor
        self.configuration = configuration
    }
}

/// The broker's answer for one topic.
public struct TopicAnswer: Sendable, Hashable {
    /// The topic's name.
    public var name: String
    /// Why the operation failed; `nil` when it succeeded.
    public var error: KafkaError?

    public init(name: String, error: KafkaError?) {
        self.name = name
        self.error = error
    }
}

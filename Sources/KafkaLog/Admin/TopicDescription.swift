/// A topic as the cluster's metadata shows it.
public struct TopicDescription: Sendable, Hashable {
    public var name: String
    public var partitionCount: Int
    /// Replicas of its first partition.
    public var replicationFactor: Int

    public init(name: String, partitionCount: Int, replicationFactor: Int) {
        self.name = name
        self.partitionCount = partitionCount
        self.replicationFactor = replicationFactor
    }
}

/// A topic to be created.
public struct NewTopic: Sendable, Hashable {
    public var name: String
    public var partitionCount: Int
    /// -1: the broker's default.
    public var replicationFactor: Int
    /// Kafka's topic settings by name.
    public var configuration: [String: String]

    public init(name: String, partitionCount: Int, replicationFactor: Int = -1, configuration: [String: String] = [:]) {
        self.name = name
        self.partitionCount = partitionCount
        self.replicationFactor = replicationFactor
        self.configuration = configuration
    }
}

/// The broker's answer for one topic.
public struct TopicAnswer: Sendable, Hashable {
    public var name: String
    /// `nil`: done.
    public var error: KafkaError?

    public init(name: String, error: KafkaError?) {
        self.name = name
        self.error = error
    }
}

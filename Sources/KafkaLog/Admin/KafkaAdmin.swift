/// Asks and changes a cluster's topics. Every method blocks, at most about its limit.
public final class KafkaAdmin: Sendable {
    public init(_ settings: KafkaSettings, log: KafkaLogHandler? = nil) throws(KafkaError) { fatalError("not yet") }

    /// The cluster's identifier; `nil` when unknown within `limit`.
    public func clusterID(within limit: Duration) -> String? { fatalError("not yet") }

    /// The topics that exist among `names` (all, when `nil`). Never creates one.
    public func describeTopics(_ names: [String]?, within limit: Duration) throws(KafkaError) -> [TopicDescription] { fatalError("not yet") }

    /// Creates topics; answers for each of them. `unsupportedFeature` is thrown by a broker without administration (the embedded one).
    public func createTopics(_ topics: [NewTopic], within limit: Duration) throws(KafkaError) -> [TopicAnswer] { fatalError("not yet") }

    /// Each topic's configuration, name to value (defaults included; a sensitive value is absent).
    public func topicConfigurations(_ names: [String], within limit: Duration) throws(KafkaError) -> [String: [String: String]] { fatalError("not yet") }
}

/// A topic as the cluster's metadata shows it.
public struct TopicDescription: Sendable, Hashable {
    public var name: String
    public var partitionCount: Int
    /// Replicas of its first partition.
    public var replicationFactor: Int
}

/// A topic to be created.
public struct NewTopic: Sendable, Hashable {
    public var name: String
    public var partitionCount: Int
    /// -1: the broker's default.
    public var replicationFactor: Int
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
}

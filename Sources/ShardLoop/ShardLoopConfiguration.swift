public import PushEngine

/// What a shard's loop needs to know.
public struct ShardLoopConfiguration: Sendable {
    public var engine: EngineConfiguration
    /// The name of the `state` topic, for messages.
    public var stateTopic: String
    /// Ways to APNs; pushes name them by index.
    public var routeCount: UInt16
    /// How long a commit waits for others.
    public var commitIntervalMillis: Int64
    /// The longest a record waits for others on its way to Kafka.
    public var recordHoldMillis: Int64

    public init(
        engine: EngineConfiguration, stateTopic: String, routeCount: UInt16, commitIntervalMillis: Int64,
        recordHoldMillis: Int64
    ) {
        self.engine = engine
        self.stateTopic = stateTopic
        self.routeCount = routeCount
        self.commitIntervalMillis = commitIntervalMillis
        self.recordHoldMillis = recordHoldMillis
    }
}

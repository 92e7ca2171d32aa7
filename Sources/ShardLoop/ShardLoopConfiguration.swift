public import PushEngine

/// What a shard's loop needs to know.
public struct ShardLoopConfiguration: Sendable {
    /// What an operator may choose for the loop.
    public var settings: ShardLoopSettings
    /// What the engine is told.
    public var engine: EngineConfiguration
    /// The name of the `state` topic, for messages.
    public var stateTopic: String
    /// Ways to APNs; pushes name them by index.
    public var routeCount: UInt16

    public init(settings: ShardLoopSettings, engine: EngineConfiguration, stateTopic: String, routeCount: UInt16) {
        self.settings = settings
        self.engine = engine
        self.stateTopic = stateTopic
        self.routeCount = routeCount
    }
}

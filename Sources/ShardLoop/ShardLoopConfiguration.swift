public import PushEngine

/// The configuration of a shard's loop.
public struct ShardLoopConfiguration: Sendable {
    /// What an operator may choose for the loop.
    public var settings: ShardLoopSettings
    /// The configuration of the engine.
    public var engine: EngineConfiguration
    /// The name of the `state` topic, for messages.
    public var stateTopic: String
    /// Number of routes. A push names its route by index.
    public var routeCount: UInt16

    public init(settings: ShardLoopSettings, engine: EngineConfiguration, stateTopic: String, routeCount: UInt16) {
        self.settings = settings
        self.engine = engine
        self.stateTopic = stateTopic
        self.routeCount = routeCount
    }
}

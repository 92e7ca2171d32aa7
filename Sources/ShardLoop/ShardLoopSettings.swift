/// What an operator may choose about a shard's loop. The values here are the product's defaults.
public struct ShardLoopSettings: Equatable, Sendable {
    /// How long a commit waits for others, in milliseconds.
    public var commitIntervalMillis: Int64 = 250
    /// The longest time that a record waits for others on its way to Kafka, in milliseconds.
    public var recordHoldMillis: Int64 = 300

    /// The defaults.
    public init() {}
}

public import PushEngine

/// What a shard wrote to Kafka, and how it answered.
public struct OutboxCounters: Sendable, Equatable {
    /// Records that Kafka's client has taken.
    public var recordsProduced: UInt64 = 0
    /// Records that could not be written, whether the client or Kafka refused them. They are written again.
    public var deliveriesFailed: UInt64 = 0
    /// Records that wait to be written again.
    public var retriesWaiting = 0
    /// How often there was no room.
    public var queueFull: UInt64 = 0
    /// How often another Kafka client took the place of one that had ended.
    public var producersRenewed: UInt64 = 0
    /// Answers other than a success, by topic and kind.
    public var refusals = RefusalTable()
    /// Dead letters whose value was left out, as Kafka did not take them with it.
    public var deadLettersShrunk: UInt64 = 0
    /// Dead letters of bad records that Kafka did not take even so, and that were given up.
    public var deadLettersGivenUp: UInt64 = 0
    /// Outcomes that Kafka refused for good: counted, and not published.
    public var outcomesUnpublished: UInt64 = 0

    /// Nothing counted yet.
    public init() {}
}

/// Counts by topic and kind of answer.
public struct RefusalTable: Sendable, Equatable {
    private var counts = [UInt64](repeating: 0, count: 4 * ProduceError.allCases.count)

    /// Nothing counted yet.
    public init() {}

    private static func index(_ topic: EngineRecord.Topic, _ error: ProduceError) -> Int {
        Int(topic.rawValue) * ProduceError.allCases.count + Int(error.rawValue)
    }

    /// How many answers of this kind there were for records of this topic.
    public subscript(_ topic: EngineRecord.Topic, _ error: ProduceError) -> UInt64 {
        get { self.counts[Self.index(topic, error)] }
        set { self.counts[Self.index(topic, error)] = newValue }
    }

    /// Sums over shards.
    public mutating func add(_ other: RefusalTable) {
        for index in self.counts.indices { self.counts[index] &+= other.counts[index] }
    }
}

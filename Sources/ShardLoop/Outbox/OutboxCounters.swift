public import PushEngine

/// Counts what a shard wrote to Kafka, and Kafka's answers.
public struct OutboxCounters: Sendable, Equatable {
    /// Number of records that Kafka's client has taken.
    public var recordsProduced: UInt64 = 0
    /// Number of failed attempts to write a record, in Kafka's client or at Kafka.
    public var deliveriesFailed: UInt64 = 0
    /// Number of records that wait to be written again.
    public var retriesWaiting = 0
    /// Number of times that Kafka's client had no room for a record.
    public var queueFull: UInt64 = 0
    /// Number of times that another Kafka client replaced one that had ended.
    public var producersRenewed: UInt64 = 0
    /// Number of answers other than success, by topic and kind.
    public var refusals = RefusalTable()
    /// Number of dead letters whose value was left out, because Kafka refused them with their value.
    public var deadLettersShrunk: UInt64 = 0
    /// Number of dead letters of bad records that Kafka refused even without their value, and that were given up.
    public var deadLettersGivenUp: UInt64 = 0
    /// Number of outcomes that Kafka refused for good. They are counted and not published.
    public var outcomesUnpublished: UInt64 = 0

    /// Counters at zero.
    public init() {}
}

/// Numbers of answers other than success, by topic and kind.
public struct RefusalTable: Sendable, Equatable {
    private var counts = [UInt64](repeating: 0, count: 4 * ProduceError.allCases.count)

    /// A table of zeros.
    public init() {}

    private static func index(_ topic: EngineRecord.Topic, _ error: ProduceError) -> Int {
        Int(topic.rawValue) * ProduceError.allCases.count + Int(error.rawValue)
    }

    /// Number of answers of this kind for records of this topic.
    public subscript(_ topic: EngineRecord.Topic, _ error: ProduceError) -> UInt64 {
        get { self.counts[Self.index(topic, error)] }
        set { self.counts[Self.index(topic, error)] = newValue }
    }

    /// Adds another shard's counts.
    public mutating func add(_ other: RefusalTable) {
        for index in self.counts.indices { self.counts[index] &+= other.counts[index] }
    }
}

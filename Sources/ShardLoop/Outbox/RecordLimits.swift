public import PushEngine

/// How many bytes of key, value and headers a record may have, by topic, as far as known.
public struct RecordLimits: Sendable, Equatable {
    /// What Kafka adds to a record that is alone in its batch, at least: the batch's header and the record's own numbers.
    public static let overheadByteCount = 68

    private var byteCounts = [Int](repeating: .max, count: 4)
    /// The least of them.
    public private(set) var smallest = Int.max

    /// No limit is known.
    public init() {}

    /// - Parameter topic: the one that the limit is of.
    public subscript(_ topic: EngineRecord.Topic) -> Int {
        get { self.byteCounts[Int(topic.rawValue)] }
        set {
            self.byteCounts[Int(topic.rawValue)] = newValue
            self.smallest = self.byteCounts.min() ?? .max
        }
    }
}

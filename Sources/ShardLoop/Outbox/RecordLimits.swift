public import PushEngine

/// Maximum number of bytes of key, value and headers in a record, by topic. A limit that is not known is `.max`.
public struct RecordLimits: Sendable, Equatable {
    /// The fewest bytes that Kafka adds to a record that is alone in its batch. They are the batch's header and the
    /// record's own numbers.
    public static let overheadByteCount = 68

    private var byteCounts = [Int](repeating: .max, count: 4)
    /// The smallest limit.
    public private(set) var smallest = Int.max

    /// Limits before any limit is known.
    public init() {}

    /// - Parameter topic: the topic with the limit.
    public subscript(_ topic: EngineRecord.Topic) -> Int {
        get { self.byteCounts[Int(topic.rawValue)] }
        set {
            self.byteCounts[Int(topic.rawValue)] = newValue
            self.smallest = self.byteCounts.min() ?? .max
        }
    }
}

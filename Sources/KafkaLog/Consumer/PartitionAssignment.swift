import Synchronization

/// Partitions that the group gave to this consumer, which now wait for their start positions.
///
/// While the assignment is open, heartbeats go on, and the partitions already held keep their records, though fetching
/// pauses. Look up positions, then complete. Restoring may take its time *after* `complete`. A partition that is not
/// read meanwhile takes memory up to its limit of fetched bytes, and delays nothing else.
public final class PartitionAssignment: Sendable {
    /// Partition numbers, ascending. Each counts for the driver topic and every riding topic.
    public let partitions: [Int32]
    /// The driver topic, then the riding topics.
    public let topics: [String]
    /// One reader for each topic and partition: all partitions of the driver first, then those of each riding topic.
    public let readers: [PartitionReader]
    private let completion: Mutex<(@Sendable ([LogStart?]) -> Bool)?>
    private let later: @Sendable ([PartitionReader], [LogStart]) -> Void

    init(
        partitions: [Int32], topics: [String], readers: [PartitionReader],
        later: @escaping @Sendable ([PartitionReader], [LogStart]) -> Void,
        completion: @escaping @Sendable ([LogStart?]) -> Bool
    ) {
        self.later = later
        self.partitions = partitions
        self.topics = topics
        self.readers = readers
        self.completion = Mutex(completion)
    }

    /// The partitions of all topics, in the order of `readers`.
    public var topicPartitions: [TopicPartition] { self.readers.map(\.topicPartition) }

    /// The reader of one partition; `nil` when it is not part of this assignment.
    public func reader(topicIndex: Int, partition: Int32) -> PartitionReader? {
        self.readers.first { $0.topicIndex == topicIndex && $0.topicPartition.partition == partition }
    }

    /// Ends the rebalance and begins fetching. Call it once, from any thread; returns at once.
    ///
    /// - Parameter start: where each partition begins; `nil`: it does not begin yet, see `begin`.
    /// - Returns: `false` when the call was too late: the partitions were taken away meanwhile, or the consumer started
    ///   them itself.
    @discardableResult
    public func complete(_ start: (TopicPartition) -> LogStart?) -> Bool {
        guard let completion = self.completion.withLock({ $0.take() }) else { return false }
        return completion(self.readers.map { start($0.topicPartition) })
    }

    /// Begins fetching partitions that `complete` left out. Works from any thread; returns at once. Partitions that
    /// were taken away meanwhile or have begun already are ignored.
    ///
    /// - Parameter start: where each partition begins; `nil`: leave it as it is.
    public func begin(_ start: (TopicPartition) -> LogStart?) {
        let begun = self.readers.compactMap { reader in start(reader.topicPartition).map { (reader, $0) } }
        if !begun.isEmpty { self.later(begun.map(\.0), begun.map(\.1)) }
    }
}

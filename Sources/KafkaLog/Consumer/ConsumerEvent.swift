/// An event of a consumer. The consumer's handler gets the events on the control thread, in order.
public enum ConsumerEvent: Sendable {
    /// New partitions arrived. Nothing is fetched before `PartitionAssignment.complete`.
    case assigned(PartitionAssignment)
    /// Partitions must be given up. No other member gets them before `PartitionRevocation.complete`, unless they are
    /// lost already (`isLost`).
    case revoked(PartitionRevocation)
    /// The worker did not complete a rebalance step in time, so the consumer completed the step itself.
    case rebalanceOverdue(partitions: [Int32], isAssignment: Bool)
    /// Something failed. If the error is fatal (`isFatal`), close the consumer and make another.
    case failed(KafkaError)
    /// librdkafka's statistics as JSON, when `statistics.interval.ms` is set.
    case statistics(String)
}

/// The result of a commit.
public struct CommitResult: Sendable {
    /// The offsets that Kafka now holds.
    public var committed: [TopicPartitionOffset]
    /// The offsets that were not committed, each with the reason. For example, the partition belongs to another member
    /// now.
    public var refused: [Refusal]
    /// An offset that was not committed.
    public struct Refusal: Sendable {
        /// The offset that the caller wanted to commit.
        public var position: TopicPartitionOffset
        /// Why the offset was not committed. It may be an answer of Kafka, a time limit, or a consumer that is closed.
        public var error: KafkaError

        public init(position: TopicPartitionOffset, error: KafkaError) {
            self.position = position
            self.error = error
        }
    }
    /// Whether Kafka accepted every offset of the commit.
    public var isSuccess: Bool { self.refused.isEmpty }

    public init(committed: [TopicPartitionOffset], refused: [Refusal]) {
        self.committed = committed
        self.refused = refused
    }
}

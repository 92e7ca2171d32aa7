/// What happens to a consumer. Handed to its handler on the control thread, in order.
public enum ConsumerEvent: Sendable {
    /// New partitions. Nothing is fetched before `PartitionAssignment.complete`.
    case assigned(PartitionAssignment)
    /// Partitions to give up, or lost already (`isLost`). Nobody else gets them before `PartitionRevocation.complete`,
    /// unless they are lost.
    case revoked(PartitionRevocation)
    /// A rebalance step was not completed in time and was completed by the consumer itself.
    case rebalanceOverdue(partitions: [Int32], isAssignment: Bool)
    /// Something failed. `isFatal`: the consumer is finished, close it and make another one.
    case failed(KafkaError)
    /// librdkafka's statistics as JSON, when `statistics.interval.ms` is set.
    case statistics(String)
}

/// How a commit ended.
public struct CommitResult: Sendable {
    /// The offsets that Kafka now holds.
    public var committed: [TopicPartitionOffset]
    /// The offsets that it refused, each with the reason (for instance because the partition belongs to somebody else
    /// by now).
    public var refused: [Refusal]
    /// An offset that was not committed.
    public struct Refusal: Sendable {
        /// The offset that was to be committed.
        public var position: TopicPartitionOffset
        /// Why it was refused.
        public var error: KafkaError

        public init(position: TopicPartitionOffset, error: KafkaError) {
            self.position = position
            self.error = error
        }
    }
    /// Whether Kafka holds every offset that it was given.
    public var isSuccess: Bool { self.refused.isEmpty }

    public init(committed: [TopicPartitionOffset], refused: [Refusal]) {
        self.committed = committed
        self.refused = refused
    }
}

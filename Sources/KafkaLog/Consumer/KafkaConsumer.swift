/// A member of a consumer group, reading each partition through a queue of its own.
///
/// One control thread (`kafka-control`) polls the main queue for rebalances, commit answers and errors, and calls the handler there;
/// heartbeats are librdkafka's own thread's and never wait for us. Records never pass through the control thread.
/// All methods may be called from any thread. Those that say "blocks" belong on a thread of their own (`NamedThread.run`).
public final class KafkaConsumer: Sendable {
    /// Checks the settings, makes the client and its control thread. Nothing is contacted before `start`.
    public init(_ configuration: ConsumerConfiguration) throws(KafkaError) { fatalError("not yet") }

    /// Subscribes. `handler` gets every event on the control thread and must only hand it on: while it runs no rebalance proceeds.
    public func start(_ handler: @escaping @Sendable (ConsumerEvent) -> Void) throws(KafkaError) { fatalError("not yet") }

    /// Commits next offsets; `completion` runs on the control thread, once, also when the consumer closes before the answer.
    public func commit(_ positions: [TopicPartitionOffset], completion: @escaping @Sendable (CommitResult) -> Void) { fatalError("not yet") }

    /// Commits next offsets and waits. Blocks, at most `limit`; what is not answered by then counts as refused with `timedOut`.
    public func commitSync(_ positions: [TopicPartitionOffset], within limit: Duration) -> CommitResult { fatalError("not yet") }

    /// The group's committed offset and both ends of the log for each partition. Blocks, at most about `limit`.
    public func positions(of partitions: [TopicPartition], within limit: Duration) throws(KafkaError) -> [PartitionPositions] { fatalError("not yet") }

    /// The cluster's identifier; `nil` when unknown within `limit`. Blocks. (Topic identifiers are not available from librdkafka 2.0.2.)
    public func clusterID(within limit: Duration) -> String? { fatalError("not yet") }

    /// Leaves the group: every partition is revoked through the handler first, within the limit.
    /// - Returns: `false` when librdkafka did not finish in time; the client is abandoned then, and the process should exit.
    public func close(within limit: Duration) async -> Bool { fatalError("not yet") }
}

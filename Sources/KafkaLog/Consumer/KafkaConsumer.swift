import CRDKafka
import Synchronization

/// A member of a consumer group. Each of its partitions is read through a queue of its own.
///
/// One control thread (`kafka-control`) polls the main queue for rebalances, commit answers and errors, and calls the
/// handler. librdkafka sends heartbeats on its own thread, so they do not wait for the control thread. Records never
/// pass through the control thread. All methods may be called from any thread. If a method blocks, give it a thread of
/// its own (`NamedThread.run`).
public final class KafkaConsumer: Sendable {
    /// The configuration that the consumer was made with; it never changes.
    public let configuration: ConsumerConfiguration
    let client: ClientHandle
    private let inbox: ControlInbox
    private let joinWatch = JoinWatch()
    let fetchWaker: FetchWaker

    /// Checks the settings and makes the client, which joins the group only at `start`.
    public init(_ configuration: ConsumerConfiguration) throws(KafkaError) {
        let client = try Self.client(for: configuration)
        rd_kafka_conf_set_events(
            client.pointer,
            RD_KAFKA_EVENT_REBALANCE | RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_OFFSET_COMMIT | RD_KAFKA_EVENT_STATS)
        self.client = try client.makeClient(
            log: configuration.log, joinWatch: self.joinWatch, brokerThreadNiceness: configuration.brokerThreadNiceness)
        self.fetchWaker = FetchWaker(client: self.client)
        rd_kafka_poll_set_consumer(self.client.pointer)
        guard let queue = rd_kafka_queue_get_consumer(self.client.pointer) else {
            throw KafkaError(
                code: .invalidArgument, text: "the group id is empty",
                subject: .setting(name: "group.id", value: configuration.groupID))
        }
        self.configuration = configuration
        self.inbox = ControlInbox(queue: KafkaQueue(queue))
    }

    /// Makes the configuration of a client, with all properties of a consumer.
    static func client(for configuration: ConsumerConfiguration) throws(KafkaError) -> ClientConfiguration {
        var client = ClientConfiguration(role: .consumer)
        try client.apply(ConsumerConfiguration.defaults)
        try client.apply(configuration.settings)
        try client.set("group.id", configuration.groupID)
        if let groupInstanceID = configuration.groupInstanceID { try client.set("group.instance.id", groupInstanceID) }
        try client.set("enable.auto.commit", "false")
        try client.set("enable.auto.offset.store", "false")
        try client.set("auto.offset.reset", "error")
        try client.set("consume.callback.max.messages", "\(PartitionReader.runCountMax)")
        return client
    }

    /// Joins the group. `handler` gets every event on the control thread, in order. It must only pass the event on,
    /// because no rebalance proceeds while it runs. The consumer keeps itself alive until `close`.
    public func start(_ handler: @escaping @Sendable (ConsumerEvent) -> Void) throws(KafkaError) {
        guard self.inbox.markStarted() else {
            throw KafkaError(code: .invalidArgument, text: "a consumer is started once, before it is closed")
        }
        let topics = PartitionList([TopicPartition(topic: self.configuration.driverTopic, partition: -1)])
        let result = rd_kafka_subscribe(self.client.pointer, topics.pointer)
        guard result == RD_KAFKA_RESP_ERR_NO_ERROR else {
            _ = self.inbox.close()
            throw KafkaError(result, subject: .topic(self.configuration.driverTopic))
        }
        // Before librdkafka 2.3.0, a cooperative-sticky member must not be destroyed between joining its group and its
        // first assignment: an assertion ends the process (librdkafka #4312). Leaving the group is safe at any time. So
        // a consumer that ends in that moment leaves its group, and its client is never destroyed. A worker has at most
        // one such client, when it ends.
        self.client.isIndestructible.store(true, ordering: .releasing)
        let (client, inbox, configuration, waker) = (self.client, self.inbox, self.configuration, self.fetchWaker)
        NamedThread.start("kafka-control") {
            ConsumerControl(client: client, inbox: inbox, configuration: configuration, waker: waker, handler: handler)
                .run()
        }
    }

    /// Whether the consumer has asked to join the group, again or for the first time, and has no assignment yet. Send
    /// no commit meanwhile: the commit names the former generation, so the broker answers only after the join, and
    /// refuses the commit. librdkafka before 2.10 then regards all partitions of the consumer as lost (#4908), and the
    /// group rebalances again.
    public var isJoining: Bool { self.joinWatch.isJoining }

    /// Commits offsets, each the next one to read. `completion` runs once, on the control thread, or on the caller's
    /// thread if the commit could not be sent. When the consumer closes, commits without an answer fail with `closed`.
    public func commit(_ positions: [TopicPartitionOffset], completion: @escaping @Sendable (CommitResult) -> Void) {
        guard !positions.isEmpty else { return completion(CommitResult(committed: [], refused: [])) }
        guard let token = self.inbox.addCommit(positions, completion) else {
            return completion(CommitResult(refusing: positions, KafkaError(code: .closed)))
        }
        let list = PartitionList(positions)
        let failure = self.inbox.withQueue { queue in
            rd_kafka_commit_queue(
                self.client.pointer, list.pointer, queue, nil, UnsafeMutableRawPointer(bitPattern: UInt(token)))
        }
        guard failure != RD_KAFKA_RESP_ERR_NO_ERROR else { return }
        if let pending = self.inbox.takeCommit(token) {
            pending.completion(CommitResult(refusing: positions, KafkaError(failure)))
        }
    }

    /// Commits offsets, each the next one to read, and waits for the answer. Blocks, at most `limit`. Without an answer
    /// in time the offsets count as refused with `timedOut`, but the commit may still succeed.
    public func commitSync(_ positions: [TopicPartitionOffset], within limit: Duration) -> CommitResult {
        guard !positions.isEmpty else { return CommitResult(committed: [], refused: []) }
        let list = PartitionList(positions)
        // The answer goes to a queue of its own, because `rd_kafka_commit` has no time limit. After the queue is
        // destroyed, a later answer is dropped.
        let answers = KafkaQueue(rd_kafka_queue_new(self.client.pointer))
        let failure = rd_kafka_commit_queue(self.client.pointer, list.pointer, answers.pointer, nil, nil)
        guard failure == RD_KAFKA_RESP_ERR_NO_ERROR else {
            return CommitResult(refusing: positions, KafkaError(failure))
        }
        guard let event = rd_kafka_queue_poll(answers.pointer, limit.wholeMillis) else {
            return CommitResult(refusing: positions, KafkaError(code: .timedOut))
        }
        defer { rd_kafka_event_destroy(event) }
        return CommitResult(event: event, asked: positions)
    }

    /// The group's committed offset and both ends of the log, for each partition. Blocks, at most about `limit`.
    public func positions(of partitions: [TopicPartition], within limit: Duration) throws(KafkaError)
        -> [PartitionPositions]
    {
        let deadline = ContinuousClock.now + limit
        let committed = PartitionList(partitions)
        guard committed.count > 0 else { return [] }
        let failure = rd_kafka_committed(self.client.pointer, committed.pointer, limit.wholeMillis)
        guard failure == RD_KAFKA_RESP_ERR_NO_ERROR else {
            throw self.client.error(failure, subject: .group(self.configuration.groupID))
        }
        let (low, end) = try LogBounds.query(client: self.client, partitions, until: deadline)
        var result: [PartitionPositions] = []
        for (index, partition) in partitions.enumerated() {
            let element = committed[index]
            guard element.error == RD_KAFKA_RESP_ERR_NO_ERROR else {
                throw KafkaError(element.error, subject: .partition(partition))
            }
            result.append(
                PartitionPositions(
                    topicPartition: partition, committed: element.offset >= 0 ? element.offset : nil,
                    committedMetadata: element.metadata, lowOffset: low[index], endOffset: end[index]))
        }
        return result
    }

    /// The cluster's identifier; `nil` when no broker gave it within `limit`. Blocks until then. (librdkafka 2.0.2 does
    /// not give the identifiers of topics.)
    public func clusterID(within limit: Duration) -> String? { self.client.clusterID(within: limit) }

    /// Leaves the group. Before that, every partition is revoked through the handler, within the limit. If the consumer
    /// has joined but has no assignment yet, librdkafka's threads and memory stay until the process exits.
    /// - Returns: `false` when librdkafka did not finish in time. The process should then exit.
    public func close(within limit: Duration) async -> Bool {
        let deadline = ContinuousClock.now + limit
        return await withCheckedContinuation { continuation in
            self.inbox.send(.close(deadline: deadline, completion: { continuation.resume(returning: $0) }))
        }
    }
}

extension CommitResult {
    init(refusing positions: [TopicPartitionOffset], _ error: KafkaError) {
        self.init(committed: [], refused: positions.map { Refusal(position: $0, error: error) })
    }

    /// Reads an `RD_KAFKA_EVENT_OFFSET_COMMIT`. It has an error of the whole request, or a result for each partition.
    init(event: OpaquePointer, asked: [TopicPartitionOffset]) {
        let whole = rd_kafka_event_error(event)
        guard let list = rd_kafka_event_topic_partition_list(event) else {
            self =
                whole == RD_KAFKA_RESP_ERR_NO_ERROR
                ? .init(committed: asked, refused: []) : .init(refusing: asked, KafkaError(whole))
            return
        }
        self.init(committed: [], refused: [])
        for element in PartitionList.elements(of: list) {
            let position = TopicPartitionOffset(
                topic: element.topicPartition.topic, partition: element.topicPartition.partition, offset: element.offset
            )
            let error = element.error == RD_KAFKA_RESP_ERR_NO_ERROR ? whole : element.error
            if error == RD_KAFKA_RESP_ERR_NO_ERROR {
                self.committed.append(position)
            } else {
                // A commit needs the right to read the topic.
                self.refused.append(
                    Refusal(
                        position: position, error: KafkaError(error, subject: .position(position)).needing(.read)))
            }
        }
    }
}

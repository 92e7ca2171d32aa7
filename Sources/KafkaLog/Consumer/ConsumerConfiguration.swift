/// The configuration of a `KafkaConsumer`.
public struct ConsumerConfiguration: Sendable {
    /// Brokers, security and any other librdkafka properties, such as session and poll times. Keep
    /// `max.poll.interval.ms` well above `revocationDurationMax`.
    public var settings: KafkaSettings
    /// `group.id`: workers of one group share the partitions.
    public var groupID: String
    /// `group.instance.id`, unique per worker, such as the pod's name. With it, a restart within `session.timeout.ms`
    /// moves no partition: the member does not leave the group when it closes, and its partitions wait for it until the
    /// session times out.
    public var groupInstanceID: String?
    /// The topic that the group subscribes to. The group assigns the topic's partitions to members. With each
    /// partition, a member also gets the riding topics' partitions of the same number.
    public var driverTopic: String
    /// Topics with as many partitions as the driver topic. Each of their partitions is assigned and revoked together
    /// with the driver's partition of the same number. Their offsets are committed in the same group.
    public var ridingTopics: [String]
    /// Maximum time that a revocation may stay open. Meanwhile librdkafka fetches for *no* partition, so a worker
    /// should drain in 1–2 s. After the maximum the partitions are given up anyway, and `.rebalanceOverdue` reports it.
    public var revocationDurationMax: Duration = .seconds(10)
    /// Maximum time that an assignment may wait for its start positions. After the maximum the partitions start at the
    /// group's committed offsets.
    public var assignmentDurationMax: Duration = .seconds(30)
    /// Number that is added to the nice value of the client's broker threads, 0…19 (`BrokerThreadNiceness`). With few
    /// processors, a higher number makes them give way to the process's other threads.
    public var brokerThreadNiceness: Int32 = 0
    /// Receives librdkafka's log lines; `nil`: standard error.
    public var log: KafkaLogHandler?

    public init(
        settings: KafkaSettings, groupID: String, groupInstanceID: String? = nil, driverTopic: String,
        ridingTopics: [String] = [],
        log: KafkaLogHandler? = nil
    ) {
        self.settings = settings
        self.groupID = groupID
        self.groupInstanceID = groupInstanceID
        self.driverTopic = driverTopic
        self.ridingTopics = ridingTopics
        self.log = log
    }

    /// The driver topic, then the riding topics. `PartitionReader.topicIndex` is an index into this array.
    public var topics: [String] { [self.driverTopic] + self.ridingTopics }

    /// Properties that are used unless `settings` says otherwise. `allow.auto.create.topics` is missing: for consumers
    /// it is false by default, and setting it makes librdkafka warn about old brokers.
    ///
    /// **Fetching.** librdkafka sends each broker one Fetch at a time. The Fetch leaves out each partition whose queue
    /// holds `queued.min.messages` records or `queued.max.messages.kbytes`. If the Fetch names only partitions without
    /// new records, the broker holds it for `fetch.wait.max.ms`. Meanwhile the full queues drain, and nothing is
    /// fetched for them. With librdkafka's own values, 1,000 records and 500 ms, reading a few partitions was 5 to 17
    /// times slower. These defaults set the number of records so high that only the bytes count. A shard cannot empty a
    /// queue of 4 MB in the 20 ms for which a broker holds a Fetch. Each partition has its own queue, so the bytes
    /// bound memory *per partition*. With librdkafka's 64 MB, four partitions that nobody read took 720 MB. So a
    /// consumer that may get many partitions gets less for each, by `fetchAhead(partitionCount:)`.
    ///
    /// A broker answers a Fetch as soon as it has `fetch.min.bytes`. With librdkafka's own value, one byte, a steady
    /// stream of records is fetched a few at a time, by about 1,500 Fetches a second. Each Fetch names every partition
    /// and wakes a shard. At 2,000 pushes a second, that was two thirds of the cost of a push. Here a Fetch waits for
    /// 64 KB or 20 ms, so that there are at most fifty a second until the stream is larger. This delays a record by 10
    /// ms on average. At 1,000 to 2,000 updates a second, half of the updates wait some 30 ms from publishing until
    /// they are fetched. To trade CPU for less delay, set `fetch.min.bytes: 1`: see "How soon a record is taken" in
    /// deploy/Configuration.md. Benchmarks/README.md has tables and method in "On a real broker" and "Few partitions".
    ///
    /// **Membership.** A rebalance waits once or twice for every member's next heartbeat. With librdkafka's interval of
    /// 3 s, these waits were most of the time that a move took. The partitions of a killed worker wait for the session
    /// timeout. If a group loses its coordinating broker, it gets another after 9 s (`broker.session.timeout.ms`) and
    /// an election. The session timeout is longer than that: otherwise the leases of all workers would end first, and
    /// every worker would stop.
    ///
    /// **Metadata.** A new partition is not read until a member of the group asks for metadata again. With librdkafka's
    /// own interval, updates in the new partition could wait for five minutes.
    public static let defaults = KafkaSettings([
        .init("client.id", "mailboat"),
        .init("partition.assignment.strategy", "cooperative-sticky"),
        .init("isolation.level", "read_committed"),
        .init("session.timeout.ms", "15000"),
        .init("heartbeat.interval.ms", "500"),
        .init("queued.max.messages.kbytes", "4096"),
        .init("queued.min.messages", "100000"),
        .init("fetch.message.max.bytes", "262144"),
        .init("fetch.wait.max.ms", "20"),
        .init("fetch.min.bytes", "65536"),
        .init("socket.nagle.disable", "true"),
        .init("reconnect.backoff.max.ms", "1000"),
        .init("topic.metadata.refresh.interval.ms", "60000"),
    ])

    /// Settings that limit how much a consumer fetches ahead. Each partition gets an equal share of 128 MB, but at
    /// least 1 MB and at most 4 MB. These settings override `defaults`, and the operator's settings override both.
    /// Measured with records of 300 bytes in 64 partitions that nobody read: 2 MB for each take 370 MB of memory, 4 MB
    /// take 690 MB.
    /// - Parameter partitionCount: number of partitions of all input topics, 1 or more. Riding topics with few records
    ///   do not count.
    public static func fetchAhead(partitionCount: Int) -> KafkaSettings {
        let kilobytes = min(max(131_072 / max(1, partitionCount), 1_024), 4_096)
        return KafkaSettings([.init("queued.max.messages.kbytes", "\(kilobytes)")])
    }
}

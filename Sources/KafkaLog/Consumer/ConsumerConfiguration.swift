/// The configuration of a `KafkaConsumer`.
public struct ConsumerConfiguration: Sendable {
    /// Brokers, security and any other librdkafka properties. Session and poll times are set here too: keep
    /// `max.poll.interval.ms` well above `revocationDurationMax`.
    public var settings: KafkaSettings
    /// `group.id`: workers of one group share the partitions.
    public var groupID: String
    /// `group.instance.id`: with it a restart within `session.timeout.ms` moves no partition. Unique per worker, such
    /// as the pod's name. Such a member does not leave the group when it closes: its partitions wait for it until the
    /// session times out.
    public var groupInstanceID: String?
    /// The topic that the group subscribes to; it decides which partition numbers are ours.
    public var driverTopic: String
    /// Topics with the same partition count as the driver topic. A partition of theirs is assigned and revoked together
    /// with the driver's partition of the same number. Their offsets are committed in the same group.
    public var ridingTopics: [String]
    /// Longest time that a revocation may stay open. librdkafka stops fetching *every* partition meanwhile, so drain in
    /// 1–2 s. After this time the partitions are given up anyway, and `.rebalanceOverdue` reports it.
    public var revocationDurationMax: Duration = .seconds(10)
    /// Longest time that an assignment may wait for its start positions. After this time the partitions start where the
    /// group committed.
    public var assignmentDurationMax: Duration = .seconds(30)
    /// Niceness of the client's threads that talk to brokers, added to the process's nice value (`setpriority(2)`),
    /// 0…19. It lets them give way to the process's other threads where processors are scarce.
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

    /// The driver topic, then the riding topics. A reader's `topicIndex` is an index into this.
    public var topics: [String] { [self.driverTopic] + self.ridingTopics }

    /// Properties that are used unless `settings` says otherwise. (`allow.auto.create.topics` is false for consumers
    /// already; naming it makes librdkafka warn of old brokers.)
    ///
    /// **Fetching.** librdkafka has one Fetch under way per broker. It leaves out each partition whose queue holds
    /// `queued.min.messages` records or `queued.max.messages.kbytes`. When only empty partitions are left to ask for,
    /// the broker holds the Fetch for `fetch.wait.max.ms`. Meanwhile the full queue drains and nothing is fetched. With
    /// 1,000 records and 500 ms, librdkafka's own values, this made reading a few partitions 5 to 17 times slower. Now
    /// the threshold in records is too high to matter, and 4 MB last a shard longer than the 20 ms that a Fetch is
    /// held. The bytes bound memory *per partition* once queues are separate: with librdkafka's 64 MB four stalled
    /// partitions took 720 MB. So a consumer that may get many partitions gets less for each, by
    /// `fetchAhead(partitionCount:)`.
    ///
    /// A broker answers a Fetch as soon as it has `fetch.min.bytes`. With one byte, librdkafka's own value, a steady
    /// stream of records is fetched a few at a time, by about 1,500 Fetches a second. Each names every partition and
    /// wakes a shard: that was two thirds of the cost of a push at 2,000 a second. Now a Fetch waits for 64 KB or 20
    /// ms, so that there are at most fifty a second until there is much to carry. A record waits 10 ms for it on
    /// average; seen from outside, at 1,000 to 2,000 a second, half of the updates wait 30 ms. To trade CPU for less
    /// delay, set `fetch.min.bytes: 1`: "How soon a record is taken" in deploy/Configuration.md. Tables and method:
    /// Benchmarks/README.md, "On a real broker" and "Few partitions".
    ///
    /// **Membership.** A rebalance waits for every member's next heartbeat, once or twice; with librdkafka's 3 s that
    /// was most of a move. The partitions of a killed worker wait for the session timeout. A group that has lost its
    /// coordinating broker gets another after 9 s (`broker.session.timeout.ms`) and an election. The session timeout is
    /// longer than that, because a lease that ended earlier would stop every worker.
    ///
    /// **Metadata.** A partition that somebody adds is not read until a member of the group asks for metadata again.
    /// With librdkafka's own five minutes its updates would wait that long.
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

    /// Settings that limit fetching ahead for a consumer with up to this many partitions. It gets 128 MB of records in
    /// all, and 1 MB to 4 MB for each partition. They override `defaults`, and the operator's settings override them.
    /// Measured with 64 stalled partitions and records of 300 bytes: 2 MB each take 370 MB of memory, 4 MB each take
    /// 690 MB.
    /// - Parameter partitionCount: partitions of all input topics, without the riding ones that carry little; from 1.
    public static func fetchAhead(partitionCount: Int) -> KafkaSettings {
        let kilobytes = min(max(131_072 / max(1, partitionCount), 1_024), 4_096)
        return KafkaSettings([.init("queued.max.messages.kbytes", "\(kilobytes)")])
    }
}

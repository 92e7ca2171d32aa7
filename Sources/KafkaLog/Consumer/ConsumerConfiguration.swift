/// What a `KafkaConsumer` needs to know.
public struct ConsumerConfiguration: Sendable {
    /// Brokers, security and anything else librdkafka should be told. Session and poll times are set here too:
    /// keep `max.poll.interval.ms` well above `revocationDurationMax`.
    public var settings: KafkaSettings
    /// `group.id`: workers of the same group share the partitions.
    public var groupID: String
    /// `group.instance.id`: with it a restart within `session.timeout.ms` moves no partition. Unique per worker, e.g.
    /// the pod's name. Such a member does not leave the group when it closes: its partitions wait for it until the
    /// session times out.
    public var groupInstanceID: String?
    /// The topic the group subscribes to; it decides which partition numbers are ours.
    public var driverTopic: String
    /// Topics with the same partition count; their partitions of the same numbers come and go with the driver's, and
    /// their offsets are committed in the same group.
    public var ridingTopics: [String]
    /// How long a revocation may stay open. librdkafka stops fetching *every* partition while it is open, so drain in
    /// 1–2 s. Past this the partitions are given up anyway, and `.rebalanceOverdue` says so.
    public var revocationDurationMax: Duration = .seconds(10)
    /// How long an assignment may wait for its start positions. Past this the partitions start where the group
    /// committed.
    public var assignmentDurationMax: Duration = .seconds(30)
    /// How much nicer than the process (`setpriority(2)`) the client's threads are that speak to brokers, 0…19: they
    /// give way to the process's other threads where processors are scarce.
    public var brokerThreadNiceness: Int32 = 0
    /// librdkafka's log lines; `nil`: standard error.
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

    /// The driver, then the riding topics: a reader's `topicIndex` is an index into this.
    public var topics: [String] { [self.driverTopic] + self.ridingTopics }

    /// Used unless `settings` says otherwise. (`allow.auto.create.topics` is false for consumers already; naming it makes
    /// librdkafka warn of old brokers.)
    ///
    /// **Fetching.** librdkafka has one Fetch under way per broker. It leaves out each partition whose queue holds `queued.min.messages` records
    /// or `queued.max.messages.kbytes`, and when only empty partitions are left to ask for, the broker holds the Fetch for `fetch.wait.max.ms`:
    /// meanwhile the full queue drains and nothing is fetched. So few partitions were slow by 5 to 17 times with 1,000 records and 500 ms,
    /// librdkafka's own wait. Now the threshold in records is out of the way, and 4 MB last a shard longer than the 20 ms that a Fetch is held.
    /// The bytes bound memory, *per partition* once queues are separate: with librdkafka's 64 MB four stalled partitions took 720 MB. So a consumer
    /// that may get many is given less of each by `fetchAhead(partitionCount:)`.
    ///
    /// A broker answers a Fetch as soon as it has `fetch.min.bytes`. With one byte, librdkafka's own, records that keep coming are fetched a few at
    /// a time, by some 1,500 Fetches a second. Each names every partition and wakes a shard: that was two thirds of what a push cost at
    /// 2,000 a second. Now a Fetch waits for 64 KB or 20 ms, so that there are at most fifty a second until there is much to carry. A record waits
    /// 10 ms for it on average; seen from outside, at 1,000 to 2,000 a second, half of the updates wait 30 ms. To trade CPU for less delay, set
    /// `fetch.min.bytes: 1`: "How soon a record is taken" in deploy/Configuration.md.
    /// Tables and method: Benchmarks/README.md, "On a real broker" and "Few partitions".
    ///
    /// **Membership.** A rebalance waits for every member's next heartbeat, once or twice; with librdkafka's 3 s that was most of a move. The session
    /// timeout is what a killed worker's partitions wait. A group that has lost its coordinating broker gets another after 9 s
    /// (`broker.session.timeout.ms`) and an election. The timeout is longer: a lease that ended before would stop every worker.
    ///
    /// **Metadata.** A partition that somebody adds is not read before a member of the group asks for metadata again. With librdkafka's own five
    /// minutes its updates would be that late.
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

    /// How much a consumer that may get this many partitions fetches ahead of each: 128 MB of records in all, 4 MB of one at most and 1 MB
    /// at least. Goes between `defaults` and what the operator says. Measured, 64 partitions that stand still, records of 300 bytes: 2 MB each
    /// take 370 MB of memory, 4 MB each 690.
    /// - Parameter partitionCount: of all input topics, the riding ones that carry little left out; from 1.
    public static func fetchAhead(partitionCount: Int) -> KafkaSettings {
        let kilobytes = min(max(131_072 / max(1, partitionCount), 1_024), 4_096)
        return KafkaSettings([.init("queued.max.messages.kbytes", "\(kilobytes)")])
    }
}

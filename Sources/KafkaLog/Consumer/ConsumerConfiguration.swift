/// What a `KafkaConsumer` needs to know.
public struct ConsumerConfiguration: Sendable {
    /// Brokers, security and anything else librdkafka should be told. Session and poll times are set here too:
    /// keep `max.poll.interval.ms` well above `revocationDurationMax`.
    public var settings: KafkaSettings
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
    /// librdkafka warn of old brokers.) The byte bound is *per partition* once queues are separate (measured: 64 MiB,
    /// librdkafka's default, took four stalled partitions to 720 MB). Little is fetched ahead: a thousand records of a
    /// partition keep a shard busy while the next fetch is under way, and memory that is soon written again stays in the
    /// processor's caches (measured, 64 partitions of 6,000 records: 0.2 instead of 0.5 µs a record in librdkafka's
    /// thread, and 0.15 less in the shard's).
    public static let defaults = KafkaSettings([
        .init("client.id", "mailboat"),
        .init("partition.assignment.strategy", "cooperative-sticky"),
        .init("isolation.level", "read_committed"),
        .init("queued.max.messages.kbytes", "1024"),
        .init("queued.min.messages", "1000"),
        .init("fetch.message.max.bytes", "262144"),
        .init("socket.nagle.disable", "true"),
        .init("reconnect.backoff.max.ms", "1000"),
    ])
}

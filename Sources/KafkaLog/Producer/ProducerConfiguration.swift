/// The configuration of a `KafkaProducer`.
public struct ProducerConfiguration: Sendable {
    /// Brokers, security, and any other properties. `message.timeout.ms` limits how long a message is tried, unless its
    /// topic was made with `timesOut: false`.
    public var settings: KafkaSettings
    /// Number that is added to the nice value of the client's broker threads, 0…19 (`BrokerThreadNiceness`). With few
    /// processors, a higher number makes them give way to the process's other threads.
    public var brokerThreadNiceness: Int32 = 0
    /// Receives librdkafka's log lines; `nil`: standard error.
    public var log: KafkaLogHandler?

    public init(settings: KafkaSettings, log: KafkaLogHandler? = nil) {
        self.settings = settings
        self.log = log
    }

    /// Properties that are used unless `settings` says otherwise. Idempotence and `acks=all` are not among them,
    /// because they cannot be changed. The queue is bounded in messages and bytes. When it is full, `produce` returns
    /// `.queueFull`.
    public static let defaults = KafkaSettings([
        .init("client.id", "mailboat"),
        .init("partitioner", "murmur2_random"),
        .init("linger.ms", "5"),
        .init("queue.buffering.max.messages", "100000"),
        .init("queue.buffering.max.kbytes", "65536"),
        .init("socket.nagle.disable", "true"),
        .init("reconnect.backoff.max.ms", "1000"),
    ])
}

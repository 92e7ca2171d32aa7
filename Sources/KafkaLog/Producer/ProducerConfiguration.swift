/// The configuration of a `KafkaProducer`.
public struct ProducerConfiguration: Sendable {
    /// Brokers, security, and any other properties. `message.timeout.ms` here bounds how long a message is tried.
    public var settings: KafkaSettings
    /// Niceness of the client's threads that talk to brokers, added to the process's nice value (`setpriority(2)`),
    /// 0…19. It lets them give way to the process's other threads where processors are scarce.
    public var brokerThreadNiceness: Int32 = 0
    /// Receives librdkafka's log lines; `nil`: standard error.
    public var log: KafkaLogHandler?

    public init(settings: KafkaSettings, log: KafkaLogHandler? = nil) {
        self.settings = settings
        self.log = log
    }

    /// Properties that are used unless `settings` says otherwise. Producers are always idempotent with `acks=all`. The
    /// queue is bounded by messages and bytes; when it is full, `produce` answers `.queueFull`.
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

/// What a `KafkaProducer` needs to know.
public struct ProducerConfiguration: Sendable {
    /// Brokers, security, and anything else. `message.timeout.ms` here bounds how long a message is tried.
    public var settings: KafkaSettings
    /// How much nicer than the process (`setpriority(2)`) the client's threads are that speak to brokers, 0…19: they
    /// give way to the process's other threads where processors are scarce.
    public var brokerThreadNiceness: Int32 = 0
    /// librdkafka's log lines; `nil`: standard error.
    public var log: KafkaLogHandler?

    public init(settings: KafkaSettings, log: KafkaLogHandler? = nil) {
        self.settings = settings
        self.log = log
    }

    /// Used unless `settings` says otherwise. Always idempotent with `acks=all`. The queue is bounded by messages and
    /// bytes; when full, `produce` answers `.queueFull`.
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

import KafkaLog
import PushEngine
import Synchronization

/// Pauses and resumes the pushes to an audience, by a record to every partition, also those of other workers. Gives one
/// order at a time. May be used from any thread.
final class AudienceOrders: Sendable {
    /// Why an order was not given.
    enum Fault: Error, Equatable {
        /// Another order is being given.
        case busy
        /// Some partitions may lack the order: how many, and the reason for the first.
        case unreached(count: Int, first: String)
    }

    /// How long Kafka may take to acknowledge the records of an order, in milliseconds.
    static let limitMillis = 5_000

    let partitionCount: Int32
    private let settings: KafkaSettings
    private let topic: String
    private let isUnderWay = Mutex(false)

    init(_ configuration: WorkerConfiguration, partitionCount: Int32) {
        self.partitionCount = partitionCount
        self.settings = configuration.kafka.producerSettings.appending(
            "message.timeout.ms", "\(Self.limitMillis)")
        self.topic = configuration.topics.routed
    }

    /// Gives an order. Returns when every partition of the routed topic has it. The order takes effect in a partition
    /// when its worker has read it.
    func give(app: String, audience: String, isPaused: Bool) async throws(Fault) {
        let isFirst = self.isUnderWay.withLock { isUnderWay in
            defer { isUnderWay = true }
            return !isUnderWay
        }
        guard isFirst else { throw .busy }
        defer { self.isUnderWay.withLock { $0 = false } }
        let record = PauseRecord.make(bundleID: app, audience: audience, isPaused: isPaused)
        let (settings, topic, count) = (self.settings, self.topic, self.partitionCount)
        let failures = await NamedThread.run("audience-order") { () -> [String] in
            do {
                let producer = try KafkaProducer(
                    ProducerConfiguration(settings: settings, log: { _ in }), onDeliveries: {}, onError: { _ in })
                return try PartitionBroadcast(producer, limit: .milliseconds(Self.limitMillis)).write(
                    record, kind: .pause, topic: topic, count: count)
            } catch {
                return Array(repeating: "\(error)", count: Int(count))
            }
        }
        if let first = failures.first { throw .unreached(count: failures.count, first: first) }
    }
}

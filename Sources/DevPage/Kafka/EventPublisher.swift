import KafkaLog
import PushInspection
import Synchronization

/// Publishes records to the events topic and reports the position of each.
final class EventPublisher: Sendable {
    /// Why a record was not written.
    struct Failure: Error {
        /// The failure in words for the publisher.
        var text: String
        /// Whether trying again may help.
        var isFull = false
    }

    private typealias Waiter = CheckedContinuation<Result<EventPosition, Failure>, Never>

    private struct State {
        var waiters: [UInt64: Waiter] = [:]
        var nextOpaque: UInt64 = 1
        var hasEnded = false
    }

    private let producer: KafkaProducer
    private let topic: KafkaTopic
    private let state = Mutex(State())
    private let deliveries: AsyncStream<Void>

    init(settings: KafkaSettings, topic: String, log: @escaping KafkaLogHandler) throws(KafkaError) {
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        self.deliveries = stream
        self.producer = try KafkaProducer(
            // A person waits for what the page publishes, so librdkafka gathers nothing.
            ProducerConfiguration(settings: settings.appending(KafkaSettings([.init("linger.ms", "0")])), log: log),
            onDeliveries: { continuation.yield() }, onError: { _ in })
        self.topic = try self.producer.topic(topic)
    }

    /// Handles delivery reports from Kafka until the task is cancelled.
    func run() async {
        for await _ in self.deliveries {
            while self.producer.drainDeliveries({ self.delivered($0) }) > 0 {}
        }
        // Ends the waits of publishers whose reports will not arrive.
        for waiter in self.state.withLock({ state in
            state.hasEnded = true
            defer { state.waiters.removeAll() }
            return Array(state.waiters.values)
        }) {
            waiter.resume(returning: .failure(Failure(text: "the page is stopping")))
        }
    }

    private func delivered(_ delivery: borrowing KafkaDelivery) {
        let opaque = delivery.opaque
        let result: Result<EventPosition, Failure> =
            if let error = delivery.error {
                .failure(Failure(text: "Kafka did not take it: \(error)"))
            } else {
                .success(EventPosition(partition: delivery.partition, offset: delivery.offset))
            }
        self.state.withLock { $0.waiters.removeValue(forKey: opaque) }?.resume(returning: result)
    }

    /// Publishes a record on the partition of its key. Returns when Kafka has the record.
    /// - Throws: `Failure`.
    func publish(key: [UInt8], value: [UInt8]) async throws -> EventPosition {
        try await withCheckedContinuation { (waiter: Waiter) in
            let opaque = self.state.withLock { state -> UInt64? in
                guard !state.hasEnded, state.waiters.count < DevPageLimits.unwrittenRecordsMax else { return nil }
                defer { state.nextOpaque += 1 }
                state.waiters[state.nextOpaque] = waiter
                return state.nextOpaque
            }
            guard let opaque else {
                return waiter.resume(
                    returning: .failure(
                        Failure(
                            text:
                                "\(DevPageLimits.unwrittenRecordsMax) records wait for Kafka already, or the page is stopping",
                            isFull: true)))
            }
            let failure: Failure? =
                switch self.producer.produce(self.topic, key: key.span, value: value.span, opaque: opaque) {
                case .queued: nil
                case .queueFull: Failure(text: "the queue to Kafka is full", isFull: true)
                case .failed(let error): Failure(text: "Kafka did not take it: \(error)")
                }
            if let failure {
                self.state.withLock { $0.waiters.removeValue(forKey: opaque) }?.resume(returning: .failure(failure))
            }
        }.get()
    }
}

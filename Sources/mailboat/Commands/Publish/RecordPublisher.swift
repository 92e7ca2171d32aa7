import Foundation
import KafkaLog

/// Publishes records to one topic and counts the answers. Each answer names the line of its record.
///
/// `publish` belongs to the thread that reads the input. A separate task drains Kafka's answers, so that they are
/// handled while the reader waits for input.
final class RecordPublisher: Sendable {
    /// How long the reader waits at a time when the producer's queue is full.
    private static let queueFullWait = Duration.milliseconds(50)

    let tally: DeliveryTally
    private let producer: KafkaProducer
    private let topic: KafkaTopic
    private let drainer: Task<Void, Never>
    private let wakeUps: AsyncStream<Void>.Continuation

    init(settings: KafkaSettings, topic: String, tally: DeliveryTally, report: @escaping @Sendable (String) -> Void)
        throws(KafkaError)
    {
        // One pending wake-up is enough, however many answers wait.
        let (stream, wakeUps) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let producer = try KafkaProducer(
            ProducerConfiguration(settings: settings, log: { _ in }),
            onDeliveries: { wakeUps.yield() },
            onError: { report("Kafka: \($0)") })
        self.producer = producer
        self.topic = try producer.topic(topic)
        self.tally = tally
        self.wakeUps = wakeUps
        self.drainer = Task {
            for await _ in stream {
                while Self.drain(producer, into: tally) > 0 {}
            }
        }
    }

    /// Queues one record; waits while the queue is full.
    func publish(_ record: RecordText, line: Int) {
        var headers = KafkaHeaders()
        for header in record.headers { headers.append(name: Array(header.name.utf8).span, value: header.value.span) }
        while true {
            let result = self.producer.produce(
                self.topic, partition: record.partition ?? -1, key: record.key?.span, value: record.value?.span,
                headers: headers,
                timestampMillis: record.timestampMillis ?? 0, opaque: UInt64(line))
            switch result {
            case .queued: return self.tally.queued()
            case .failed(let error): return self.tally.failed(line: line, "not published: \(error)")
            case .queueFull:
                _ = self.producer.flush(within: Self.queueFullWait) { Self.take($0, into: self.tally) }
            }
        }
    }

    /// Waits at most `limit` for outstanding answers. Records without an answer are given up, and count as failed.
    func finish(within limit: Duration) async {
        self.wakeUps.finish()
        await self.drainer.value
        let outstandingCount = self.producer.flush(within: limit) { Self.take($0, into: self.tally) }
        guard outstandingCount > 0 else { return }
        self.producer.purge()
        while Self.drain(self.producer, into: self.tally) > 0 {}
    }

    @discardableResult
    private static func drain(_ producer: KafkaProducer, into tally: DeliveryTally) -> Int {
        producer.drainDeliveries { Self.take($0, into: tally) }
    }

    private static func take(_ delivery: borrowing KafkaDelivery, into tally: DeliveryTally) {
        tally.delivered(
            line: Int(delivery.opaque), partition: delivery.partition, offset: delivery.offset, error: delivery.error)
    }
}

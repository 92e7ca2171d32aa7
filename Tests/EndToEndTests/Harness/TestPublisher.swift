import CommandSupport
import Foundation
import KafkaLog
import PushModel
import Upstream

@testable import mailboat

/// A service that publishes events, and remembers what the phones should show. Confined to its test.
final class TestPublisher {
    /// How the service's Kafka client chooses partitions.
    enum Partitioner {
        /// The default of Kafka's Java client.
        case murmur2
        /// librdkafka's default (`consistent_random`), which confluent-kafka, kcat and many others inherit.
        case crc32
        /// Always this partition.
        case fixed(Int32)

        func partition(for key: [UInt8]?) -> Int32 {
            let count = Int32(TestKafka.partitionCount)
            switch self {
            case .murmur2: return key.map { Murmur2.partition(key: $0.span, count: count) } ?? 0
            case .crc32: return key.map { Int32(CRC32.checksum($0) % UInt32(count)) } ?? 0
            case .fixed(let partition): return partition
            }
        }
    }

    /// Position of an event.
    struct Position: Hashable {
        var partition: Int32
        var offset: Int64
    }

    static let app = "com.example.pizza"

    var partitioner = Partitioner.murmur2
    private(set) var phones = ExpectedPhones()
    /// Position of each published record, in the order of publishing. `nil` until Kafka has acknowledged the record.
    private(set) var positions: [Position?] = []
    private let producer: KafkaProducer
    private let topic: KafkaTopic

    init(_ kafka: TestKafka) throws {
        self.producer = try KafkaProducer(
            ProducerConfiguration(settings: kafka.settings), onDeliveries: {}, onError: { _ in })
        self.topic = try self.producer.topic(kafka.events)
    }

    func register(_ activity: String, token: String, frequentUpdates: Bool = false) throws {
        let registration = StoryRegistration(app: Self.app, token: token, frequentUpdates: frequentUpdates)
        try self.send(key: Array(activity.utf8), value: registration.value)
        self.phones.join(activity: activity, token: token)
    }

    func publish(_ event: StoryEvent, activity: String) throws {
        let recordMillis = Int64(Date().timeIntervalSince1970 * 1_000)
        try self.send(key: Array(activity.utf8), value: event.value, recordMillis: recordMillis)
        if let token = event.startToken { self.phones.join(activity: activity, token: token) }
        try self.phones.take(event, activity: activity, recordMillis: recordMillis)
    }

    /// Publishes an update that shows `step`.
    func update(_ activity: String, _ step: String, priority: Int? = nil, alert: String? = nil) throws {
        let alert = alert.map { "{\"title\":\"\($0)\",\"body\":\"\(step)\"}" }
        try self.publish(
            StoryEvent(
                .update, app: Self.app, contentState: "{\"step\":\"\(step)\"}", alert: alert, priority: priority),
            activity: activity)
    }

    func end(_ activity: String, _ step: String? = nil) throws {
        try self.publish(
            StoryEvent(.end, app: Self.app, contentState: step.map { "{\"step\":\"\($0)\"}" }), activity: activity)
    }

    /// Publishes any record. It changes nothing about what the phones are expected to show.
    /// - Parameters:
    /// - traceparent: the header of that name. If empty, the record has no such header.
    /// - tracestate: the header of that name. If empty, the record has no such header.
    func send(
        key: [UInt8]?, value: [UInt8]?, recordMillis: Int64 = 0, traceparent: String = "", tracestate: String = ""
    ) throws {
        var headers = KafkaHeaders()
        if !traceparent.isEmpty { headers.append("traceparent", traceparent) }
        if !tracestate.isEmpty { headers.append("tracestate", tracestate) }
        let opaque = UInt64(self.positions.count)
        let partition = self.partitioner.partition(for: key)
        let result: ProduceResult =
            switch (key, value) {
            case (let key?, let value?):
                self.producer.produce(
                    self.topic, partition: partition, key: key.span, value: value.span, headers: headers,
                    timestampMillis: recordMillis,
                    opaque: opaque)
            case (nil, let value?):
                self.producer.produce(
                    self.topic, partition: partition, key: nil, value: value.span, headers: headers,
                    timestampMillis: recordMillis,
                    opaque: opaque)
            case (let key?, nil):
                self.producer.produce(
                    self.topic, partition: partition, key: key.span, value: nil, headers: headers,
                    timestampMillis: recordMillis,
                    opaque: opaque)
            case (nil, nil):
                self.producer.produce(
                    self.topic, partition: partition, key: nil, value: nil, headers: headers,
                    timestampMillis: recordMillis,
                    opaque: opaque)
            }
        guard result == .queued else { throw CommandFailure("could not publish: \(result)") }
        self.positions.append(nil)
    }

    /// Waits until Kafka has acknowledged every record.
    func flush() async throws {
        try await until("Kafka takes what is published") {
            self.producer.drainDeliveries { delivery in
                if delivery.isSuccess {
                    self.positions[Int(delivery.opaque)] = Position(
                        partition: delivery.partition, offset: delivery.offset)
                }
            }
            return self.producer.outstandingCount == 0
        }
    }
}

/// CRC-32 as in zlib (ISO 3309), by which librdkafka chooses partitions unless it is set otherwise.
enum CRC32 {
    static func checksum(_ bytes: [UInt8]) -> UInt32 {
        var checksum: UInt32 = 0xffff_ffff
        for byte in bytes {
            checksum ^= UInt32(byte)
            for _ in 0..<8 { checksum = (checksum >> 1) ^ (checksum & 1 == 1 ? 0xedb8_8320 : 0) }
        }
        return ~checksum
    }
}

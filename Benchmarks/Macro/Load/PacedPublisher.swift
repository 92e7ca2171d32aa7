import ArgumentParser
import Glibc
import KafkaLog
import PushModel

/// Publishes at a fixed rate, open loop. Each record contains the time at which it is meant to leave. That time does
/// not move when the publisher or anything behind it is delayed.
struct PacedPublisherCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "paced-publisher", abstract: "Publish updates at a fixed rate.", shouldDisplay: false)

    @Option var bootstrap: String
    @Option var topic: String
    @Option var partitions: Int32
    /// Number of activities.
    @Option var activities: Int
    @Option var perSecond: Double
    @Option var count: Int

    func validate() throws {
        guard self.activities > 0 else { throw ValidationError("--activities \(self.activities): expected 1 or more") }
    }

    func run() throws {
        // Producers wait 5 ms by default. Here they wait twice as long, so that the embedded broker gets batches. A
        // batch of one record costs the broker as much as a batch of thirty. With 5 ms the broker would be the limit.
        let settings = KafkaSettings(bootstrap: self.bootstrap).appending("linger.ms", "10")
        let producer = try KafkaProducer(
            ProducerConfiguration(settings: settings, log: { _ in }), onDeliveries: {}, onError: { _ in })
        let topic = try producer.topic(self.topic)
        // Options are looked up each time they are named, so they are read once and not for each record.
        let (count, perSecond, partitions) = (self.count, self.perSecond, self.partitions)
        let activities = self.activities
        var (key, value): ([UInt8], [UInt8]) = ([], [])
        let (beginSteady, beginWall) = (Clock.nowMicros, Clock.wallMicros)
        var failedCount = 0
        var latestMicros: Int64 = 0
        for number in 0..<count {
            let dueMicros = Int64(Double(number) / perSecond * 1e6)
            while Clock.nowMicros - beginSteady < dueMicros {
                producer.drainDeliveries { if !$0.isSuccess { failedCount += 1 } }
                usleep(500)
            }
            latestMicros = max(latestMicros, Clock.nowMicros - beginSteady - dueMicros)
            key.removeAll(keepingCapacity: true)
            value.removeAll(keepingCapacity: true)
            Workload.appendKey(number % activities, to: &key)
            Workload.appendUpdate(number, to: &value)
            let result = producer.produce(
                topic, partition: Murmur2.partition(key: key.span, count: partitions), key: key.span,
                value: value.span, timestampMillis: (beginWall + dueMicros) / 1_000, opaque: 0)
            guard result == .queued else { throw BenchmarkFailure("the publisher cannot keep pace: \(result)") }
        }
        let left = producer.flush(within: .seconds(10)) { if !$0.isSuccess { failedCount += 1 } }
        guard left + failedCount == 0 else {
            throw BenchmarkFailure("\(left + failedCount) of \(count) records did not reach Kafka")
        }
        print("published \(count), at most \(latestMicros) us late")
    }
}

import ArgumentParser
import Glibc
import KafkaLog
import PushModel

/// Publishes at a fixed rate, open loop: each record has a time at which it is meant to leave, written into it, and that
/// time does not move when the publisher or anything behind it is late.
struct PacedPublisherCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "paced-publisher", abstract: "Publish updates at a fixed rate.", shouldDisplay: false)

    @Option var bootstrap: String
    @Option var topic: String
    @Option var partitions: Int32
    /// Number of activities; without it, `channels`.
    @Option var activities: Int?
    @Option var channels: Int?
    @Option var perSecond: Double
    @Option var count: Int

    func validate() throws {
        guard (self.activities == nil) != (self.channels == nil), self.activities ?? self.channels ?? 0 > 0 else {
            throw ValidationError("give --activities or --channels")
        }
    }

    func run() throws {
        // Producers wait 5 ms by default. Here they wait for twice that, so that the embedded broker gets batches: a batch of one record costs
        // it as much as one of thirty, and with 5 ms it is what is measured.
        let settings = KafkaSettings(bootstrap: self.bootstrap).appending("linger.ms", "10")
        let producer = try KafkaProducer(
            ProducerConfiguration(settings: settings, log: { _ in }), onDeliveries: {}, onError: { _ in })
        let topic = try producer.topic(self.topic)
        // Options are looked up each time they are named: not for each record.
        let (count, perSecond, partitions) = (self.count, self.perSecond, self.partitions)
        let channels = self.channels.map { SampleChannel.ids(0..<$0) }
        let targetCount = channels?.count ?? self.activities ?? 1
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
            if let channel = channels?[number % targetCount] {
                key += channel
                Workload.appendUpdate(number, to: &value, channel: channel)
            } else {
                Workload.appendKey(number % targetCount, to: &key)
                Workload.appendUpdate(number, to: &value)
            }
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

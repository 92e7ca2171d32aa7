import ArgumentParser
import CRDKafka
import Glibc

/// Consumes with librdkafka alone, as fast as possible. There is a queue for each partition, and each call takes up to
/// a thousand records, which are counted and dropped. Mailboat's own wrapper is not used here, because the wrapper is
/// compared with these results.
struct RawConsumptionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "raw-consumption", abstract: "Count the records of a topic with librdkafka alone.",
        shouldDisplay: false)

    @Option var bootstrap: String
    @Option var partitions: Int32
    @Option var events: Int
    @Option var brokerPid: Int32

    private static let batchCountMax = 1_000

    func run() throws {
        let client = try self.makeClient()
        guard let topic = rd_kafka_topic_new(client, Workload.topic, nil) else {
            throw BenchmarkFailure("librdkafka knows no topic \(Workload.topic)")
        }
        var meter = try IngestMeter(own: getpid(), broker: self.brokerPid)
        meter.start()
        for partition in 0..<self.partitions {
            rd_kafka_consume_start(topic, partition, 0)
        }
        var batch = [UnsafeMutablePointer<rd_kafka_message_t>?](repeating: nil, count: Self.batchCountMax)
        var count = 0
        var lastError = ""
        let deadline = Clock.nowMicros + 60_000_000
        while count < self.events {
            let before = count
            for partition in 0..<self.partitions {
                // The call takes what is in the partition's queue, and does not wait for more.
                let taken = rd_kafka_consume_batch(topic, partition, 0, &batch, batch.count)
                for index in 0..<max(0, taken) {
                    guard let message = batch[index] else { continue }
                    if message.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR {
                        count += 1
                    } else {
                        lastError = String(cString: rd_kafka_message_errstr(message))
                    }
                    rd_kafka_message_destroy(message)
                }
            }
            guard Clock.nowMicros < deadline else {
                throw BenchmarkFailure("librdkafka found \(count) of \(self.events) records. \(lastError)")
            }
            if count == before { usleep(1_000) }
        }
        print(meter.measured(eventCount: count, pushCount: 0).line)
        // The process ends here, so the client is not destroyed.
    }

    private func makeClient() throws -> OpaquePointer {
        let configuration = rd_kafka_conf_new()
        var reason = [CChar](repeating: 0, count: 512)
        // Fetching is configured as in the worker.
        let properties = [
            ("bootstrap.servers", self.bootstrap), ("fetch.wait.max.ms", "10"),
            ("queued.max.messages.kbytes", "1024"), ("queued.min.messages", "1000"),
            ("fetch.message.max.bytes", "262144"), ("auto.offset.reset", "error"),
        ]
        for (name, value) in properties {
            guard rd_kafka_conf_set(configuration, name, value, &reason, reason.count) == RD_KAFKA_CONF_OK else {
                throw BenchmarkFailure("librdkafka does not take \(name)=\(value)")
            }
        }
        guard let client = rd_kafka_new(RD_KAFKA_CONSUMER, configuration, &reason, reason.count) else {
            throw BenchmarkFailure("librdkafka makes no consumer")
        }
        return client
    }
}

import Foundation
import KafkaLog

/// Times that pushes of single activities took, read from their outcomes.
struct OutcomeTimes {
    private struct Outcome: Decodable {
        var outcome: String
        var queuedMillis: Double?
        var apnsMillis: Double?

        private enum CodingKeys: String, CodingKey {
            case outcome
            case queuedMillis = "queued-ms"
            case apnsMillis = "apns-ms"
        }
    }

    private let reader: KafkaLogReader
    private let partitions: [TopicPartition]

    init(_ broker: Broker, partitionCount: Int) throws {
        self.reader = try KafkaLogReader(KafkaSettings(bootstrap: broker.bootstrap))
        let topic = broker.topic("liveactivity.outcomes")
        self.partitions = (0..<Int32(partitionCount)).map { TopicPartition(topic: topic, partition: $0) }
    }

    /// When the outcome of a push was written, milliseconds since 1970, and how long the push took. It waited in the
    /// worker first, and then for APNs' answer.
    struct Times {
        var writtenMillis: Int64
        var queuedMillis: Double
        var apnsMillis: Double
        var takenToAcceptedMillis: Double { self.queuedMillis + self.apnsMillis }
    }

    /// Times of every push that was delivered so far.
    func all() throws -> [Times] {
        var times: [Times] = []
        let decoder = JSONDecoder()
        try self.reader.forEach(of: self.partitions, within: .seconds(30)) { record in
            guard let value = record.value, let outcome = try? decoder.decode(Outcome.self, from: Data(value)),
                outcome.outcome == "delivered", let queued = outcome.queuedMillis, let apns = outcome.apnsMillis
            else { return }
            times.append(
                Times(writtenMillis: record.timestampMillis, queuedMillis: queued, apnsMillis: apns))
        }
        return times
    }
}

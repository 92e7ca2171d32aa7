import Foundation
import Glibc
import KafkaLog
import Testing

@Suite(.timeLimit(.minutes(2)))
struct BrokerThreadNicenessTests {
    /// A niceness that only this test uses, so that it can tell its threads from those of other tests.
    private static let niceness: Int32 = 13

    @Test func threadsThatSpeakToBrokersGiveWayAndNoOthers() throws {
        let kafka = try EmbeddedKafka(topics: [.init("t", partitionCount: 1)])
        var options = ProducerConfiguration(settings: kafka.settings, log: { _ in })
        options.brokerThreadNiceness = Self.niceness
        let nice = try KafkaProducer(options, onDeliveries: {}, onError: { _ in })
        try Self.writeOne(nice)
        let names = try Self.namesOfNiceThreads()
        #expect(!names.isEmpty)
        #expect(names.allSatisfy { $0.hasPrefix("rdk:broker") }, "\(names)")
    }

    @Test func withoutItThreadsAreAsTheProcessIs() throws {
        let kafka = try EmbeddedKafka(topics: [.init("t", partitionCount: 1)])
        let plain = try KafkaProducer(
            ProducerConfiguration(settings: kafka.settings, log: { _ in }), onDeliveries: {}, onError: { _ in })
        try Self.writeOne(plain)
        let own = getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0)
        #expect(try Self.threads().contains { $0.name.hasPrefix("rdk:broker") && $0.nice == own })
    }

    /// Writes one record. Its acknowledgement shows that the producer's broker thread runs.
    private static func writeOne(_ producer: KafkaProducer) throws {
        let topic = try producer.topic("t")
        let value = Array("v".utf8)
        #expect(producer.produce(topic, partition: 0, key: nil, value: value.span, opaque: 1) == .queued)
        #expect(producer.flush(within: .seconds(20)) { _ in } == 0)
    }

    private static func namesOfNiceThreads() throws -> [String] {
        let own = getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0)
        return try self.threads().filter { $0.nice == min(19, own + self.niceness) && $0.nice != own }.map(\.name)
    }

    /// Names and niceness of this process's threads (proc(5)).
    private static func threads() throws -> [(name: String, nice: Int32)] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").compactMap { id in
            // The thread may have ended in the meantime.
            guard let number = id_t(id),
                let name = try? String(contentsOfFile: "/proc/self/task/\(id)/comm", encoding: .utf8)
            else { return nil }
            return (
                name.trimmingCharacters(in: .newlines), getpriority(__priority_which_t(PRIO_PROCESS.rawValue), number)
            )
        }
    }
}

import Foundation

/// An embedded Kafka as a process.
final class Broker {
    let process: ChildProcess
    let port: Int
    private let controlPort: Int

    var bootstrap: String { "127.0.0.1:\(self.port)" }

    /// - Parameters:
    ///   - topics: name and partitions of each; empty: the worker's five with `partitionCount` each.
    ///   - touchedMebibytes: so much of its memory has been touched before; it keeps everything that is written.
    init(_ bench: Bench, partitionCount: Int, topics: [String] = [], touchedMebibytes: Int = 0) throws {
        self.port = try LocalHTTP.freePort()
        self.controlPort = try LocalHTTP.freePort()
        var words = [
            bench.mailboat, "embedded-kafka", "--port", "\(self.port)", "--control", "\(self.controlPort)",
            "--partitions", "\(partitionCount)",
        ]
        for topic in topics { words += ["--topic", "\(topic):\(partitionCount)"] }
        self.process = try ChildProcess(
            "Kafka", words, core: bench.cores.kafka, logPath: bench.logPath("kafka"),
            environment: touchedMebibytes == 0
                ? [:] : try PreloadedLibrary.touchedHeap(mebibytes: touchedMebibytes, bench))
        let (process, controlPort) = (self.process, self.controlPort)
        try Waiting.until("the embedded Kafka", limitSeconds: 30, process: process) {
            LocalHTTP.get(port: controlPort, "/healthz") != nil
        }
    }

    func stop() { self.process.stop() }

    private struct Status: Decodable {
        struct Topic: Decodable {
            var name: String
            var partitions: [Partition]
        }
        struct Partition: Decodable {
            var partition: Int
            var lowOffset: Int
            var truncated: Bool
        }
        var topics: [Topic]
    }

    /// The broker keeps 5 MiB of a partition and drops the rest.
    /// - Throws: when that has happened to any partition: whatever was measured is void.
    func checkNothingWasDropped() throws {
        // It looks once a second.
        Clock.sleep(millis: 1_100)
        guard let text = LocalHTTP.get(port: self.controlPort, "/status"),
            let status = try? JSONDecoder().decode(Status.self, from: Data(text.utf8))
        else { throw BenchmarkFailure("the embedded Kafka does not say what it holds") }
        for topic in status.topics {
            for partition in topic.partitions where partition.truncated {
                throw BenchmarkFailure(
                    "\(topic.name)[\(partition.partition)] dropped \(partition.lowOffset) records: more partitions are needed"
                )
            }
        }
    }
}

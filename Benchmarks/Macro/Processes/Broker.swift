import CommandSupport
import Foundation

/// The Kafka of a row: an embedded one as a process, or topics on a real one if the run was given one.
final class Broker {
    let bootstrap: String
    /// The process of the embedded Kafka, and the port that controls it. `nil` for a real Kafka, whose machine is not
    /// measured.
    private let embedded: (process: ChildProcess, controlPort: Int)?
    private let real: RealBroker?
    private let consumerProperties: [(name: String, value: String)]

    /// Starts an embedded Kafka, or creates topics on a real one.
    /// - Parameters:
    ///   - topics: name and partitions of each topic of an embedded Kafka. If the list is empty, the embedded Kafka has
    ///     the worker's five topics with `partitionCount` each.
    ///   - touchedMebibytes: how much memory the embedded Kafka touches at its start, because it keeps everything that
    ///     is written.
    init(_ bench: Bench, partitionCount: Int, topics: [String] = [], touchedMebibytes: Int = 0) throws {
        if let bootstrap = bench.bootstrap {
            self.bootstrap = bootstrap
            self.embedded = nil
            self.real = try RealBroker(bootstrap: bootstrap, partitionCount: partitionCount)
            self.consumerProperties = bench.consumerProperties
            return
        }
        let (port, controlPort) = (try LocalHTTP.freePort(), try LocalHTTP.freePort())
        var words = [
            bench.mailboat, "embedded-kafka", "--port", "\(port)", "--control", "\(controlPort)", "--partitions",
            "\(partitionCount)",
        ]
        for topic in topics { words += ["--topic", "\(topic):\(partitionCount)"] }
        let process = try ChildProcess(
            "Kafka", words, core: bench.cores.kafka, logPath: bench.logPath("kafka"),
            environment: touchedMebibytes == 0
                ? [:] : try PreloadedLibrary.touchedHeap(mebibytes: touchedMebibytes, bench))
        self.bootstrap = "127.0.0.1:\(port)"
        self.embedded = (process, controlPort)
        self.real = nil
        // The embedded Kafka does not wake a waiting fetch, so fetches wait for 10 ms at most.
        self.consumerProperties = [("fetch.wait.max.ms", "10")] + bench.consumerProperties
        try Waiting.until("the embedded Kafka", limitSeconds: 30, process: process) {
            LocalHTTP.get(port: controlPort, "/healthz") != nil
        }
    }

    deinit { self.stop() }

    /// Stops the Kafka. Every client must have ended.
    func stop() {
        self.embedded?.process.stop()
        do { try self.real?.remove() } catch {
            StandardError.print("mailboat-bench: \(error)")
        }
    }

    /// Process id of the embedded Kafka, for processes that measure it. `nil` for a real one.
    var pid: pid_t? { self.embedded?.process.pid }
    /// CPU of the embedded Kafka, microseconds. 0 for a real one, which is not measured.
    var cpuMicros: Int64 { self.embedded?.process.meter.cpuMicros ?? 0 }

    /// Name of a topic on this broker.
    func topic(_ name: String) -> String { (self.real?.prefix ?? "") + name }
    /// Name of a group on this broker.
    func group(_ name: String) -> String { self.real?.group(name) ?? name }

    /// Lines of a worker's settings file that name this broker.
    func settings(group: String) -> [String] {
        let properties = self.consumerProperties.map { "\($0.name): \($0.value)" }.joined(separator: ", ")
        return ["kafka.bootstrap: \(self.bootstrap)", "kafka.group: \(self.group(group))"]
            + (properties.isEmpty ? [] : ["kafka.consumer: {\(properties)}"]) + (self.real?.settings ?? [])
    }

    private struct Status: Decodable {
        struct Topic: Decodable {
            var name: String
            var partitions: [Partition]
        }
        struct Partition: Decodable {
            var partition: Int
            var lowOffset: Int
            var endOffset: Int
        }
        var topics: [Topic]
    }

    /// Ends of the logs at one moment, by topic and partition.
    struct PartitionEnds {
        fileprivate var offsets: [String: [Int: Int]] = [:]
    }

    /// The present ends of the logs. They are empty for a real broker.
    /// - Throws: when the embedded broker does not answer.
    func logEnds() throws -> PartitionEnds {
        var ends = PartitionEnds()
        for topic in try self.status()?.topics ?? [] {
            ends.offsets[topic.name] = [:]
            for partition in topic.partitions { ends.offsets[topic.name]?[partition.partition] = partition.endOffset }
        }
        return ends
    }

    private func status() throws -> Status? {
        guard let controlPort = self.embedded?.controlPort else { return nil }
        // The broker looks at its logs once a second.
        Clock.sleep(millis: 1_100)
        guard let text = LocalHTTP.get(port: controlPort, "/status"),
            let status = try? JSONDecoder().decode(Status.self, from: Data(text.utf8))
        else { throw BenchmarkFailure("the embedded Kafka does not say what it holds") }
        return status
    }

    /// Checks that nothing unread was dropped. The embedded broker keeps 5 MiB of a partition and drops older records.
    /// - Parameter read: how far every client has read. Earlier records may be dropped.
    /// - Throws: when an unread record was dropped. Then the measurement is not valid.
    func checkNothingWasDropped(behind read: PartitionEnds = PartitionEnds()) throws {
        for topic in try self.status()?.topics ?? [] {
            for partition in topic.partitions {
                let readTo = read.offsets[topic.name]?[partition.partition] ?? 0
                guard partition.lowOffset > readTo else { continue }
                throw BenchmarkFailure(
                    "\(topic.name)[\(partition.partition)] dropped \(partition.lowOffset - readTo) records: more partitions are needed"
                )
            }
        }
    }
}

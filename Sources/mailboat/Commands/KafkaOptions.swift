import ArgumentParser
import KafkaLog

/// How to reach a cluster, for commands that read or write topics.
struct KafkaOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Brokers, separated by commas.", valueName: "host:port,..."))
    var bootstrap: String

    @Option(
        name: [.customShort("X"), .customLong("property")],
        help: ArgumentHelp(
            "A librdkafka property, such as sasl.mechanisms=PLAIN. May be repeated.", valueName: "name=value"))
    var properties: [String] = []

    @Option(
        help: ArgumentHelp(
            "How long reading a partition, or a record's acknowledgement, may take.", valueName: "seconds"))
    var timeout = 30

    func validate() throws {
        guard (1...3_600).contains(self.timeout) else {
            throw ValidationError("--timeout is \(self.timeout): expected 1 to 3600 seconds")
        }
        _ = try self.settings(for: .consumer)
    }

    /// Properties in the order in which they count, judged by librdkafka.
    func settings(for role: KafkaSettings.Role) throws -> KafkaSettings {
        var settings = KafkaSettings(bootstrap: self.bootstrap)
        for property in self.properties {
            guard let sign = property.firstIndex(of: "="), sign != property.startIndex else {
                // What stands there may be a password with its name forgotten.
                throw ValidationError("-X needs name=value, such as security.protocol=SSL")
            }
            settings.append(String(property[..<sign]), String(property[property.index(after: sign)...]))
        }
        do throws(KafkaError) {
            try settings.validate(for: role)
        } catch { throw ValidationError("\(error)") }
        return settings
    }

    var limit: Duration { .seconds(self.timeout) }

    /// How many partitions a topic has. Blocks.
    func partitionCount(of topic: String) throws -> Int32 {
        let settings = try self.settings(for: .consumer)
        let found: [TopicDescription]
        do throws(KafkaError) {
            found = try KafkaAdmin(settings, log: { _ in }).describeTopics([topic], within: self.limit)
        } catch { throw CommandFailure("\(self.bootstrap) cannot be asked for the topic \(topic): \(error)") }
        guard let count = found.first?.partitionCount else {
            throw CommandFailure("the topic \(topic) does not exist")
        }
        return Int32(count)
    }

    /// Hands every record of the partitions to `body`, partition by partition in the order given. They are fetched together; a bounded part of
    /// them is kept. Blocks.
    /// - Parameter whenRead: told after each partition's last record.
    func forEachRecord(
        of topic: String, partitions: [Int32], whenRead: (Int32) -> Void = { _ in }, _ body: (OwnedRecord) -> Void
    ) throws {
        // Somebody waits for the end of a log, not for what is written to it: a fetch that finds nothing is answered at once.
        let settings = KafkaSettings([.init("fetch.wait.max.ms", "10")]).appending(try self.settings(for: .consumer))
        do throws(KafkaError) {
            try KafkaLogReader(settings, log: { _ in }).forEach(
                of: partitions.map { TopicPartition(topic: topic, partition: $0) }, within: self.limit,
                whenRead: { whenRead($0.partition) }, body)
        } catch { throw CommandFailure("\(topic) cannot be read: \(error)") }
    }
}

import ArgumentParser
import CommandSupport
import KafkaLog
import PushWorker

/// How to reach a cluster, for commands that read or write topics.
struct KafkaOptions: ParsableArguments {
    @OptionGroup var cluster: ClusterOptions

    @Option(
        help: ArgumentHelp(
            "How long reading a partition, or a record's acknowledgement, may take.", valueName: "seconds"),
        form: .whole(1...3_600, "seconds"))
    var timeout = 30

    /// Creates empty options, which the parser fills in.
    init() {}

    /// Creates options for a command that reads the cluster's options by itself.
    init(cluster: ClusterOptions, timeout: Int) {
        self.cluster = cluster
        self.timeout = timeout
    }

    func validate() throws {
        try self.cluster.requireBrokers()
    }

    /// Properties in the order of their precedence, checked by librdkafka.
    func settings(for role: KafkaSettings.Role) throws -> KafkaSettings { try self.cluster.settings(for: role) }

    var limit: Duration { .seconds(self.timeout) }

    /// Creates a producer that gives a record up after `timeout`. The caller must take its delivery reports.
    func producer() throws -> KafkaProducer {
        let settings = try self.settings(for: .producer).appending("message.timeout.ms", "\(self.timeout * 1_000)")
        do throws(KafkaError) {
            return try KafkaProducer(
                ProducerConfiguration(settings: settings, log: { _ in }), onDeliveries: {}, onError: { _ in })
        } catch { throw CommandFailure("\(error)") }
    }

    /// Number of partitions of a topic. Blocks.
    /// - Parameter right: the right that the error names if the client may not describe the topic.
    @discardableResult
    func partitionCount(of topic: String, needing right: KafkaRight = .describe) throws -> Int32 {
        let settings = try self.settings(for: .consumer)
        let found = try self.cluster.ask("for the topic \(topic)", within: self.limit) {
            () throws(KafkaError) -> TopicDescription? in
            let admin = try KafkaAdmin(settings, log: { _ in })
            if let found = try admin.describeTopics([topic], within: self.limit).first { return found }
            if let refusal = try admin.refusal(toShow: topic, within: self.limit) { throw refusal.needing(right) }
            return nil
        }
        if let found { return Int32(found.partitionCount) }
        let near = NearSpelling.of(topic, among: try self.cluster.configuration().topics.all.filter { $0 != topic })
        throw CommandFailure(
            "the topic \(topic) does not exist"
                + (near.map { "; did you mean \($0)?" }
                    ?? ": create it with \(self.cluster.command("topics create"))"))
    }

    /// Hands every record of the partitions to `body`, partition by partition in the order given. Partitions are
    /// fetched together, and a bounded part is held in memory. Blocks.
    /// - Parameter whenRead: called after each partition's last record.
    func forEachRecord(
        of topic: String, partitions: [Int32], whenRead: (Int32) -> Void = { _ in }, _ body: (OwnedRecord) -> Void
    ) throws {
        // Reading stops at the end of each log. A fetch there finds nothing, so Kafka must answer it at once.
        let settings = KafkaSettings([.init("fetch.wait.max.ms", "10")]).appending(try self.settings(for: .consumer))
        do throws(KafkaError) {
            try KafkaLogReader(settings, log: { _ in }).forEach(
                of: partitions.map { TopicPartition(topic: topic, partition: $0) }, within: self.limit,
                whenRead: { whenRead($0.partition) }, body)
        } catch { throw CommandFailure("\(topic) cannot be read: \(error)") }
    }
}

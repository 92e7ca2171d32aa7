import ArgumentParser
import CommandSupport
import Foundation
import KafkaForwarding
import KafkaLog
import Logging
import Redaction

/// `mailboat embedded-kafka`: a Kafka for trying things out, in memory.
struct EmbeddedKafkaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "embedded-kafka",
        abstract: "Run a small Kafka in memory, for trying things out.",
        discussion: """
            This is librdkafka's mock cluster as a process of its own. Producers, consumers and consumer groups of librdkafka (kcat, Python, \
            Go, .NET), of kafkajs and of Java's kafka-clients work with it. Nothing is stored on disk; everything is gone when the process \
            ends.

            Limits: a partition keeps its newest 5 MiB or 100,000 batches and drops the rest (it warns at 80 % and when it drops some); no \
            compaction or retention, no transactions, no static membership, no administration: topics are created here, by --topic. A \
            group's first assignment takes 3 s, each later one the session timeout less 1 s: a worker that is started again waits 14 s for \
            its partitions, where a real Kafka gives them at once (kafka.consumer: {session.timeout.ms: 3500} is the shortest that works). \
            Set fetch.wait.max.ms to 5-20 in consumers: a waiting fetch is not woken by a new record. If you let requests fail, \
            set max.in.flight.requests.per.connection to 1 in idempotent producers. Their sequence numbers are not checked: a lost batch \
            counts as written when a later one was taken.

            It takes two ports: --port for clients, and --control (9093) for curl. Clients must run on this machine: the port given here is for finding the brokers, which listen on ports of their own on 127.0.0.1.

            Exit status: 0 when it was stopped (SIGINT, SIGTERM), 1 when it cannot be started, for example because a port is in use, 64 \
            when the command line is wrong.

            EXAMPLES
              The topics of a worker, with 8 partitions each, on port 9092, faults on port 9093:
                mailboat embedded-kafka

              Your own topics:
                mailboat embedded-kafka --port 9192 --control 9193 \\
                  --topic liveactivity.events:16 --topic test:1

              Look, write and read with kcat:
                kcat -b localhost:9092 -L
                echo 'a|hello' | kcat -b localhost:9092 -P -t liveactivity.outcomes \\
                  -K '|' -X partitioner=murmur2_random
                kcat -b localhost:9092 -C -t liveactivity.outcomes -o beginning -e \\
                  -X fetch.wait.max.ms=10

              Faults, with curl ('curl localhost:9093' explains all of them):
                curl -X POST localhost:9093/broker/down
                curl -X POST 'localhost:9093/latency?ms=200'
                curl \\
                  -X POST 'localhost:9093/errors?api=Produce&code=REQUEST_TIMED_OUT&count=5'
            """)

    @Option(help: "Address to listen on.")
    var host = "127.0.0.1"

    @Option(help: "Port for clients to connect to; 0 takes a free one.", form: .listeningPort)
    var port = 9092

    @Option(help: "Port of the HTTP control API; 0 takes a free one.", form: .listeningPort)
    var control = 9093

    @Option(help: "Address of the control API. It has no authentication: keep it on loopback.")
    var controlHost = "127.0.0.1"

    @Option(
        name: .customLong("topic"),
        help: ArgumentHelp(
            "A topic and how many partitions it has. May be repeated; none: a worker's five topics.",
            valueName: "name:partitions"))
    var topicTexts: [String] = []

    @Option(
        help: "Partitions of each topic when no --topic is given.", form: .whole(1...EmbeddedKafka.partitionCountMax))
    var partitions = 8

    @Option(help: "Brokers of the cluster.", form: .whole(1...EmbeddedKafka.brokerCountMax))
    var brokers = 1

    func validate() throws {
        _ = try self.topics()
    }

    func run() async throws {
        let logger = Logger(label: "mailboat.embedded-kafka")
        let topics = try self.topics()
        let kafka = try EmbeddedKafka(
            topics: topics, brokerCount: self.brokers, log: { line in Self.log(line, to: logger) })
        let forwarder = try await BootstrapForwarder.start(
            host: self.host, port: self.port, setting: "--host and --port", brokers: kafka.bootstrap)
        ControlledCommand.say("kafka         \(self.host):\(forwarder.port)  (brokers: \(kafka.bootstrap))")
        for topic in topics {
            ControlledCommand.say("topic         \(topic.name)  \(NumberText.count(topic.partitionCount, "partition"))")
        }
        let controlHost = self.controlHost
        let control = EmbeddedKafkaControl(kafka: kafka, host: controlHost, port: self.control, logger: logger) {
            port in
            ControlledCommand.say("control API   http://\(controlHost):\(port)  ('curl' it for help)")
        }
        try await ControlledCommand.serve(control, host: controlHost, port: self.control, logger: logger) {
            await forwarder.stop()
            kafka.stop()
        }
    }

    private static func log(_ line: KafkaLogLine, to logger: Logger) {
        logger.log(
            level: line.severity <= 3 ? .error : line.severity == 4 ? .warning : .debug,
            "\(line.facility): \(line.text)")
    }

    private func topics() throws -> [EmbeddedKafka.Topic] {
        guard !self.topicTexts.isEmpty else {
            return MailboatTopics.defaults.map { .init($0.name, partitionCount: self.partitions) }
        }
        var topics: [EmbeddedKafka.Topic] = []
        for text in self.topicTexts {
            guard let colon = text.lastIndex(of: ":"), let count = Int(text[text.index(after: colon)...]) else {
                throw ValidationError(
                    "--topic is \(ShownText.name(text)): expected name:partitions, such as liveactivity.events:16")
            }
            let name = String(text[..<colon])
            guard TopicName.isValid(name) else {
                throw ValidationError(
                    "--topic is \(ShownText.withheld(text)): expected \(TopicName.expected)"
                )
            }
            guard (1...EmbeddedKafka.partitionCountMax).contains(count) else {
                throw ValidationError(
                    "--topic \(ShownText.name(name)) has \(NumberText.count(count, "partition")): expected 1 to \(EmbeddedKafka.partitionCountMax) partitions"
                )
            }
            guard !topics.contains(where: { $0.name == name }) else {
                throw ValidationError("--topic \(ShownText.name(name)) is given twice")
            }
            topics.append(.init(name, partitionCount: count))
        }
        return topics
    }
}

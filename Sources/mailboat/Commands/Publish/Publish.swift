import ArgumentParser
import CommandSupport
import Foundation
import KafkaLog
import PushModel
import PushWorker

/// `mailboat publish`.
struct Publish: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Publish records to a Kafka topic.",
        discussion: """
            Reads JSON values, one per line or written over several lines. Each is a record:

              {"key": "order-7", "value": {"event": "update", "content-state": {}}}

            'value' is written to Kafka byte for byte. It may also be null, or a string, whose text becomes the value. 'partition', \
            'headers' (an object of strings) and 'timestamp' (milliseconds since 1970) are optional. With --key, lines may be events \
            alone. An event for a channel or an audience has its id as the key; a join or leave has the token in lower-case hexadecimal \
            digits. A record without 'partition' goes to the partition that murmur2 of its key gives, where Java's clients put it and a \
            worker expects it.

            Each record is acknowledged by all in-sync replicas before the command ends. A line that is no record, or that Kafka \
            refuses, is reported on standard error with its number, and the rest goes on.

            Exit status: 0 when every record was acknowledged, 1 when one was not, or when the file cannot be read or the topic cannot be \
            reached, 64 when the command line is wrong.

            EXAMPLES
              mailboat publish --bootstrap localhost:9092 events.ndjson
              echo '{"event": "end"}' | mailboat publish --bootstrap localhost:9092 --key order-7
              mailboat publish --bootstrap broker:9093 -X security.protocol=SSL --check \\
                --verbose - < events.ndjson
            """)

    @Argument(help: ArgumentHelp("The file to read; '-' is standard input.", valueName: "file"), completion: .file())
    var path = "-"

    @OptionGroup var cluster: ClusterOptions

    @Option(
        help: "The topic; it must exist. Default: the first input topic of --config, or a worker's own default.",
        form: .topic)
    var topic: String?

    @Option(help: "The key of records without one.")
    var key: String?

    @Option(
        help: ArgumentHelp("How long a record may take to be acknowledged.", valueName: "seconds"),
        form: .whole(1...3_600, "seconds"))
    var timeout = 30

    @Flag(
        help:
            "Publish only what 'mailboat check' takes; report the rest, and doubtful dates. With --config, events of an app or an environment that it does not have are refused, too."
    )
    var check = false

    @Flag(name: .shortAndLong, help: "Print partition and offset of each record.")
    var verbose = false

    func validate() throws {
        try self.cluster.requireBrokers()
    }

    func run() async throws {
        let input = try RecordInput(path: self.path)
        let settings = try self.settings()
        let topic = try self.topic ?? self.cluster.configuration().topics.events[0]
        let terminal = StatusLine()
        // A producer that names a missing topic may create it, with an unplanned number of partitions.
        try KafkaOptions(cluster: self.cluster, timeout: self.timeout).partitionCount(of: topic, needing: .write)
        let report: @Sendable (String) -> Void = { text in terminal.report(text) }
        let acknowledged: @Sendable (String) -> Void = { text in
            terminal.print(text)
            // The reader of a pipe must get each line at once.
            StandardOutput.flush()
        }
        let tally = DeliveryTally(report: report, acknowledged: self.verbose ? acknowledged : nil)
        let publisher = try RecordPublisher(settings: settings, topic: topic, tally: tally, report: report)
        var judge: EventCheck? = self.check ? EventCheck(app: topic, nowSeconds: 0) : nil
        judge?.apps = try self.cluster.apps()
        judge?.environments = try self.cluster.environments()
        var failure: (any Error)?
        do {
            try input.forEach { item in
                // If standard output has failed, results cannot be reported, so stop reading. Records on their way are
                // still sent.
                try StandardOutput.check()
                self.publish(item, to: publisher, judge: &judge)
                let counts = tally.current
                terminal.show(
                    "\(NumberText.count(counts.queuedCount, "record")) read, \(counts.acknowledgedCount) acknowledged")
            }
        } catch { failure = error }
        await publisher.finish(within: .seconds(self.timeout))
        let counts = tally.current
        terminal.report(
            "\(input.name): \(NumberText.count(counts.acknowledgedCount, "record")) published to \(topic)"
                + (counts.failedCount == 0 ? "" : ", \(counts.failedCount) failed"))
        if let failure { throw failure }
        if counts.failedCount > 0 { throw ExitCode(1) }
    }

    private func publish(_ item: JSONValueSplitter.Item, to publisher: RecordPublisher, judge: inout EventCheck?) {
        switch item {
        case .fault(let line, let reason): publisher.tally.failed(line: line, "not published: the text \(reason)")
        case .value(let line, let bytes):
            do throws(RecordText.Fault) {
                var record = try RecordText(bytes)
                if record.key == nil { record.key = self.key.map { Array($0.utf8) } }
                guard record.key != nil || !record.isBare else {
                    throw RecordText.Fault(
                        reason: "an event without its key: write {\"key\": …, \"value\": …}, or give --key")
                }
                judge?.nowSeconds = Int64(Date().timeIntervalSince1970)
                switch judge?.check(record) {
                case .refused(let rejection):
                    throw RecordText.Fault(reason: "“\(rejection.field)” \(rejection.reason)")
                case .taken(let lines):
                    for warning in EventCheck.warnings(in: lines) { publisher.tally.warn(line: line, warning) }
                case nil: break
                }
                publisher.publish(record, line: line)
            } catch { publisher.tally.failed(line: line, "not published: \(error.reason)") }
        }
    }

    // MARK: Kafka

    private func settings() throws -> KafkaSettings {
        KafkaSettings([.init("message.timeout.ms", "\(self.timeout * 1_000)")])
            .appending(try self.cluster.settings(for: .producer))
    }
}

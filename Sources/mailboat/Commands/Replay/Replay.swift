import ArgumentParser
import CommandSupport
import Foundation
import KafkaLog
import PushModel
import PushWorker
import Redaction

/// `mailboat replay`.
struct Replay: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Publish events of an input topic again, as new ones.",
        discussion: """
            Takes the newest event of a key (--last N: the newest N), or --count events from a position on, and shows what it would \
            publish; with --execute it publishes them. Each keeps key, value and headers, and goes to the partition of its key. Its record \
            time, and its 'timestamp' if it has one, become the present time, so that a phone accepts it as new. To a worker it is a new \
            event with an outcome of its own, and it costs budget like any other.

            Registrations and unregistrations of a key are skipped and do not count: when a token has changed, the phone should show the \
            newest event before the registration. --with-registrations counts and publishes them; an old one may then replace a newer one.

            Left out are events that would be refused or have expired ('expires'; for a start also 'stale-date'). Starts are left out, too, \
            unless --with-starts is given, because they put up a second card. With --from, registrations are left out unless \
            --with-registrations is given. Old content replaces what the phone shows. To show the newest state again, replay the newest \
            event alone.

            For a key, its partitions of the topic and of the routed topic are read backwards from the end, at most \
            \(Replay.recordCountMax) records of each. Workers forward misplaced events to the routed topic. --from reads any partition.

            Exit status: 0 when everything selected was published (or would be), 1 when something was left out, nothing was found or Kafka \
            did not take it, 64 when the command line is wrong.

            EXAMPLES
              mailboat replay order-7 --config mailboat.yaml
              mailboat replay order-7 --bootstrap localhost:9092 --last 3 --execute
              mailboat replay --from 'liveactivity.events[3]@1200' --count 50 \\
                --bootstrap localhost:9092
            """)

    /// Maximum number of records that are read of a key's partition.
    static let recordCountMax = 100_000
    /// Maximum number of events that one run publishes. Each waits for its acknowledgement.
    static let eventCountMax = 10_000

    @Argument(help: "The events' key; or give --from.")
    var key: String?

    @OptionGroup var kafka: KafkaOptions

    @Option(
        help: ArgumentHelp("The number of newest events of the key.", valueName: "number"),
        form: .whole(1...Self.eventCountMax))
    var last: Int?

    @Option(help: ArgumentHelp("Where to begin instead, with events of any key.", valueName: "topic[partition]@offset"))
    var from: String?

    @Option(
        help: ArgumentHelp("The number of records from that position on. Default: 1.", valueName: "number"),
        form: .whole(1...Self.eventCountMax))
    var count: Int?

    @Option(
        help: "The topic to read and write. Default: the first input topic of --config, or a worker's own default.",
        form: .topic)
    var topic: String?

    @Option(help: ArgumentHelp("Only events of this app.", valueName: "bundle id"), form: .bundleID)
    var app: String?

    @Flag(help: "Publish. Without it nothing is written, and the command prints what it would do.")
    var execute = false

    @Flag(help: "Also starts: each puts up a card.")
    var withStarts = false

    @Flag(help: "Also registrations: the last one published counts.")
    var withRegistrations = false

    enum Format: String, ExpressibleByArgument, CaseIterable { case text, json }

    @Option(help: "Lines for a person, or one JSON object for each event.")
    var format = Format.text

    func validate() throws {
        guard (self.key == nil) != (self.from == nil) else {
            throw ValidationError(
                self.key == nil
                    ? "expected a key, or --from topic[partition]@offset"
                    : "a key and --from are given: expected one of them")
        }
        if let key {
            let bytes = Array(key.utf8)
            do throws(EventRejection) { try EventRules.checkKey(bytes.span) } catch {
                throw ValidationError("the key, \(ShownText.name(key)), \(error.reason)")
            }
        }
        if self.from == nil, self.count != nil {
            throw ValidationError("--count goes with --from: for a key give --last")
        }
        if self.key == nil, self.last != nil {
            throw ValidationError("--last goes with a key: for --from give --count")
        }
        if self.from != nil, self.topic != nil {
            throw ValidationError("--from and --topic are given: --from names the topic")
        }
        _ = try self.position()
    }

    /// The position that `--from` names.
    func position() throws -> TopicPartitionOffset? {
        guard let from = self.from else { return nil }
        let fault = ValidationError(
            "--from is \(ShownText.name(from)): expected topic[partition]@offset, such as liveactivity.events[3]@1200")
        guard let at = from.lastIndex(of: "@"), let offset = Int64(from[from.index(after: at)...]), offset >= 0,
            let open = from[..<at].lastIndex(of: "["), from[..<at].last == "]",
            let partition = Int32(from[from.index(after: open)..<from.index(before: at)]), partition >= 0,
            open > from.startIndex
        else { throw fault }
        return TopicPartitionOffset(topic: String(from[..<open]), partition: partition, offset: offset)
    }

    func run() async throws {
        let command = self
        let isComplete = try await NamedThread.run("replay") { Result { try command.replay() } }.get()
        if !isComplete { throw ExitCode.failure }
    }

    // MARK: The work; blocks

    /// Replays the selected events.
    /// - Returns: whether everything selected was published, or would be.
    private func replay() throws -> Bool {
        let position = try self.position()
        let topic = try position?.topic ?? self.topic ?? self.kafka.cluster.configuration().topics.events[0]
        let records: [ReplayReading.Found]
        if let position {
            records = try self.records(from: position).map { .init($0, topic: topic) }
            guard !records.isEmpty else { throw CommandFailure("no event found: nothing was published") }
        } else {
            let found = try ReplayReading(
                kafka: self.kafka, key: Array((self.key ?? "").utf8), topic: topic, wantedCount: self.last ?? 1,
                isMeant: self.isMeant, includesRegistrations: self.withRegistrations
            ).newest()
            records = found.records
            if found.newerRegistrationCount > 0 {
                StandardError.print(
                    "\(NumberText.count(found.newerRegistrationCount, "newer registration")) passed over: --with-registrations counts them, too"
                )
            }
        }
        var judge = ReplayJudge(
            app: self.app ?? "", apps: try self.kafka.cluster.apps(), nowSeconds: Int64(Date().timeIntervalSince1970),
            includesStarts: self.withStarts,
            includesRegistrations: self.withRegistrations)
        judge.check.environments = try self.kafka.cluster.environments()
        let publisher = self.execute ? try SteadyPublisher(self.kafka, topic: topic) : nil
        var (publishedCount, leftOutCount) = (0, 0)
        for found in records {
            var line = ReplayLine(source: found.source, found.record)
            switch judge.verdict(found.record) {
            case .leaveOut(let reason):
                leftOutCount += 1
                line.because = reason
            case .publish(let text):
                line.action = "would-publish"
                if let publisher {
                    line.to = try publisher.publish(text)
                    line.action = "published"
                }
                publishedCount += 1
            }
            StandardOutput.printAlways(self.format == .json ? line.json : line.text)
        }
        StandardError.print(
            self.execute
                ? "\(publishedCount) published to \(topic), \(leftOutCount) left out"
                : "\(publishedCount) would be published to \(topic), \(leftOutCount) left out; nothing was written: --execute publishes"
        )
        return leftOutCount == 0
    }

    private func isMeant(_ record: OwnedRecord) -> Bool {
        guard let app = self.app else { return true }
        var event = DecodedEvent()
        guard let value = record.value, (try? EventDecoder.decode(value.span, into: &event)) != nil else {
            return false
        }
        let named = String(decoding: event.text[event.appInText.range], as: UTF8.self)
        return named.isEmpty || named == app
    }

    private func records(from position: TopicPartitionOffset) throws -> [OwnedRecord] {
        let partitionCount = try self.kafka.partitionCount(of: position.topic)
        let partition = TopicPartition(topic: position.topic, partition: position.partition)
        guard position.partition < partitionCount else {
            throw CommandFailure("--from \(partition): \(position.topic) has the partitions 0 to \(partitionCount - 1)")
        }
        let settings = KafkaSettings([.init("fetch.wait.max.ms", "10")]).appending(
            try self.kafka.settings(for: .consumer))
        let log: PartitionPositions
        let reader: KafkaLogReader
        do throws(KafkaError) {
            reader = try KafkaLogReader(settings, log: { _ in })
            log = try reader.positions(of: [partition], within: self.kafka.limit)[0]
        } catch { throw CommandFailure("\(partition) cannot be read: \(error)") }
        guard position.offset >= log.lowOffset, position.offset < log.endOffset else {
            throw CommandFailure(
                "--from \(position): there is no such record: the log goes from \(log.lowOffset) up to \(log.endOffset), that not included"
            )
        }
        var records: [OwnedRecord] = []
        do throws(KafkaError) {
            let end = min(log.endOffset, position.offset + Int64(self.count ?? 1))
            try reader.forEach(partition, from: .offset(position.offset), upTo: end, within: self.kafka.limit) {
                if self.isMeant($0) { records.append($0) }
            }
        } catch { throw CommandFailure("\(partition) cannot be read: \(error)") }
        return records
    }
}

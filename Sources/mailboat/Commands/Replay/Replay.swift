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
            Takes the newest event of a key (--last N: the newest N), or --count events from a place on, and says what it would publish; with \
            --execute it does. Each keeps key, value and headers, and goes where its key belongs; its record time, and its 'timestamp' if it has one, become \
            now, so that a phone takes it for news. To a worker it is a new event with an outcome of its own, and it costs budget like any other.

            Registrations and unregistrations of a key are no events to count: the newest event before a token was rotated is what the phone \
            should show. --with-registrations counts and publishes them, though an old one may take the place of a newer.

            Left out: what would be refused, what has expired ('expires'; of a start also 'stale-date'), starts, which put up a second card \
            (--with-starts), and with --from registrations, unless --with-registrations is given. Old content \
            replaces what the phone shows: to have it show the newest state again, replay the newest event alone.

            Of a key, its own partition of the topic is read backwards from the end, and so is that of the routed topic, where workers put what lay \
            on another partition; \(Replay.recordCountMax) records of each at most. --from reads any partition.

            Exit status: 0 when everything meant was published (or would be), 1 when something was left out, nothing was found or Kafka did not take it, \
            64 when the command line is wrong.

            EXAMPLES
              mailboat replay order-7 --config mailboat.yaml
              mailboat replay order-7 --bootstrap localhost:9092 --last 3 --execute
              mailboat replay --from 'liveactivity.events[3]@1200' --count 50 \\
                --bootstrap localhost:9092
            """)

    /// Most records read of a key's partition.
    static let recordCountMax = 100_000
    /// Most events that one run publishes. Each waits for its acknowledgement.
    static let eventCountMax = 10_000

    @Argument(help: "The events' key; or give --from.")
    var key: String?

    @OptionGroup var kafka: KafkaOptions

    @Option(
        help: ArgumentHelp("How many events of the key, the newest.", valueName: "number"),
        form: .whole(1...Self.eventCountMax))
    var last: Int?

    @Option(help: ArgumentHelp("Where to begin instead, whatever the keys.", valueName: "topic[partition]@offset"))
    var from: String?

    @Option(
        help: ArgumentHelp("How many records from there on. Default: 1.", valueName: "number"),
        form: .whole(1...Self.eventCountMax))
    var count: Int?

    @Option(
        help: "The topic to read and write. Default: the first input topic of --config, or a worker's own default.",
        form: .topic)
    var topic: String?

    @Option(help: ArgumentHelp("Only events of this app.", valueName: "bundle id"), form: .bundleID)
    var app: String?

    @Flag(help: "Publish. Without it nothing is written: what would be done is printed.")
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
        _ = try self.place()
    }

    /// The position that `--from` names.
    func place() throws -> TopicPartitionOffset? {
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
        let place = try self.place()
        let topic = try place?.topic ?? self.topic ?? self.kafka.cluster.configuration().topics.events[0]
        let records: [ReplayReading.Found]
        if let place {
            records = try self.records(from: place).map { .init($0, topic: topic) }
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
            app: self.app ?? "", nowSeconds: Int64(Date().timeIntervalSince1970), includesStarts: self.withStarts,
            includesRegistrations: self.withRegistrations)
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
            StandardOutput.tell(self.format == .json ? line.json : line.text)
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

    private func records(from place: TopicPartitionOffset) throws -> [OwnedRecord] {
        let partitionCount = try self.kafka.partitionCount(of: place.topic)
        let partition = TopicPartition(topic: place.topic, partition: place.partition)
        guard place.partition < partitionCount else {
            throw CommandFailure("--from \(partition): \(place.topic) has the partitions 0 to \(partitionCount - 1)")
        }
        let settings = KafkaSettings([.init("fetch.wait.max.ms", "10")]).appending(
            try self.kafka.settings(for: .consumer))
        let log: PartitionPositions
        let reader: KafkaLogReader
        do throws(KafkaError) {
            reader = try KafkaLogReader(settings, log: { _ in })
            log = try reader.positions(of: [partition], within: self.kafka.limit)[0]
        } catch { throw CommandFailure("\(partition) cannot be read: \(error)") }
        guard place.offset >= log.lowOffset, place.offset < log.endOffset else {
            throw CommandFailure(
                "--from \(place): there is no such record: the log goes from \(log.lowOffset) up to \(log.endOffset), that not included"
            )
        }
        var records: [OwnedRecord] = []
        do throws(KafkaError) {
            let end = min(log.endOffset, place.offset + Int64(self.count ?? 1))
            try reader.forEach(partition, from: .offset(place.offset), upTo: end, within: self.kafka.limit) {
                if self.isMeant($0) { records.append($0) }
            }
        } catch { throw CommandFailure("\(partition) cannot be read: \(error)") }
        return records
    }
}

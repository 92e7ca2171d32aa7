import ArgumentParser
import CommandSupport
import Foundation
import KafkaLog
import PushModel
import PushWorker

/// `mailboat dead-letters`.
struct DeadLettersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead-letters", abstract: "Look at records that could not be processed, and send them back.",
        subcommands: [List.self, Republish.self])

    /// Says where dead letters are stored, and selects some of them.
    struct Selection: ParsableArguments {
        @OptionGroup var kafka: KafkaOptions

        @Option(
            name: .customLong("topic"),
            help: ArgumentHelp(
                "The dead-letter topic. Default: that of --config, or a worker's own default.", valueName: "topic"),
            form: .topic)
        var givenTopic: String?

        func topic() throws -> String { try self.givenTopic ?? self.kafka.cluster.configuration().topics.deadLetters }

        @OptionGroup var filter: DeadLetterFilter

        /// Hands each selected letter to `body`. Blocks.
        /// - Returns: what was read, and the wanted letters that are not in the topic.
        func forEach(_ body: (DeadLetter) -> Void) throws -> (read: ReadInVain, missing: [String]) {
            let matches = try self.filter.matcher(nowMillis: Int64(Date().timeIntervalSince1970 * 1_000))
            let topic = try self.topic()
            let count = try self.kafka.partitionCount(of: topic)
            var (read, missing) = (ReadInVain(), self.filter.letters)
            try self.kafka.forEachRecord(of: topic, partitions: Array(0..<count)) { record in
                read.countRecord()
                let letter = DeadLetter(record)
                if !missing.isEmpty { missing.removeAll { $0 == letter.position } }
                if let topic = letter.source?.topic { read.add(topic, of: Self.sourceTopicOption) }
                if matches(letter) { body(letter) }
            }
            return (read, missing)
        }

        /// Fails if wanted letters are not in the topic.
        func requireNone(missing: [String]) throws {
            guard !missing.isEmpty else { return }
            throw CommandFailure(
                "\(try self.topic()) has no letter \(missing.joined(separator: ", "))",
                advice: "\(self.kafka.cluster.command("dead-letters list")) shows those that retention has left")
        }

        private static let sourceTopicOption = "--source-topic"

        /// Says that no letter was selected, and which topic was probably meant.
        func sentence(_ read: ReadInVain) throws -> String {
            try read.sentence(
                asked: self.filter.sourceTopic.map { [(option: Self.sourceTopicOption, name: $0)] } ?? [],
                in: self.topic())
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print dead letters: where they came from and why.",
            discussion: """
                Prints the position of each in the dead-letter topic, its source, key and reason, and whether 'republish' would send it back \
                now. With --config, that also depends on the apps and environments that workers have. A start that APNs refused cannot be sent back: the \
                worker does not write its token down.

                A letter that was sent back stays in the topic. Its lines name the event that it was sent back as ('sentBackAs' in JSON), if \
                that is among the last --depth records of its partition: 'mailboat explain KEY' shows what became of it. A corrected event \
                that was published in another way is not known as the letter's.

                --values adds the record itself, such as {"key": "order-7", "value": {"event": "end"}}: correct it, and publish it with \
                'mailboat publish --check'. The value is shown byte for byte if it is valid JSON, with a space for each line end and tab between its parts; otherwise it is \
                a string. With --format json it is the field 'record'.

                Exit status: 0, also when there are none; 1 when the cluster cannot be asked or does not have a --letter, 64 when the command line is wrong.

                EXAMPLES
                  mailboat dead-letters list --bootstrap localhost:9092
                  mailboat dead-letters list --bootstrap localhost:9092 --reason timestamp \\
                    --since 2h --format json
                """)

        enum Format: String, ExpressibleByArgument, CaseIterable { case table, json }

        @OptionGroup var selection: Selection

        @Option(help: "Lines for a person, or one JSON object a line.")
        var format = Format.table

        @Flag(help: "Also show each record with its value, as 'mailboat publish' takes it. It may hold tokens.")
        var values = false

        @Option(
            help: ArgumentHelp(
                "How many records of a partition of events are read at most, to find letters that were sent back.",
                valueName: "records"),
            form: .whole(1...100_000_000))
        var depth = 10_000

        func run() async throws {
            let command = self
            try await NamedThread.run("dead-letters") { Result { try command.list() } }.get()
        }

        private func list() throws {
            var check = EventCheck(app: "", nowSeconds: Int64(Date().timeIntervalSince1970))
            let apps = try self.selection.kafka.cluster.apps()
            check.environments = try self.selection.kafka.cluster.environments()
            let sentBack = try self.sentBack()
            var shownCount = 0
            let (read, missing) = try self.selection.forEach { letter in
                shownCount += 1
                let verdict = letter.verdict(check: &check, apps: apps)
                let successor = sentBack[letter.position]
                let lines =
                    self.format == .json
                    ? [DeadLetterText.json(letter, verdict, sentBackAs: successor, showsRecord: self.values)]
                    : DeadLetterText.lines(letter, verdict, sentBackAs: successor, showsRecord: self.values)
                for line in lines { StandardOutput.print(line) }
            }
            try self.selection.requireNone(missing: missing)
            if let doubt = sentBack.doubt, shownCount > 0 {
                StandardError.print("letters may have been sent back without a mark here: \(doubt)")
            }
            StandardError.print(
                shownCount == 0 && read.readCount > 0
                    ? try self.selection.sentence(read)
                    : "\(NumberText.count(read.readCount, "dead letter")) in \(try self.selection.topic()), \(shownCount) shown"
            )
        }

        /// Finds which of the selected letters were sent back. The letters are read twice, so that none is kept in
        /// memory.
        private func sentBack() throws -> SentBackLetters {
            let status = StatusLine()
            defer { status.end() }
            let kafka = self.selection.kafka
            var sentBack = SentBackLetters()
            _ = try self.selection.forEach { letter in
                sentBack.expect(letter) { try kafka.partitionCount(of: $0) }
            }
            try sentBack.find(kafka, recordCountMax: self.depth) { status.show($0) }
            return sentBack
        }
    }

    struct Republish: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Send dead letters back to where they came from.",
            discussion: """
                Shows what it would do; with --execute it does it. A record goes back to its source topic with its key, value and headers, \
                on the partition of its key (murmur2, as Java's clients place it), with a new record time and the header \
                'mailboat-republished: <partition>:<offset>' of the dead letter. To a worker it is a new event, with a new identity and an \
                outcome of its own. Its 'timestamp' and 'expires' are judged again: an event that is older than what the phone shows is \
                'superseded'.

                These are left out unless --force is given: records that have expired or would be refused again (with --config also those of \
                an app or an environment that workers do not have); starts, because they put up a card; and events for an audience that APNs refused for one \
                member, because they would go to all members again. A start that APNs refused cannot be sent back at all: the worker does \
                not write its token down.

                With --format json each line is an object with partition and offset of the letter, 'action' (left-out, would-send, sent or not-sent), \
                'to' (topic, partition, offset) and 'because'.

                The dead letter itself stays in its topic until retention deletes it. Sending it back twice makes two events: use --since or --letter.

                Exit status: 0 when everything selected was sent (or would be), 1 when something was left out or does not exist (--letter), or Kafka did not take it, 64 \
                when the command line is wrong.

                EXAMPLES
                  mailboat dead-letters republish --bootstrap localhost:9092 \\
                    --reason 'is not configured' --since 1d
                  mailboat dead-letters republish --bootstrap localhost:9092 --letter 3:17 \\
                    --execute
                """)

        @OptionGroup var selection: Selection

        @Flag(help: "Send. Without it nothing is written, and the command prints what it would do.")
        var execute = false

        @Flag(help: "Also send starts, events for all members again, and what would be refused again or has expired.")
        var force = false

        @Option(help: "Lines for a person, or one JSON object for each letter.")
        var format = List.Format.table

        func run() async throws {
            let command = self
            let isComplete = try await NamedThread.run("dead-letters") { Result { try command.republish() } }.get()
            if !isComplete { throw ExitCode(1) }
        }

        /// Republishes the selected letters. Blocks.
        /// - Returns: whether everything selected was sent, or would be.
        private func republish() throws -> Bool {
            var check = EventCheck(app: "", nowSeconds: Int64(Date().timeIntervalSince1970))
            let apps = try self.selection.kafka.cluster.apps()
            check.environments = try self.selection.kafka.cluster.environments()
            let isJSON = self.format == .json
            let report = { (line: RepublishLine) in StandardOutput.printAlways(isJSON ? line.json : line.text) }
            var sender = self.execute ? try DeadLetterSender(self.selection.kafka, report: report) : nil
            var (sentCount, leftOutCount) = (0, 0)
            var failure: (any Error)?
            let (read, missing) = try self.selection.forEach { letter in
                guard failure == nil else { return }
                let verdict = letter.verdict(check: &check, apps: apps)
                switch verdict {
                case .impossible(let reason):
                    leftOutCount += 1
                    var line = RepublishLine(.leftOut, letter)
                    line.because = reason
                    report(line)
                case .doubtful(let reason) where !self.force:
                    leftOutCount += 1
                    var line = RepublishLine(.leftOut, letter)
                    line.because = "\(reason) (--force sends it)"
                    report(line)
                case .doubtful, .sendable:
                    guard let source = letter.source else { return }
                    guard self.execute else {
                        sentCount += 1
                        var line = RepublishLine(.wouldSend, letter)
                        line.topic = source.topic
                        if case .sendable(let condition) = verdict { line.because = condition }
                        return report(line)
                    }
                    do { sentCount += try sender?.send(letter, to: source.topic) == true ? 1 : 0 } catch {
                        failure = error
                    }
                }
            }
            if let failure { throw failure }
            let failedCount = try sender?.finish() ?? 0
            sender = nil
            let summary =
                self.execute
                ? "\(sentCount - failedCount) sent, \(failedCount) not taken by Kafka, \(leftOutCount) left out"
                : "\(sentCount) would be sent, \(leftOutCount) left out; nothing was written: --execute sends"
            StandardError.print(summary)
            if self.execute, sentCount > failedCount {
                StandardError.print(
                    "the letters stay in \(try self.selection.topic()), marked as sent back; \(self.selection.kafka.cluster.command("explain KEY")) shows what became of each"
                )
            }
            try self.selection.requireNone(missing: missing)
            if sentCount + leftOutCount == 0, read.readCount > 0 {
                StandardError.print(try self.selection.sentence(read))
            }
            return failedCount == 0 && leftOutCount == 0
        }
    }
}

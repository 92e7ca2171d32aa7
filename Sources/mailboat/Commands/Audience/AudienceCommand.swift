import ArgumentParser
import CommandSupport
import KafkaLog
import PushEngine
import PushModel
import PushWorker
import Redaction

/// `mailboat audience`.
struct AudienceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audience", abstract: "Stop and resume the pushes to the members of an audience.",
        subcommands: [Pause.self, Resume.self])

    struct Pause: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Stop the pushes to the members of an audience.",
            discussion: """
                Writes a record to each partition of the routed topic. Every worker obeys as soon as it has read the record, and remembers \
                it. The pause holds until 'resume', even when partitions move to other workers, and applies to members that join later, \
                too. Repeat the command if it fails: the last record counts.

                Pushes that are in flight finish. Events are taken as before: each becomes the newest version and gets its outcome; only \
                the pushes wait. Content that expires meanwhile is not sent. Of the alerts of replaced versions, only the newest is sent. \
                An audience that ends is forgotten with its members after its retention, even if they have not got the end, so resume in \
                time. Activities and channels are not affected.

                'mailboat state dump --audience ID' shows what is paused; so do the metrics mailboat_audiences_paused and \
                mailboat_members_paused.

                With --config, the app has to be one of the configuration's.

                Exit status: 0 when every partition has the order, 1 when one does not or the configuration has no such app, 64 when the \
                command line is wrong.

                EXAMPLES
                  mailboat audience pause match-7 --app com.example.football \\
                    --bootstrap localhost:9092
                  mailboat audience pause --all --app com.example.football \\
                    --config mailboat.yaml
                """)

        @OptionGroup var order: Order

        func run() async throws { try await self.order.give(isPaused: true) }
    }

    struct Resume: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Resume the pushes to the members of an audience.",
            discussion: """
                Members that have not got the newest version get it. An audience that was paused by its id stays paused when all audiences \
                of the app are resumed. An audience of an app that was paused with --all stays paused until --all is resumed.

                With --config, the app has to be one of the configuration's.

                Exit status: 0 when every partition has the order, 1 when one does not or the configuration has no such app, 64 when the \
                command line is wrong.

                EXAMPLES
                  mailboat audience resume match-7 --app com.example.football \\
                    --bootstrap localhost:9092
                  mailboat audience resume --all --app com.example.football \\
                    --config mailboat.yaml
                """)

        @OptionGroup var order: Order

        func run() async throws { try await self.order.give(isPaused: false) }
    }

    /// Selects the audience, and says how to reach the workers.
    struct Order: ParsableArguments {
        @OptionGroup var kafka: KafkaOptions

        @Argument(help: "The audience's id.")
        var id: String?

        @Option(help: ArgumentHelp("The app of the audience.", valueName: "bundle id"), form: .bundleID)
        var app: String

        @Flag(help: "All audiences of the app, instead of one.")
        var all = false

        @Option(
            name: .customLong("topic"),
            help: ArgumentHelp(
                "The routed topic. Default: that of --config, or a worker's own default.", valueName: "topic"),
            form: .topic)
        var givenTopic: String?

        func validate() throws {
            guard (self.id == nil) == self.all else {
                throw ValidationError(
                    self.all ? "an id and --all are given: expected one of them" : "expected an audience's id, or --all"
                )
            }
            guard let id else { return }
            let bytes = Array(id.utf8)
            do throws(EventRejection) { try EventRules.checkKey(bytes.span) } catch {
                throw ValidationError("the id, \(ShownText.name(id)), \(error.reason)")
            }
        }

        func give(isPaused: Bool) async throws {
            let order = self
            try await NamedThread.run("audience") { Result { try order.writeToPartitions(isPaused: isPaused) } }.get()
        }
        /// Refuses an app that the file of `--config` does not have, because workers obey only for apps of their
        /// configuration. Without `--config`, nothing is refused.
        private func requireApp(of configuration: WorkerConfiguration) throws {
            let apps = configuration.apps.map(\.bundleID)
            guard self.kafka.cluster.settingsFile != nil, !apps.contains(self.app) else { return }
            throw CommandFailure(
                "--app is “\(ShownText.name(self.app))”: expected an app of --config: \(apps.sorted().joined(separator: ", ")); nothing was written"
            )
        }
        /// Writes a pause or resume record to every partition of the routed topic. Blocks.
        private func writeToPartitions(isPaused: Bool) throws {
            let configuration = try self.kafka.cluster.configuration()
            try self.requireApp(of: configuration)
            let topic = self.givenTopic ?? configuration.topics.routed
            let count = try self.kafka.partitionCount(of: topic)
            let record = PauseRecord.make(bundleID: self.app, audience: self.id, isPaused: isPaused)
            let failures = try PartitionBroadcast(try self.kafka.producer(), limit: self.kafka.limit).write(
                record, kind: .pause, topic: topic, count: count)
            let what = self.id.map { "audience \(TokenText.shortened($0))" } ?? "all audiences"
            for failure in failures { StandardError.print(failure) }
            guard failures.isEmpty else {
                throw CommandFailure(
                    "\(what) of \(self.app): \(failures.count) of \(NumberText.count(count, "partition")) did not get the order; repeat the command"
                )
            }
            StandardOutput.printAlways(
                "\(isPaused ? "paused" : "resumed") \(what) of \(self.app): \(NumberText.count(count, "partition")) told"
            )
        }
    }
}

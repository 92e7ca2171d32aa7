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
        commandName: "audience", abstract: "Stop the pushes to the members of an audience, and let them go on.",
        subcommands: [Pause.self, Resume.self])

    struct Pause: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Push nothing more to the members of an audience.",
            discussion: """
                Writes a record to each partition of the routed topic. Every worker obeys as soon as it has read it, and remembers it: it holds \
                until 'resume', whoever has the partitions by then, and for members that join later as well. Repeat the command if it fails: the \
                last one counts.

                Pushes that are in flight finish. Events are taken as before: each becomes the newest version, and has its outcome; of what is \
                paused only the pushes wait. Time goes on: content that expires is not sent, alerts of versions meanwhile replaced are not \
                sent either unless they are the newest, and an audience that ends is forgotten after its retention, with its members, whether \
                they have got the end or not: resume in time. Activities and channels are not affected.

                'mailboat state dump --audience ID' shows what is paused; so do the metrics mailboat_audiences_paused and \
                mailboat_members_paused.

                With --config, the app has to be one of the configuration's.

                Exit status: 0 when every partition was told, 1 when one was not or the configuration has no such app, 64 when the command \
                line is wrong.

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
            abstract: "Go on with the pushes to the members of an audience.",
            discussion: """
                Whoever is owed something gets the newest version. An audience that was paused by its id stays paused when all of the app are \
                resumed, and one of an app that was paused with --all stays paused until --all is resumed.

                With --config, the app has to be one of the configuration's.

                Exit status: 0 when every partition was told, 1 when one was not or the configuration has no such app, 64 when the command \
                line is wrong.

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

        @Option(help: ArgumentHelp("The app that it is an audience of.", valueName: "bundle id"), form: .bundleID)
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
            try await NamedThread.run("audience") { Result { try order.tellPartitions(isPaused: isPaused) } }.get()
        }
        /// Requires that the configuration has the app, because workers obey only for their own apps. Without a
        /// configuration, these are unknown here.
        private func requireApp(of configuration: WorkerConfiguration) throws {
            let apps = configuration.apps.map(\.bundleID)
            guard self.kafka.cluster.hasConfiguration, !apps.contains(self.app) else { return }
            throw CommandFailure(
                "--app is “\(ShownText.name(self.app))”: expected an app of --config: \(apps.sorted().joined(separator: ", ")); nothing was written"
            )
        }
        /// Sends the order to every partition. Blocks.
        private func tellPartitions(isPaused: Bool) throws {
            let configuration = try self.kafka.cluster.configuration()
            try self.requireApp(of: configuration)
            let topic = self.givenTopic ?? configuration.topics.routed
            let count = try self.kafka.partitionCount(of: topic)
            let record = PauseRecord.make(bundleID: self.app, audience: self.id, isPaused: isPaused)
            let failures = try PartitionTeller(try self.kafka.producer(), limit: self.kafka.limit).tell(
                record, kind: .pause, topic: topic, count: count)
            let what = self.id.map { "audience \(TokenText.shortened($0))" } ?? "all audiences"
            for failure in failures { StandardError.print(failure) }
            guard failures.isEmpty else {
                throw CommandFailure(
                    "\(what) of \(self.app): \(failures.count) of \(count) partitions were not told; repeat the command"
                )
            }
            StandardOutput.tell("\(isPaused ? "paused" : "resumed") \(what) of \(self.app): \(count) partitions told")
        }
    }
}

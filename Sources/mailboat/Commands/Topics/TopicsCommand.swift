import ArgumentParser
import CommandSupport
import KafkaLog
import Redaction

/// `mailboat topics`.
struct TopicsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "topics",
        abstract: "Create a deployment's Kafka topics, or check the existing ones.",
        subcommands: [Create.self, Check.self])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create the topics that are missing, then check them all.",
            discussion: """
                Topics that exist are not touched; their partition count is never changed. When events, routed or state exist, the missing \
                topics get their number of partitions, and --partitions is ignored. A cluster may take a moment to show what it has \
                created; the command waits for that, at most --timeout.

                A cluster may have a policy that refuses settings. Then the topic is not created, each refused setting is named, and \
                --without leaves it out: the cluster's default then applies. The check afterwards says whether the default is good enough. \
                A dry run also asks the cluster, and names refused settings before anything is created.

                With --format json an object for each topic that was missing (topic, created, partitions, replicas, error, refused; in a dry run settings) \
                comes first, then those of 'topics check'.

                Exit status: 0 when all is well, 1 when a topic is or would be refused, a setting breaks a promise or the cluster cannot be asked, 64 \
                when the command line is wrong.

                EXAMPLES
                  mailboat topics create --bootstrap broker:9092
                  mailboat topics create --bootstrap localhost:9092 --partitions 16 \\
                    --replication 1
                  mailboat topics create --config mailboat.yaml
                  mailboat topics create --config mailboat.yaml --dry-run
                  mailboat topics create --config mailboat.yaml --without segment.bytes \\
                    --without segment.ms
                """)

        @OptionGroup var options: TopicsOptions

        @Option(
            help: "Partitions of each topic, when neither events nor routed nor state exists yet.",
            form: .whole(1...100_000))
        var partitions = 64

        @Flag(help: "Set only the settings that a promise depends on; the cluster's defaults decide the advised ones.")
        var requiredOnly = false

        @Option(
            help: ArgumentHelp(
                "Leave this setting to the cluster, such as segment.bytes. May be given several times.",
                valueName: "setting"))
        var without: [String] = []

        @Flag(help: "Print what would be created, ask the cluster whether it would take it, and create nothing.")
        var dryRun = false

        func validate() throws {
            if let unknown = self.without.first(where: { !TopicPlan.createdSettings.contains($0) }) {
                throw ValidationError(
                    "--without is \(ShownText.name(unknown)): expected one of \(TopicPlan.createdSettings.sorted().joined(separator: ", "))"
                )
            }
        }

        func run() async throws {
            let session = try TopicsSession(
                self.options, partitionCount: self.partitions, isRequiredOnly: self.requiredOnly,
                leftOut: Set(self.without))
            let isRehearsal = self.dryRun
            try await NamedThread.run("topics") { Result { try session.create(isRehearsal: isRehearsal) } }.get()
        }
    }

    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Compare the topics with what a worker needs.",
            discussion: """
                Prints the partition counts and every setting that is not as it should be: its value, the expected value, and why. \
                Settings that the cluster does not report count as not checked.

                With --format json each line is an object with topic, setting, value, expected, reason and verdict (ok, not-checked, warning or error); the \
                count of each verdict goes to standard error.

                Exit status: 0 when all is well, 1 when a setting breaks a promise or the cluster cannot be asked, 64 \
                when the command line is wrong.

                EXAMPLES
                  mailboat topics check --bootstrap broker:9092
                  mailboat topics check --config mailboat.yaml --all
                  mailboat topics check --config mailboat.yaml --format json |
                    jq 'select(.verdict == "error")'
                """)

        @OptionGroup var options: TopicsOptions

        func run() async throws {
            let session = try TopicsSession(self.options, partitionCount: 64)
            try await NamedThread.run("topics") { Result { try session.check() } }.get()
        }
    }
}

/// Options of `mailboat topics create` and `mailboat topics check`.
struct TopicsOptions: ParsableArguments {
    @OptionGroup var cluster: ClusterOptions

    @Option(
        help: "Copies of each partition, for topics to be created and as expected of existing ones.",
        form: .whole(1...1_000))
    var replication = 3

    @Option(
        help: "Copies that must have a record before it counts as written. Default: one less than --replication.",
        form: .whole(1...1_000))
    var minInsync: Int?

    @Option(
        help: ArgumentHelp(
            "The longest time for each request, and for the cluster to show what was created.", valueName: "seconds"),
        form: .whole(1...3_600, "seconds"))
    var timeout = 30

    @Flag(help: "Print every setting, also those that are right or could not be checked.")
    var all = false

    enum Format: String, ExpressibleByArgument, CaseIterable { case table, json }

    @Option(help: "A table for a person, or one JSON object a line.")
    var format = Format.table

    func validate() throws {
        try self.cluster.requireBrokers()
        if let minInsync, !(1...self.replication).contains(minInsync) {
            throw ValidationError(
                "--min-insync is \(minInsync): expected 1 to --replication, which is \(self.replication)")
        }
    }
}

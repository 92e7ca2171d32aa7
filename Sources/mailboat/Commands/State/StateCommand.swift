import ArgumentParser
import CommandSupport
import Foundation
import KafkaLog
import PushEngine
import PushWorker

/// `mailboat state`.
struct StateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "state", abstract: "Look at what workers remember, or accept that it is lost.",
        subcommands: [Dump.self, AcceptEmpty.self])

    struct Dump: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print what the state topic says about each activity, channel and audience.",
            discussion: """
                Reads the compacted topic from its beginning, without joining a group, and prints the newest record of each key: \
                activities with their life, the hash of their token (never the token), the newest event accepted, the last stamp, \
                positions, budget, and what waits to be sent; broadcast channels with what they keep; audiences, as their owner has them, \
                as each partition with members has them, and their members, by the first digits of their tokens; what is paused; ownership \
                markers; with --all also tombstones and the records that newer ones have replaced.

                Records that this release does not know, or that are damaged, are named with partition and offset.

                Exit status: 0 when all records could be read, 1 when one could not or the cluster cannot be asked, 64 when the command \
                line is wrong.

                EXAMPLES
                  mailboat state dump --bootstrap localhost:9092
                  mailboat state dump --bootstrap localhost:9092 --key order-7
                  mailboat state dump --bootstrap localhost:9092 --audience match-7
                  mailboat state dump --bootstrap localhost:9092 --partition 3 --format json \\
                    --content
                """)

        enum Format: String, ExpressibleByArgument, CaseIterable { case table, json }

        @OptionGroup var kafka: KafkaOptions

        @Option(help: "The state topic. Default: that of --config, or a worker's own default.", form: .topic)
        var topic: String?

        @Option(
            name: .customLong("input-topic"),
            help: ArgumentHelp(
                "Names of the input topics and the routed one, used to show positions. May be repeated; none: those of --config, or a worker's defaults.",
                valueName: "topic"), form: .topic)
        var inputTopics: [String] = []

        @Option(help: "Only this partition.", form: .whole(0...Int32.max))
        var partition: Int32?

        @Option(help: ArgumentHelp("Only this activity or channel.", valueName: "id"))
        var key: String?

        @Option(help: ArgumentHelp("Only this audience and its members.", valueName: "id"))
        var audience: String?

        @Option(help: "Lines for a person, or one JSON object a line.")
        var format = Format.table

        @Flag(help: "Also content-state and alert of what waits.")
        var content = false

        @Flag(help: "Also tombstones and replaced records.")
        var all = false

        func validate() throws {
            if self.key != nil, self.audience != nil {
                throw ValidationError("--key and --audience are given: expected one of them")
            }
        }

        func run() async throws {
            let command = self
            let unreadable = try await NamedThread.run("state-dump") { Result { try command.dump() } }.get()
            if unreadable > 0 { throw ExitCode(1) }
        }

        /// Prints the records. Blocks.
        /// - Returns: number of records that could not be read.
        private func dump() throws -> Int {
            let topics = try self.kafka.cluster.configuration().topics
            let topic = self.topic ?? topics.state
            let count = try self.kafka.partitionCount(of: topic)
            if let partition, !(0..<count).contains(partition) {
                throw CommandFailure("--partition is \(partition): \(topic) has the partitions 0 to \(count - 1)")
            }
            var listing = StateListing(
                reader: StateRecordReader(
                    inputTopics: self.inputTopics.isEmpty ? topics.events + [topics.routed] : self.inputTopics),
                key: self.key, audience: self.audience, showsAll: self.all, showsContent: self.content,
                isJSON: self.format == .json,
                nowMillis: Int64(Date().timeIntervalSince1970 * 1_000))
            let status = StatusLine()
            let partitions = self.partition.map { [$0] } ?? Array(0..<count)
            try self.kafka.forEachRecord(of: topic, partitions: partitions) { partition in
                for line in listing.takeLines() { status.print(line) }
                StandardOutput.endIfBroken()
                status.show(
                    "reading \(topic): partition \(partition) of \(count), \(NumberText.count(listing.recordCount, "record"))"
                )
            } _: { record in
                listing.add(record)
            }
            status.end()
            StandardError.print(listing.summary)
            return listing.unreadableCount
        }
    }
}

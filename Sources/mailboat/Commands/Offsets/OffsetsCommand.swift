import ArgumentParser
import CommandSupport
import Foundation
import KafkaLog
import PushWorker
import Redaction

/// `mailboat offsets`.
struct OffsetsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "offsets", abstract: "Move the consumer group's offsets when they are outside the log.",
        subcommands: [Reset.self])

    struct Reset: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Move the group's offsets to where its workers can go on.",
            discussion: """
                A worker never skips events by itself: a partition whose committed offset is outside the log stops, and readiness names \
                it. Either retention has deleted events that were not read, or the topic was created again; then another record is where \
                the group has read one. This command looks at the input topics and the routed one. It says for each such partition where \
                the offset would go, and what that skips or repeats; with --execute it moves the offsets. Offsets inside the log are left \
                alone, unless --all is given. Events that are repeated and that 'state' knows as applied are not pushed again.

                Stop the group's workers first: offsets of a group with live members are not moved. A stopped worker with a group-instance-id remains a \
                member until its session times out.

                With --format json each line is an object with topic, partition, committed, lowOffset, endOffset, and 'action': keep, would-move, moved, \
                not-moved or cannot-move; 'to' says where, and 'because' why, or what moving there means.

                Exit status: 0 when everything selected was moved (or would be, or there is nothing to move), 1 when something was not, \
                when the group has live members, or when the cluster cannot be asked, 64 when the command line is wrong.

                EXAMPLES
                  mailboat offsets reset --config mailboat.yaml --to earliest
                  mailboat offsets reset --bootstrap localhost:9092 --group mailboat \\
                    --to earliest --execute
                  mailboat offsets reset --config mailboat.yaml --to latest --all --execute
                  mailboat offsets reset --config mailboat.yaml --to earliest --format json |
                    jq 'select(.action != "keep")'
                  mailboat offsets reset --config mailboat.yaml --topic liveactivity.events \\
                    --partition 3 --to 1200 --all --execute
                """)

        @OptionGroup var kafka: KafkaOptions

        @Option(help: "The consumer group. Default: that of --config, or a worker's own default.")
        var group: String?

        @Option(
            name: .customLong("topic"),
            help: ArgumentHelp(
                "Only this topic. May be repeated; none: the input topics and the routed one.", valueName: "topic"),
            form: .topic)
        var topics: [String] = []

        @Option(
            name: .customLong("partition"),
            help: ArgumentHelp("Only this partition. May be repeated.", valueName: "number"),
            form: .whole(0...Int32.max))
        var partitions: [Int32] = []

        @Option(
            help: ArgumentHelp(
                "earliest: skips nothing that is still in the log; latest: only takes what arrives from now on; or an offset, with one --topic and one --partition.",
                valueName: "position"))
        var to: String

        @Flag(help: "Also offsets inside the log, and partitions that the group never committed.")
        var all = false

        @Flag(help: "Move. Without it nothing is written, and the command prints what it would do.")
        var execute = false

        enum Format: String, ExpressibleByArgument, CaseIterable { case text, json }

        @Option(help: "Lines for a person about what is moved, or one JSON object for each partition.")
        var format = Format.text

        func validate() throws {
            if case .offset = try self.target(), self.topics.count != 1 || self.partitions.count != 1 {
                throw ValidationError(
                    "--to \(ShownText.closed(self.to)): an offset needs exactly one --topic and one --partition")
            }
        }

        func run() async throws {
            let command = self
            let isComplete = try await NamedThread.run("offsets") { Result { try command.reset() } }.get()
            if !isComplete { throw ExitCode(1) }
        }

        private func target() throws -> OffsetReset.Target {
            switch self.to {
            case "earliest": return .earliest
            case "latest": return .latest
            default:
                guard let offset = Int64(self.to), offset >= 0 else {
                    throw ValidationError(
                        "--to is \(ShownText.closed(self.to)): expected earliest, latest or an offset such as 1200")
                }
                return .offset(offset)
            }
        }

        // MARK: The work; blocks

        /// Moves the selected offsets.
        /// - Returns: whether everything selected was moved, or would be.
        private func reset() throws -> Bool {
            let configuration = try self.kafka.cluster.configuration()
            let session = try OffsetsSession(self.kafka, group: self.group ?? configuration.kafka.groupID)
            let topics =
                self.topics.isEmpty ? configuration.topics.events + [configuration.topics.routed] : self.topics
            // Ask for the members first. This names a missing right on the group; librdkafka would only wait when asked
            // for offsets.
            let members = try session.members()
            let all = configuration.topics.events + [configuration.topics.routed]
            let positions = try session.positions(of: topics, partitions: self.partitions)
            let reset = OffsetReset(target: try self.target(), includesThoseInside: self.all)
            // Compare all topics: the commits in one topic can show that another topic was created again.
            let isKnown = topics.allSatisfy(all.contains)
            let others = try session.otherLogs(
                among: topics == all || !isKnown
                    ? positions : try session.positions(of: all, partitions: self.partitions))
            let moves = positions.map { position in
                let isOther = others.contains(position.topicPartition)
                return OffsetMove(position, reset.verdict(position, isOtherLog: isOther), isOtherLog: isOther)
            }
            let willMove = self.execute && members.isEmpty
            if self.format == .text {
                for line in moves.compactMap({ $0.line(willMove: willMove) }) { StandardOutput.print(line) }
            }
            let wanted = moves.compactMap(\.wanted)
            let impossibleCount = moves.count(where: \.isImpossible)
            let keptCount = positions.count - wanted.count - impossibleCount
            let kept = "\(keptCount) of \(NumberText.count(positions.count, "partition")) stay where they are"
            var result: CommitResult?
            var isComplete = impossibleCount == 0
            if wanted.isEmpty {
                Self.say(impossibleCount == 0 ? "nothing to move: \(kept)" : "nothing moved; \(kept)")
            } else if !members.isEmpty, self.execute {
                Self.say(Self.refusal(session.group, members, executes: true))
                isComplete = false
            } else if !self.execute {
                if !members.isEmpty { Self.say(Self.refusal(session.group, members, executes: false)) }
                Self.say("\(wanted.count) would be moved, \(kept); nothing was written: --execute moves")
            } else {
                let committed = session.commit(wanted, driverTopic: configuration.topics.events[0])
                self.printMoves(committed, session.group)
                Self.say("\(committed.committed.count) moved, \(committed.refused.count) not, \(kept)")
                isComplete = isComplete && committed.refused.isEmpty
                result = committed
            }
            guard self.format == .json else { return isComplete }
            let refusals = Dictionary(
                (result?.refused ?? []).map {
                    (
                        TopicPartition(topic: $0.position.topic, partition: $0.position.partition),
                        Self.reason($0.error, session.group)
                    )
                }, uniquingKeysWith: { first, _ in first })
            for move in moves {
                StandardOutput.printAlways(
                    move.json(isCommitted: result != nil, refusal: refusals[move.position.topicPartition]))
            }
            return isComplete
        }

        /// Prints Kafka's answer for each partition, for a person.
        private func printMoves(_ result: CommitResult, _ group: String) {
            guard self.format == .text else { return }
            for position in result.committed { StandardOutput.printAlways("moved       \(position)") }
            for refusal in result.refused {
                StandardOutput.printAlways("not moved   \(refusal.position): \(Self.reason(refusal.error, group))")
            }
        }

        /// Why offsets cannot be moved while the group has members, and who must be stopped first.
        static func refusal(_ group: String, _ members: [GroupMember], executes: Bool) -> String {
            let names = members.prefix(5).map { "\($0.groupInstanceID ?? $0.clientID) (\($0.host))" }.joined(
                separator: ", ")
            return "the group \(group) has \(members.count) live member\(members.count == 1 ? "" : "s"): \(names)"
                + (members.count > 5 ? " and more" : "")
                + (executes ? "; nothing was moved: stop them first" : "; stop them before --execute")
                + (members.contains { $0.groupInstanceID != nil }
                    ? " (a stopped one with a group-instance-id remains until its session times out)" : "")
        }

        /// The reason for a failed commit. A broker answers `unknownMember` to a commit from outside while the group
        /// has members.
        private static func reason(_ error: KafkaError, _ group: String) -> String {
            error.code == .unknownMember || error.code == .rebalanceInProgress || error.code == .illegalGeneration
                ? "the group \(group) has live members: stop them first" : "\(error)"
        }

        private static func say(_ line: String) { StatusLine().report(line) }
    }
}

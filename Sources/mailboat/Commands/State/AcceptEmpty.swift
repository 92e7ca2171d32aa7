import ArgumentParser
import CommandSupport
import Foundation
import KafkaLog
import PushEngine
import PushModel
import PushWorker

extension StateCommand {
    struct AcceptEmpty: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "accept-empty",
            abstract: "Let workers continue where the state topic has lost records.",
            discussion: """
                The group's commits say how far 'state' was written. Where it holds less, or nothing that a worker wrote, the topic was \
                created again or emptied. The partition then stops, because registrations are lost and no phone would get a push. Restore \
                the topic if you can. If not, this command writes a record into each such partition, which accepts the loss once: the next \
                worker takes the partition over as it is. This does not bring back what is lost. To have registrations read again, use \
                'mailboat offsets reset --to earliest --all --execute' on the input topics.

                With --all a record is written into every partition, even where 'state' holds records. Positions in 'state' are then void, \
                so that events that are read again do not count as duplicates. Use it when a worker has run on a topic that was created \
                again.

                Stop the group's workers first. The embedded Kafka cannot say whether one is running.

                With --format json each line is an object with partition, acknowledgedFrom, acknowledgedUpTo, lowOffset, endOffset, hasOwner, and 'action': keep, \
                would-accept, accepted or not-accepted.

                Exit status: 0 when everything selected was accepted (or would be, or nothing is lost), 1 when something was not, when the \
                group has live members, or when the cluster cannot be asked, 64 when the command line is wrong.

                EXAMPLES
                  mailboat state accept-empty --config mailboat.yaml
                  mailboat state accept-empty --config mailboat.yaml --execute
                  mailboat state accept-empty --config mailboat.yaml --partition 3 --all \\
                    --execute
                """)

        @OptionGroup var kafka: KafkaOptions

        @Option(help: "The consumer group. Default: that of --config, or a worker's own default.")
        var group: String?

        @Option(
            name: .customLong("partition"),
            help: ArgumentHelp("Only this partition. May be repeated.", valueName: "number"),
            form: .whole(0...Int32.max))
        var partitions: [Int32] = []

        @Flag(help: "Also partitions whose state is complete: its positions are then void.")
        var all = false

        @Flag(help: "Write. Without it nothing is written, and the command prints what it would do.")
        var execute = false

        enum Format: String, ExpressibleByArgument, CaseIterable { case text, json }

        @Option(help: "Lines for a person about what is accepted, or one JSON object for each partition.")
        var format = Format.text

        func run() async throws {
            let command = self
            let isComplete = try await NamedThread.run("state-accept") { Result { try command.accept() } }.get()
            if !isComplete { throw ExitCode(1) }
        }

        // MARK: The work; blocks

        /// Accepts the selected partitions.
        /// - Returns: whether everything selected was accepted, or would be.
        private func accept() throws -> Bool {
            let configuration = try self.kafka.cluster.configuration()
            let topics = configuration.topics
            let session = try OffsetsSession(self.kafka, group: self.group ?? configuration.kafka.groupID)
            let members = try session.members()
            let positions = try session.positions(of: topics.events + [topics.routed], partitions: self.partitions)
            let (looks, partitionCount, clusterID) = try StateLook.all(
                self.kafka, stateTopic: topics.state, positions)
            let wanted = looks.filter { self.all || $0.isLost }
            let willWrite = self.execute && members.isEmpty && !wanted.isEmpty
            if self.format == .text {
                for look in wanted { StandardOutput.print(look.line(topic: topics.state, willWrite: willWrite)) }
            }
            let failures =
                willWrite ? try self.write(wanted, to: topics.state, partitionCount, clusterID) : [:]
            if self.format == .json {
                for look in looks {
                    let isMeant = self.all || look.isLost
                    StandardOutput.print(
                        look.json(isMeant: isMeant, isWritten: willWrite, failure: failures[look.partition]))
                }
            }
            for (number, error) in failures.sorted(by: { $0.key < $1.key }) {
                Self.say("not accepted: \(topics.state)[\(number)]: \(error)")
            }
            let kept =
                "\(looks.count - wanted.count) of \(NumberText.count(looks.count, "partition")) have lost nothing"
            if wanted.isEmpty {
                Self.say("nothing to accept: \(kept)")
            } else if !members.isEmpty {
                Self.say(OffsetsCommand.Reset.refusal(session.group, members, executes: self.execute))
                return !self.execute
            } else if willWrite {
                Self.say("\(wanted.count - failures.count) accepted, \(failures.count) not; \(kept)")
            } else {
                Self.say("\(wanted.count) would be accepted, \(kept); nothing was written: --execute writes")
            }
            return failures.isEmpty
        }

        /// Writes one record to each partition of `looks`. The record says that the partition's loss is accepted.
        /// - Returns: what went wrong, by partition.
        private func write(
            _ looks: [StateLook], to topic: String, _ partitionCount: Int32, _ clusterID: String
        ) throws -> [Int32: String] {
            let producer = try self.kafka.producer()
            let value = StateAcceptance.value(
                partitionCount: partitionCount, clusterID: clusterID,
                wallMillis: Int64(Date().timeIntervalSince1970 * 1_000))
            let key = StateAcceptance.key
            var failures = Dictionary(
                looks.map { ($0.partition, "Kafka did not acknowledge it in time") },
                uniquingKeysWith: { first, _ in first })
            do throws(KafkaError) {
                let topic = try producer.topic(topic)
                for look in looks {
                    var headers = KafkaHeaders()
                    headers.append(
                        name: Array(RecordHeader.acceptedEnd.text.utf8).span,
                        value: Array("\(look.stateEnd ?? 0)".utf8).span)
                    if case .failed(let error) = producer.produce(
                        topic, partition: look.partition, key: key.span, value: value.span, headers: headers,
                        timestampMillis: 0, opaque: 0)
                    {
                        failures[look.partition] = "\(error)"
                    }
                }
            } catch { throw CommandFailure("\(topic) cannot be written: \(error)") }
            _ = producer.flush(within: self.kafka.limit) { delivery in
                failures[delivery.partition] = delivery.error.map { "\($0)" }
            }
            return failures
        }

        private static func say(_ line: String) { StatusLine().report(line) }
    }
}

import KafkaLog
import Logging
import PushModel
import PushTransport
import ShardLoop

/// Looks into the logs of new partitions before anything is read or claimed. It checks whether a record is where the
/// last commit says, and how far `state` reaches. Logs that cannot be read in time are not checked, which a log line
/// reports.
struct LogLook: Sendable {
    let logReader: KafkaLogReader
    let stateTopic: String
    /// Names the group and the brokers.
    let kafka: WorkerConfiguration.Kafka
    let logger: Logger

    /// Time limit for all looks. The other members of the group wait meanwhile.
    private static let durationMax: Duration = .seconds(5)

    /// - Parameters:
    ///   - partitions: the new partitions.
    ///   - topics: the input topics.
    ///   - positions: the group's offsets.
    ///   - startFrom: where reading begins without a commit.
    func findings(
        _ partitions: [Int32], topics: [String], positions: [TopicPartition: PartitionPositions],
        startFrom: WorkerConfiguration.StartFrom
    ) async -> [Int32: LogFindings] {
        let look = self
        return await NamedThread.run("kafka-look") {
            var findings: [Int32: LogFindings] = [:]
            let deadline = ContinuousClock.now + Self.durationMax
            look.lookAtInput(partitions, topics, positions, until: deadline, &findings)
            look.lookAtState(partitions, topics, positions, startFrom, until: deadline, &findings)
            return findings
        }
    }

    // MARK: Blocks

    private func lookAtInput(
        _ partitions: [Int32], _ topics: [String], _ positions: [TopicPartition: PartitionPositions],
        until deadline: ContinuousClock.Instant, _ findings: inout [Int32: LogFindings]
    ) {
        var sampled: [(number: Int32, topic: Int, sample: CommitMetadata.Sample, position: PartitionPositions)] = []
        for number in partitions {
            let mine = topics.compactMap { positions[TopicPartition(topic: $0, partition: number)] }
            for (index, sample) in StartPositions.samples(mine).enumerated() {
                if let sample { sampled.append((number, index, sample, mine[index])) }
            }
        }
        let found = self.logReader.found(
            sampled.map { ($0.sample, $0.position) }, within: deadline - .now, whenUnknown: self.warn)
        for (one, found) in zip(sampled, found) {
            findings[one.number, default: LogFindings()].found[one.topic] = found
        }
    }

    private func lookAtState(
        _ partitions: [Int32], _ topics: [String], _ positions: [TopicPartition: PartitionPositions],
        _ startFrom: WorkerConfiguration.StartFrom, until deadline: ContinuousClock.Instant,
        _ findings: inout [Int32: LogFindings]
    ) {
        var foreign: [Int32] = []
        for log in self.logs(of: partitions.map { TopicPartition(topic: self.stateTopic, partition: $0) }) {
            let number = log.topicPartition.partition
            // The beginning is needed even if the partition never had an owner: its first owner records where `state`
            // begins.
            findings[number, default: LogFindings()].stateLogStart = log.lowOffset
            findings[number]?.stateLogEnd = log.endOffset
            let mine = topics.compactMap { positions[TopicPartition(topic: $0, partition: number)] }
            let start = StartPositions(partition: number, positions: mine, startFrom: startFrom)
            let maySkip = startFrom == .end && mine.contains { $0.committed == nil }
            let extent = GroupWord.StateExtent(start)
            let isUncommitted = !mine.isEmpty && mine.allSatisfy { $0.committed == nil }
            guard maySkip || isUncommitted || extent.isCut(log) else { continue }
            do throws(KafkaError) {
                let word = try GroupWord.stateWord(
                    log, extent, self.logReader, within: max(.milliseconds(1), deadline - .now))
                findings[number]?.stateHasOwner = word.hasOwner
                findings[number]?.acceptedStateEnd = word.acceptedEnd
                if isUncommitted, word.hasOwner { foreign.append(number) }
            } catch {
                self.warn(log.topicPartition, error)
            }
        }
        guard !foreign.isEmpty else { return }
        self.logger.warning(
            "workers have written to this state, but Kafka has no offsets of this worker's group: does another kafka.group use the same state, or were the offsets deleted?",
            metadata: [
                "group": "\(self.kafka.groupID)", "state": "\(self.stateTopic)",
                "partitions": "\(foreign.map { "\($0)" }.joined(separator: ","))", "remedy": "\(GroupWord.sameGroup)",
            ])
    }

    /// The bounds of the logs that Kafka answered for.
    private func logs(of partitions: [TopicPartition]) -> [PartitionPositions] {
        guard !partitions.isEmpty else { return [] }
        do throws(KafkaError) {
            let logs = try self.logReader.logsOfEach(partitions, within: Self.durationMax)
            return partitions.compactMap { partition in
                guard let log = logs[partition] else {
                    self.warn(partition, KafkaError(code: .timedOut))
                    return nil
                }
                return PartitionPositions(
                    topicPartition: partition, committed: nil, lowOffset: log.low, endOffset: log.end)
            }
        } catch {
            self.warn(partitions[0], error)
            return []
        }
    }

    private func warn(_ partition: TopicPartition, _ error: KafkaError) {
        self.logger.warning(
            "cannot check whether a log is still the one that the group has read; continuing without this check",
            metadata: self.kafka.metadata(of: error).merging(["partition": "\(partition)"]) { $1 })
    }
}

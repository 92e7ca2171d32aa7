import KafkaLog
import Logging
import PushEngine
import PushModel
import PushTransport

/// Asks regularly where the logs of the owned partitions end. The ends show the lag, and partitions that make no
/// progress. The watch also notices that Kafka answers again, and that events arrive while no push leaves.
struct LagWatch {
    let seat: GroupSeat
    let hub: SnapshotHub
    let committer: Committer
    let inputTopics: [String]
    let kafkaLines: KafkaLines
    let stallLimitMillis: Int64
    let logger: Logger

    static let interval: Duration = .seconds(5)
    /// How long Kafka may be silent before a doubt becomes an error. After a broker has closed its connections, clients
    /// are back within a second or two.
    static let doubtMillisMax: Int64 = 3_000
    /// Interval at which Kafka is asked while there is a doubt.
    private static let doubtInterval: Duration = .milliseconds(250)

    /// Asks again and again until the task is cancelled.
    func run() async {
        var progress = PartitionProgress(limitMillis: self.stallLimitMillis)
        var outflow = OutflowWatch()
        while !Task.isCancelled {
            await self.ask(&progress)
            self.look(&outflow)
            self.kafkaLines.writeHeldBack()
            await self.rest()
        }
    }

    /// Waits until it is time to ask again. The wait is shorter while there is a doubt whether Kafka answers.
    private func rest() async {
        let end = ContinuousClock.now + Self.interval
        repeat {
            guard (try? await Task.sleep(for: Self.doubtInterval)) != nil else { return }
        } while ContinuousClock.now < end && self.hub.group.kafkaDoubt == nil
    }

    private func ask(_ progress: inout PartitionProgress) async {
        let watermarks = self.hub.watermarks
        // Partition 0 is always among the questions, so that an answer shows that Kafka is there.
        let wanted =
            watermarks.map { TopicPartition(topic: self.inputTopics[Int($0.topic)], partition: $0.partition) } + [
                TopicPartition(topic: self.inputTopics[0], partition: 0)
            ]
        let consumer = self.seat.consumer
        let ends = await NamedThread.run("kafka-lag") { () -> PositionAnswers? in
            try? consumer.positionsOfEach(wanted, within: .seconds(3))
        }
        let counts = self.committer.counts
        // The end of a partition without a leader is missing in the answer.
        let logEnds = ends.map { ends in
            zip(watermarks, wanted).compactMap { watermark, partition in
                ends.known[partition].map {
                    CommitPosition(topic: watermark.topic, partition: watermark.partition, nextOffset: $0.endOffset)
                }
            }
        }
        let stalls = self.look(logEnds, &progress)
        self.hub.updateGroup { report in
            report.commits = counts.commits
            report.commitsFailed = counts.failures
            report.stalls = stalls
            let nowMillis = MachineClock.now().steadyMillis
            report.lookedAtMillis = nowMillis
            guard let logEnds else {
                if let doubt = report.kafkaDoubt, nowMillis - doubt.sinceMillis >= Self.doubtMillisMax {
                    report.errors["kafka"] = doubt.text
                }
                return
            }
            report.errors["kafka"] = nil
            report.kafkaDoubt = nil
            report.logEnds = logEnds
        }
    }

    /// Checks whether arriving events lead to pushes. A line is logged when they do not, and when they do again.
    private func look(_ outflow: inout OutflowWatch) {
        let counts = OutflowWatch.Counts(self.hub.snapshot.engine)
        let complaint = outflow.look(counts, nowMillis: MachineClock.now().steadyMillis)
        let former = self.hub.group.outflowComplaint
        if complaint != nil, former == nil { self.logger.error("\(complaint ?? "")") }
        if complaint == nil, former != nil { self.logger.notice("pushes leave again, or events no longer arrive") }
        if complaint != former { self.hub.updateGroup { $0.outflowComplaint = complaint } }
    }

    /// Checks the progress of the owned partitions.
    /// - Parameter logEnds: ends of the logs; `nil`: Kafka did not answer.
    private func look(_ logEnds: [CommitPosition]?, _ progress: inout PartitionProgress) -> [PartitionProgress.Stall] {
        let nowMillis = MachineClock.now().steadyMillis
        guard let logEnds else {
            progress.excuse()
            return []
        }
        let stalls = progress.look(
            self.hub.readings(inputTopics: self.inputTopics, logEnds: logEnds), nowMillis: nowMillis)
        for stall in stalls {
            self.logger.error("a partition makes no progress", metadata: ["partition": "\(stall)"])
        }
        return stalls
    }
}

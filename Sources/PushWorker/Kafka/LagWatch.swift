import KafkaLog
import Logging
import PushEngine
import PushModel
import PushTransport

/// Asks regularly where the logs of the owned partitions end: for the lag, and for partitions that make no progress.
/// Also notices that Kafka answers again, and that events arrive while nothing leaves.
struct LagWatch {
    let seat: GroupSeat
    let hub: SnapshotHub
    let committer: Committer
    let inputTopics: [String]
    let kafkaLines: KafkaLines
    let stallLimitMillis: Int64
    let logger: Logger

    static let interval: Duration = .seconds(5)
    /// Silence up to this long raises no doubt: after a broker has closed its connections, clients are back within a
    /// second or two.
    static let doubtMillisMax: Int64 = 3_000
    /// Interval at which doubt about Kafka is checked.
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

    /// Waits until it is time to ask again: less long while it is in doubt whether Kafka answers.
    private func rest() async {
        let end = ContinuousClock.now + Self.interval
        repeat {
            guard (try? await Task.sleep(for: Self.doubtInterval)) != nil else { return }
        } while ContinuousClock.now < end && self.hub.group.kafkaDoubt == nil
    }

    private func ask(_ progress: inout PartitionProgress) async {
        let watermarks = self.hub.watermarks
        // At least one partition is always asked for, because an answer shows that Kafka is there.
        let wanted =
            watermarks.map { TopicPartition(topic: self.inputTopics[Int($0.topic)], partition: $0.partition) } + [
                TopicPartition(topic: self.inputTopics[0], partition: 0)
            ]
        let consumer = self.seat.consumer
        let ends = await NamedThread.run("kafka-lag") { () -> PositionAnswers? in
            try? consumer.positionsOfEach(wanted, within: .seconds(3))
        }
        let counts = self.committer.counts
        // The end of a partition without a leader is unknown; the others are known.
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

    /// Checks whether events that arrive also leave. A line is logged when this stops, and when it is right again.
    private func look(_ outflow: inout OutflowWatch) {
        let counts = OutflowWatch.Counts(self.hub.snapshot.engine)
        let complaint = outflow.look(counts, nowMillis: MachineClock.now().steadyMillis)
        let former = self.hub.group.outflowComplaint
        if complaint != nil, former == nil { self.logger.error("\(complaint ?? "")") }
        if complaint == nil, former != nil { self.logger.notice("pushes leave again, or events no longer arrive") }
        if complaint != former { self.hub.updateGroup { $0.outflowComplaint = complaint } }
    }

    /// Looks at the progress of the owned partitions.
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

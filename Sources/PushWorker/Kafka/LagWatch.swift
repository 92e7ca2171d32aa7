import KafkaLog
import Logging
import PushEngine
import PushModel
import PushTransport

/// Asks now and then where the logs of the owned partitions end: for the lag, and for partitions that do not get on.
/// It also notices that Kafka answers again, and that events come and nothing leaves.
struct LagWatch {
    let seat: GroupSeat
    let hub: SnapshotHub
    let committer: Committer
    let inputTopics: [String]
    let kafkaLines: KafkaLines
    let stallLimitMillis: Int64
    let logger: Logger

    static let interval: Duration = .seconds(5)
    /// For so long nobody has to answer: clients come back to a broker that has ended their connections within a second or two.
    static let doubtMillisMax: Int64 = 3_000
    /// Whether Kafka is in doubt is looked at so often.
    private static let doubtInterval: Duration = .milliseconds(250)

    /// Until cancelled.
    func run() async {
        var progress = PartitionProgress(limitMillis: self.stallLimitMillis)
        var outflow = OutflowWatch()
        while !Task.isCancelled {
            await self.ask(&progress)
            self.look(&outflow)
            self.kafkaLines.tell()
            await self.rest()
        }
    }

    /// Until it is time to ask again: sooner when somebody doubts that Kafka answers.
    private func rest() async {
        let end = ContinuousClock.now + Self.interval
        repeat {
            guard (try? await Task.sleep(for: Self.doubtInterval)) != nil else { return }
        } while ContinuousClock.now < end && self.hub.group.kafkaDoubt == nil
    }

    private func ask(_ progress: inout PartitionProgress) async {
        let watermarks = self.hub.watermarks
        // One partition is always asked for: an answer shows that Kafka is there.
        let wanted =
            watermarks.map { TopicPartition(topic: self.inputTopics[Int($0.topic)], partition: $0.partition) } + [
                TopicPartition(topic: self.inputTopics[0], partition: 0)
            ]
        let consumer = self.seat.consumer
        let ends = await NamedThread.run("kafka-lag") { () -> PositionAnswers? in
            try? consumer.positionsOfEach(wanted, within: .seconds(3))
        }
        let counts = self.committer.counts
        // One that nobody leads has no end that is known; the others have.
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

    /// Whether what comes also leaves. A line tells when that begins and when it is over.
    private func look(_ outflow: inout OutflowWatch) {
        let counts = OutflowWatch.Counts(self.hub.snapshot.engine)
        let complaint = outflow.look(counts, nowMillis: MachineClock.now().steadyMillis)
        let former = self.hub.group.outflowComplaint
        if complaint != nil, former == nil { self.logger.error("\(complaint ?? "")") }
        if complaint == nil, former != nil { self.logger.notice("something leaves again, or nothing comes any more") }
        if complaint != former { self.hub.updateGroup { $0.outflowComplaint = complaint } }
    }

    /// - Parameter logEnds: `nil`: Kafka did not answer.
    private func look(_ logEnds: [CommitPosition]?, _ progress: inout PartitionProgress) -> [PartitionProgress.Stall] {
        let nowMillis = MachineClock.now().steadyMillis
        guard let logEnds else {
            progress.excuse()
            return []
        }
        let stalls = progress.look(
            self.hub.readings(inputTopics: self.inputTopics, logEnds: logEnds), nowMillis: nowMillis)
        for stall in stalls {
            self.logger.error("a partition does not get on", metadata: ["partition": "\(stall)"])
        }
        return stalls
    }
}

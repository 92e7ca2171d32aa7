import KafkaLog
import PushEngine

/// Asks now and then where the logs of the owned partitions end, for lag, and notices that Kafka answers again.
struct LagWatch {
    let consumer: KafkaConsumer
    let hub: SnapshotHub
    let committer: Committer
    let inputTopics: [String]
    let kafkaLines: KafkaLines

    static let interval: Duration = .seconds(5)

    /// Until cancelled.
    func run() async {
        while !Task.isCancelled {
            await self.ask()
            self.kafkaLines.tell()
            try? await Task.sleep(for: Self.interval)
        }
    }

    private func ask() async {
        let watermarks = self.hub.watermarks
        // One partition is always asked for: an answer shows that Kafka is there.
        let wanted =
            watermarks.map { TopicPartition(topic: self.inputTopics[Int($0.topic)], partition: $0.partition) } + [
                TopicPartition(topic: self.inputTopics[0], partition: 0)
            ]
        let consumer = self.consumer
        let ends = await NamedThread.run("kafka-lag") { () -> [PartitionPositions]? in
            try? consumer.positions(of: wanted, within: .seconds(3))
        }
        let counts = self.committer.counts
        self.hub.updateGroup { report in
            report.commits = counts.commits
            report.commitsFailed = counts.failures
            guard let ends else { return }
            report.errors["kafka"] = nil
            report.logEnds = zip(watermarks, ends.prefix(watermarks.count)).map { watermark, position in
                CommitPosition(topic: watermark.topic, partition: watermark.partition, nextOffset: position.endOffset)
            }
        }
    }
}

import Logging
import PushEngine
import ShardLoop

/// The log lines of a shard.
enum ShardLines {
    static func write(_ news: ShardNews, _ configuration: WorkerConfiguration, to logger: Logger) {
        let stateTopic = configuration.topics.state
        switch news {
        case .halted(let partition, let reason):
            logger.error("partition \(partition) is halted", metadata: ["cause": "\(reason)"])
        case .restored(let partition, let recordCount, let durationMillis, let starts):
            logger.info(
                "partition \(partition) restored",
                metadata: [
                    "records": "\(recordCount)", "ms": "\(durationMillis)",
                    "starts": "\(starts.map { "\($0.nextOffset)" }.joined(separator: ","))",
                ])
        case .voided(let partition, .cluster(let clusterID)):
            logger.error(
                "the state of partition \(partition) was written for another Kafka cluster: its positions mean nothing here, every event in the log is taken as new",
                metadata: ["cluster": "\(clusterID)"])
        case .voided(let partition, .newLog):
            logger.error(
                "the input of partition \(partition) is another log, into which its offset was moved: positions in its state mean nothing, every event in the log is taken as new"
            )
        case .voided(let partition, .accepted):
            logger.error(
                "the loss of the state of partition \(partition) was accepted: positions in it mean nothing, every event in the log is taken as new"
            )
        case .restoring(let partitionCount, let recordCount, let recordCountMax):
            logger.info(
                "reading state",
                metadata: [
                    "partitions": "\(partitionCount)", "records": "\(recordCount)", "of": "\(recordCountMax)",
                ])
        case .gapFound(let gap):
            logger.warning(
                "somebody else has written to the state of this worker's partition; reading these records",
                metadata: ["partition": "\(stateTopic)[\(gap.partition)]", "offsets": "\(gap.offsets)"])
        case .gapRepaired(let partition, let recordCount):
            logger.warning(
                "the state of this worker's partition is repaired",
                metadata: ["partition": "\(stateTopic)[\(partition)]", "records": "\(recordCount)"])
        case .producerEnded(let failure):
            logger.warning(
                "the Kafka producer of this shard has ended; another takes its place", metadata: ["cause": "\(failure)"]
            )
        case .producerNotRenewed(let failure):
            logger.warning(
                "no other Kafka producer can be made; trying again", metadata: Self.metadata(failure, configuration))
        case .producerRenewed(let afterMillis):
            logger.notice("this shard has another Kafka producer", metadata: ["after-ms": "\(afterMillis)"])
        case .readingFails(let failure):
            logger.warning("a partition cannot be read for now", metadata: Self.metadata(failure, configuration))
        case .keeper(let notice): Self.write(notice, to: logger)
        case .released, .failed, .misplaced, .untimed, .refused, .tokenRefused: break
        }
    }

    /// Metadata of a line about a failure whose cause may be that no broker answers.
    private static func metadata(_ failure: LogFailure, _ configuration: WorkerConfiguration) -> Logger.Metadata {
        ["cause": "\(failure)", "brokers": "\(configuration.kafka.shownBrokers)"]
    }

    /// Writes a notice of a channel keeper for an operator.
    private static func write(_ notice: KeeperNotice, to logger: Logger) {
        var metadata: Logger.Metadata = ["app": "\(notice.bundleID)", "environment": "\(notice.environment)"]
        if let channel = notice.channel { metadata["channel"] = "\(channel)" }
        logger.log(level: notice.isError ? .error : .warning, "\(notice.text)", metadata: metadata)
    }
}

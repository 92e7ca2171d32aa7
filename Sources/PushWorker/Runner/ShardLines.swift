import Logging
import PushEngine
import ShardLoop

/// The log lines of a shard.
enum ShardLines {
    static func write(_ news: ShardNews, stateTopic: String, to logger: Logger) {
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
        case .voided(let partition, let clusterID):
            logger.error(
                "the state of partition \(partition) was written for another Kafka cluster: its positions mean nothing here, every event in the log is taken as new",
                metadata: ["cluster": "\(clusterID)"])
        case .restoring(let partitionCount, let recordCount, let recordCountMax):
            logger.info(
                "reading state",
                metadata: [
                    "partitions": "\(partitionCount)", "records": "\(recordCount)", "of": "\(recordCountMax)",
                ])
        case .gapFound(let gap):
            logger.warning(
                "somebody else has written to the state of an own partition; reading what",
                metadata: ["partition": "\(stateTopic)[\(gap.partition)]", "offsets": "\(gap.offsets)"])
        case .gapRepaired(let partition, let recordCount):
            logger.warning(
                "the state of an own partition is repaired",
                metadata: ["partition": "\(stateTopic)[\(partition)]", "records": "\(recordCount)"])
        case .readingFails(let failure):
            logger.warning("a partition cannot be read for now", metadata: ["cause": "\(failure)"])
        case .released, .failed, .misplaced: break
        }
    }
}

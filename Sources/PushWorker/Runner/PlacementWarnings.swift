import Logging
import PushEngine
import Synchronization

/// Warns of each input topic whose records are misplaced, once: when the first shard notices (contract: Placement). May
/// be used from any thread.
package final class PlacementWarnings: Sendable {
    /// The name of the field that says which partition a record belongs to.
    package static let partitionName = "belongs-to"
    private let topicsWarnedOf = Mutex<Set<UInt16>>([])

    func warn(_ misplacement: Misplacement, inputTopics: [String], logger: Logger) {
        guard self.topicsWarnedOf.withLock({ $0.insert(misplacement.topic).inserted }) else { return }
        let topic = inputTopics[Int(misplacement.topic)]
        logger.warning(
            "records of \(topic) are on the wrong partition; each passes through Kafka twice",
            metadata: [
                "first": "\(topic)[\(misplacement.partition)]@\(misplacement.offset)",
                Self.partitionName: "\(misplacement.properPartition)",
                "remedy":
                    "place records by murmur2 of the key, as Java does; with librdkafka: partitioner=murmur2_random",
            ])
    }
}

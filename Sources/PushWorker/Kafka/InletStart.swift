import KafkaLog
import PushEngine
import ShardLoop

/// Where an inlet begins. An inlet is a partition of input topics that was added after `state` was written. Pure.
struct InletStart {
    var grant: PartitionGrant

    /// - Parameters:
    ///   - topics: the input topics without the routed one. A topic whose positions are unknown does not have the
    ///     partition.
    ///   - canBeRead: whether every existing topic of the partition can be read.
    init(
        partition: Int32, topics: [String], positions: [TopicPartition: PartitionPositions], canBeRead: Bool
    ) {
        var (starts, ends, reasons): ([CommitPosition], [CommitPosition], [String]) = ([], [], [])
        for (index, topic) in topics.enumerated() {
            guard let position = positions[TopicPartition(topic: topic, partition: partition)] else { continue }
            // `start-from` does not apply: all records of the partition came after `state` was first written.
            let start = position.committed ?? position.lowOffset
            if !position.isCommittedInLog {
                reasons.append(
                    "the group's committed offset \(start) of \(position.topicPartition) is outside the log (\(position.lowOffset) to \(position.endOffset)); \(PositionRemedy.text)"
                )
            }
            starts.append(CommitPosition(topic: UInt16(index), partition: partition, nextOffset: start))
            ends.append(CommitPosition(topic: UInt16(index), partition: partition, nextOffset: position.endOffset))
        }
        if !canBeRead { reasons.append("a queue of the partition is missing") }
        self.grant = PartitionGrant(
            number: partition, starts: starts, logEnds: ends, isInlet: true,
            haltReason: reasons.isEmpty ? nil : reasons.joined(separator: "; "))
    }
}

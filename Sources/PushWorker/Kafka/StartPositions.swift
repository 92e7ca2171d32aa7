import KafkaLog
import PushEngine

/// Where the topics of one partition begin to be read (contract §6, first start and committed offsets outside the log).
/// Pure.
struct StartPositions: Equatable {
    /// By input topic index.
    var starts: [CommitPosition] = []
    var logEnds: [CommitPosition] = []
    /// To be committed at once: where the group begins although it never committed, so that a restart does not begin elsewhere, and what
    /// carries a note of the former owner's.
    var toCommit: [CommitPosition] = []
    /// What the former owner left word of; `nil`: nothing.
    var releaseNote: ReleaseNote?
    /// Why the partition cannot be consumed; `nil`: it can.
    var haltReason: String?

    /// - Parameter positions: of one partition number, in the order of the input topics; the routed topic is the last.
    init(partition: Int32, positions: [PartitionPositions], startFrom: WorkerConfiguration.StartFrom) {
        var reasons: [String] = []
        for (topic, position) in positions.enumerated() {
            let start: Int64
            if let committed = position.committed {
                start = committed
                if topic == 0, let note = ReleaseNote(metadata: position.committedMetadata) {
                    self.releaseNote = note
                    // It was said to this owner alone.
                    self.toCommit.append(CommitPosition(topic: 0, partition: partition, nextOffset: start))
                }
                if !position.isCommittedInLog {
                    reasons.append(
                        "the group's committed offset \(committed) of \(position.topicPartition) is outside the log (\(position.lowOffset) to \(position.endOffset)): events were cut off by retention, or the topic is another one; \(PositionRemedy.text)"
                    )
                }
            } else {
                // What was forwarded has been taken from the input already: it is never skipped.
                let isRouted = topic == positions.count - 1
                start = startFrom == .beginning || isRouted ? position.lowOffset : position.endOffset
                if startFrom == .end {
                    self.toCommit.append(CommitPosition(topic: UInt16(topic), partition: partition, nextOffset: start))
                }
            }
            self.starts.append(CommitPosition(topic: UInt16(topic), partition: partition, nextOffset: start))
            self.logEnds.append(
                CommitPosition(topic: UInt16(topic), partition: partition, nextOffset: position.endOffset))
        }
        if !reasons.isEmpty { self.haltReason = reasons.joined(separator: "; ") }
    }
}

/// What to do about a position outside the log. The worker never jumps by itself.
enum PositionRemedy {
    static let text =
        "stop the group's workers, run 'mailboat offsets reset', which says what would be skipped or repeated and with --execute moves the offset, and start them again"
}

import CommandSupport
import KafkaLog
import PushWorker

/// What `mailboat offsets reset` does with the offset of a partition, as a line for a person or a program.
struct OffsetMove {
    let position: PartitionPositions
    private let verdict: OffsetReset.Verdict
    /// Whether the group has read another log than this one: a record differs, or this log ends before the group's
    /// offset.
    private let isOtherLog: Bool

    init(_ position: PartitionPositions, _ verdict: OffsetReset.Verdict, isOtherLog: Bool = false) {
        self.position = position
        self.verdict = verdict
        self.isOtherLog = isOtherLog || position.committed.map { $0 > position.endOffset } ?? false
    }

    /// The target position; `nil`: the offset is not moved.
    var wanted: TopicPartitionOffset? {
        guard case .move(let offset) = self.verdict else { return nil }
        return TopicPartitionOffset(
            topic: self.position.topicPartition.topic, partition: self.position.topicPartition.partition,
            offset: offset,
            metadata: self.isOtherLog ? GroupWord.newLogMetadata : nil)
    }

    var isImpossible: Bool {
        if case .impossible = self.verdict { return true }
        return false
    }

    /// The line for a person; `nil`: the offset stays, and there is nothing to report.
    /// - Parameter willMove: whether the move is about to be done, rather than only shown.
    func line(willMove: Bool) -> String? {
        let (topicPartition, low, end) = (
            "\(self.position.topicPartition)", self.position.lowOffset, self.position.endOffset
        )
        switch self.verdict {
        case .keep: return nil
        case .impossible(let reason): return "cannot move \(topicPartition): \(reason)"
        case .move(let offset):
            let from = self.position.committed.map { "\($0)" } ?? "none"
            return
                "\(willMove ? "to move" : "would move") \(topicPartition) from \(from) to \(offset) (log \(low) to \(end)): "
                + OffsetReset.consequences(of: offset, self.position, isOtherLog: self.isOtherLog).joined(
                    separator: "; ")
        }
    }

    private struct Line: Encodable {
        var topic: String
        var partition: Int32
        var committed: Int64?
        var lowOffset: Int64
        var endOffset: Int64
        /// What is done: `keep`, `would-move`, `moved`, `not-moved` or `cannot-move`.
        var action: String
        var to: Int64?
        var because: String
    }

    /// One object on one line.
    /// - Parameters:
    ///   - isCommitted: whether Kafka was asked to move the offsets.
    ///   - refusal: why Kafka did not move this offset.
    func json(isCommitted: Bool, refusal: String?) -> String {
        let (action, to, because): (String, Int64?, String) =
            switch self.verdict {
            case .keep(let reason): ("keep", nil, reason)
            case .impossible(let reason): ("cannot-move", nil, reason)
            case .move(let offset):
                (
                    !isCommitted ? "would-move" : refusal == nil ? "moved" : "not-moved", offset,
                    refusal
                        ?? OffsetReset.consequences(of: offset, self.position, isOtherLog: self.isOtherLog).joined(
                            separator: "; ")
                )
            }
        return JSONLine.text(
            Line(
                topic: self.position.topicPartition.topic, partition: self.position.topicPartition.partition,
                committed: self.position.committed, lowOffset: self.position.lowOffset,
                endOffset: self.position.endOffset, action: action, to: to, because: because))
    }
}

import KafkaLog
import ShardLoop
import Synchronization

/// A queue whose topic was said not to exist. Nothing more of it is read before somebody has looked whether the log is still the same: a
/// topic that was deleted and made anew goes on under the same name.
final class LogSuspicion: Sendable {
    private enum Answer { case none, same, other(String) }
    private let answer = Mutex(Answer.none)

    /// - Parameter reason: why it is another log; `nil`: it is the same one.
    func found(_ reason: String?) { self.answer.withLock { $0 = reason.map { .other($0) } ?? .same } }

    /// What a read of the queue finds meanwhile; `nil`: it may be read again.
    var read: QueueRead? {
        switch self.answer.withLock({ $0 }) {
        case .same: nil
        case .none: QueueRead(recordCount: 0, mayHaveMore: false)
        case .other(let reason):
            QueueRead(recordCount: 0, mayHaveMore: false, failure: LogFailure(reason, isFinal: true))
        }
    }
}

extension PartitionFailure {
    /// Kafka does not know the topic, or has no such partition of it any more.
    var isOfMissingLog: Bool {
        guard case .failed(_, let error) = self else { return false }
        return error.code == .unknownTopicOrPartition || error.code == .unknownPartition
    }
}

extension LogLook {
    /// Whether the log of which `sample` was read is another one now, asked until it is there again; why. `nil`: the same one.
    /// - Parameter isWanted: the partition may leave meanwhile.
    func reasonIfOther(
        _ partition: TopicPartition, _ sample: PositionNote.Sample, while isWanted: @Sendable () -> Bool
    ) async -> String? {
        while isWanted() {
            let look = self
            let reason = await NamedThread.run("kafka-look") { () -> Result<String?, KafkaError> in
                do throws(KafkaError) {
                    let position = try look.logReader.positions(of: [partition], within: .seconds(3))[0]
                    let found = try look.logReader.found(sample, position, within: .seconds(3))
                    return .success(
                        LogIdentity.reasonIfOther(
                            topic: partition.topic, partition: partition.partition, sample, found,
                            logEnd: position.endOffset))
                } catch {
                    return .failure(error)
                }
            }
            if case .success(let reason) = reason { return reason }
            try? await Task.sleep(for: .seconds(1))
        }
        return nil
    }
}

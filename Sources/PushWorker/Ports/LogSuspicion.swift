import KafkaLog
import ShardLoop
import Synchronization

/// A suspicion that a queue's log was replaced. It arises when Kafka says that the topic or partition does not exist. A
/// topic that was deleted may be created again with the same name. So nothing more is read from the queue until the log
/// has been checked.
final class LogSuspicion: Sendable {
    private enum Answer { case none, same, other(String) }
    private let answer = Mutex(Answer.none)
    /// Requests another read of the queue, even if no new record arrives.
    private let whenFound: @Sendable () -> Void

    init(whenFound: @escaping @Sendable () -> Void) { self.whenFound = whenFound }

    /// Takes the result of the check.
    /// - Parameter reason: why the log is another one; `nil` when it is the same one.
    func found(_ reason: String?) {
        self.answer.withLock { $0 = reason.map { .other($0) } ?? .same }
        self.whenFound()
    }

    /// What a read of the queue returns while the suspicion is there; `nil` when the queue may be read again.
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
    /// Whether Kafka does not know the topic, or the topic no longer has the partition.
    var isOfMissingLog: Bool {
        guard case .failed(_, let error) = self else { return false }
        return error.code == .unknownTopicOrPartition || error.code == .unknownPartition
    }
}

extension LogLook {
    /// How long a log must be seen unchanged. A broker may still answer for a deleted topic's log for a moment.
    private static let settlingDuration: Duration = .seconds(3)

    /// Why the log that `sample` was read from is another one now; `nil` when it is the same one. Asks until the log
    /// exists again.
    /// - Parameters:
    ///   - sample: a record that was read; `nil`: nothing was read, and the call only waits until the log exists.
    ///   - isWanted: whether the answer is still wanted, because the partition may leave meanwhile.
    ///   - whenMissing: called each time the log is missing, once it has been missing for a while.
    func reasonIfOther(
        _ partition: TopicPartition, _ sample: CommitMetadata.Sample?, while isWanted: @Sendable () -> Bool,
        whenMissing: @Sendable (KafkaError) -> Void
    ) async -> String? {
        let settled = ContinuousClock.now + Self.settlingDuration
        while isWanted() {
            let look = self
            let reason = await NamedThread.run("kafka-look") { () -> Result<String?, KafkaError> in
                do throws(KafkaError) {
                    let position = try look.logReader.positions(of: [partition], within: .seconds(3))[0]
                    guard let sample else { return .success(nil) }
                    let found = try look.logReader.found(sample, position, within: .seconds(3))
                    return .success(
                        LogIdentity.reasonIfOther(
                            topic: partition.topic, partition: partition.partition, sample, found,
                            logEnd: position.endOffset))
                } catch {
                    return .failure(error)
                }
            }
            let isSettled = ContinuousClock.now >= settled
            switch reason {
            case .success(let reason): if reason != nil || isSettled { return reason }
            case .failure(let error): if isSettled { whenMissing(error) }
            }
            try? await Task.sleep(for: .seconds(1))
        }
        return nil
    }
}

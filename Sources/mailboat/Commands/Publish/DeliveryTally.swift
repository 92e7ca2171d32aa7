import KafkaLog
import Synchronization

/// Counts the results of one `mailboat publish`. Two threads use it: the reader of the input and the drainer of Kafka's
/// answers.
final class DeliveryTally: Sendable {
    struct Counts: Equatable, Sendable {
        /// Number of records handed to the producer.
        var queuedCount = 0
        var acknowledgedCount = 0
        /// Number of lines that are not records, or that the producer or Kafka refused.
        var failedCount = 0

        /// Number of records handed to the producer and not answered yet.
        var outstandingCount: Int { self.queuedCount - self.acknowledgedCount - self.failedAfterQueuingCount }
        fileprivate var failedAfterQueuingCount = 0
    }

    private let counts = Mutex(Counts())
    /// Writes a message for the user. Called on the reader's and on the drainer's thread.
    private let report: @Sendable (String) -> Void
    /// Called for each acknowledgement; `nil`: acknowledgements are only counted.
    private let acknowledged: (@Sendable (String) -> Void)?

    init(report: @escaping @Sendable (String) -> Void, acknowledged: (@Sendable (String) -> Void)?) {
        self.report = report
        self.acknowledged = acknowledged
    }

    var current: Counts { self.counts.withLock { $0 } }

    func queued() { self.counts.withLock { $0.queuedCount += 1 } }

    /// Counts the record at `line` as not published.
    func failed(line: Int, _ reason: String) {
        self.counts.withLock { $0.failedCount += 1 }
        self.report("line \(line): \(reason)")
    }

    /// Reports a doubt about the record at `line`, which is published all the same.
    func warn(line: Int, _ doubt: String) { self.report("line \(line): \(doubt)") }

    /// Counts Kafka's answer for the record at `line`.
    func delivered(line: Int, partition: Int32, offset: Int64, error: KafkaError?) {
        guard let error else {
            self.counts.withLock { $0.acknowledgedCount += 1 }
            self.acknowledged?("line \(line): partition \(partition), offset \(offset)")
            return
        }
        self.counts.withLock {
            $0.failedCount += 1
            $0.failedAfterQueuingCount += 1
        }
        self.report("line \(line): not acknowledged: \(error)")
    }
}

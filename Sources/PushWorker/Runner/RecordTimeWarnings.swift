import Logging
import PushEngine
import PushModel
import Synchronization

/// Warns of each input topic whose records have impossible times, once: when the first shard notices. May be used from
/// any thread.
final class RecordTimeWarnings: Sendable {
    private let topicsWarnedOf = Mutex<Set<UInt16>>([])

    func warn(_ record: UntimedRecord, inputTopics: [String], logger: Logger) {
        guard self.topicsWarnedOf.withLock({ $0.insert(record.topic).inserted }) else { return }
        let topic = inputTopics[Int(record.topic)]
        let isEarly = record.timestampMillis < RecordTime.earliestSeconds * 1_000
        logger.warning(
            "records of \(topic) have an impossible record time; the worker's clock is used instead",
            metadata: [
                "first": "\(topic)[\(record.partition)]@\(record.offset)",
                "record-time-ms": "\(record.timestampMillis)",
                "because": isEarly ? "before 2017" : "more than five minutes ahead of this worker's clock",
                "remedy":
                    "let the producer's client set the record time, or set it in milliseconds since 1970; and give events a timestamp",
            ])
    }
}

import Histogram
import KafkaLog
import Upstream

/// Compares the outcomes topic with what was published: every event must have an outcome, and a right one. It knows
/// only what the worker wrote to Kafka.
struct OutcomeAudit {
    /// One line for each event whose outcome is missing or wrong.
    private(set) var faults: [String] = []
    /// Time between the record of a delivered event and the record of its outcome, which is written after APNs' answer.
    private(set) var eventToAcceptedMillis = Histogram<UInt64>(
        highestTrackableValue: 600_000, numberOfSignificantValueDigits: .three)

    /// Audits the outcomes.
    /// - Parameters:
    ///   - outcomes: all records of the outcomes topic.
    ///   - topic: the topic to which the story was published.
    init(outcomes: [OwnedRecord], published: [StoryPublisher.Published], topic: String) throws {
        let found = Dictionary(
            grouping: try EventOutcome.all(in: outcomes).filter { $0.topic == topic }, by: \.position)
        for record in published {
            guard let offset = record.offset else { continue }
            let outcomes = found[EventOutcome.Position(partition: record.partition, offset: offset)] ?? []
            let name = record.activity.isEmpty ? "a record without a key" : record.activity
            for fault in EventOutcome.faults(in: outcomes, expected: record.outcomes) {
                self.faults.append("\(name) (\(topic)[\(record.partition)]@\(offset)): \(fault)")
            }
            for outcome in outcomes where outcome.outcome == "delivered" {
                let millis = outcome.writtenMillis - record.timestampMillis
                self.eventToAcceptedMillis.record(UInt64(min(600_000, max(0, millis))))
            }
        }
    }
}

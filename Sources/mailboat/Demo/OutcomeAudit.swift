import Foundation
import Histogram
import KafkaLog
import Upstream

/// Compares the outcomes topic with what was published: every event must have an outcome, and a right one. It knows
/// only what the worker wrote to Kafka.
struct OutcomeAudit {
    /// One line for each event whose outcome is missing or wrong.
    private(set) var faults: [String] = []
    /// Time from a delivered event's record to that of its outcome, which is written after APNs' answer.
    private(set) var eventToAcceptedMillis = Histogram<UInt64>(
        highestTrackableValue: 600_000, numberOfSignificantValueDigits: .three)

    /// The fields of an outcome record that the audit needs.
    private struct Outcome: Decodable {
        var outcome: String
        var topic: String
        var partition: Int32
        var offset: Int64
        var reason: String?
    }

    private struct Position: Hashable {
        var partition: Int32
        var offset: Int64
    }

    /// Audits the outcomes.
    /// - Parameters:
    ///   - outcomes: all records of the outcomes topic.
    ///   - topic: the topic to which the story was published.
    init(outcomes: [OwnedRecord], published: [StoryPublisher.Published], topic: String) throws {
        var found: [Position: [(outcome: Outcome, timestampMillis: Int64)]] = [:]
        let decoder = JSONDecoder()
        for record in outcomes {
            guard try OutcomeScope.isOneEvent(record.value ?? []) else { continue }
            let outcome = try decoder.decode(Outcome.self, from: Data(record.value ?? []))
            guard outcome.topic == topic else { continue }
            let position = Position(partition: outcome.partition, offset: outcome.offset)
            found[position, default: []].append((outcome, record.timestampMillis))
        }
        for record in published {
            guard let offset = record.offset else { continue }
            self.judge(
                record, offset: offset, topic: topic,
                outcomes: found[Position(partition: record.partition, offset: offset)] ?? [])
        }
    }

    private mutating func judge(
        _ record: StoryPublisher.Published, offset: Int64, topic: String,
        outcomes: [(outcome: Outcome, timestampMillis: Int64)]
    ) {
        let position =
            "\(record.activity.isEmpty ? "a record without a key" : record.activity) (\(topic)[\(record.partition)]@\(offset))"
        let expected = record.outcomes.sorted().joined(separator: " or ")
        if case .contradict(let names) = OutcomeAgreement(outcomes.map(\.outcome.outcome)) {
            self.faults.append("\(position): \(names.joined(separator: " and ")) contradict each other")
        }
        if outcomes.isEmpty { self.faults.append("\(position): no outcome, expected \(expected)") }
        for (outcome, timestampMillis) in outcomes {
            if !record.outcomes.contains(outcome.outcome) {
                let reason = outcome.reason.map { " (\($0))" } ?? ""
                self.faults.append("\(position): \(outcome.outcome)\(reason), expected \(expected)")
            }
            if outcome.outcome == "delivered" {
                self.eventToAcceptedMillis.record(
                    UInt64(min(600_000, max(0, timestampMillis - record.timestampMillis))))
            }
        }
    }
}

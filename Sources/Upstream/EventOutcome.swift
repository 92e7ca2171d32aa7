import Foundation
package import KafkaLog

/// An outcome of an event, or of a member that the event did not reach. Tests and tools that judge workers from outside
/// read it.
package struct EventOutcome: Decodable, Sendable {
    /// The position of an event in its topic.
    package struct Position: Hashable, Decodable, Sendable {
        /// The partition.
        package var partition: Int32
        /// The offset.
        package var offset: Int64

        /// The position with this partition and offset.
        package init(partition: Int32, offset: Int64) {
            self.partition = partition
            self.offset = offset
        }
        /// The position of a record.
        package init(of record: OwnedRecord) { self.init(partition: record.partition, offset: record.offset) }
    }

    /// The outcome's name.
    package var outcome: String
    /// The audience's id; `nil` when the outcome is not about an audience.
    package var audience: String?
    /// The topic of the event.
    package var topic: String
    /// The partition of the event.
    package var partition: Int32
    /// The offset of the event.
    package var offset: Int64
    /// The reason of the outcome.
    package var reason: String?
    /// The hash of the token that a push went to.
    package var tokenHash: String?
    /// The stamp of the version that an audience's event became.
    package var version: Int64?
    /// The position of the event that replaced this one.
    package var into: Position?
    /// The time of the outcome's record, milliseconds since 1970.
    package private(set) var writtenMillis: Int64 = 0

    private enum CodingKeys: String, CodingKey {
        case outcome, audience, topic, partition, offset, reason, version, into
        case tokenHash = "token-hash"
    }

    /// The position of the event in its topic.
    package var position: Position { Position(partition: self.partition, offset: self.offset) }

    /// Whether the outcome is about one member that the event did not reach. Otherwise it is about the event.
    package var isOfMember: Bool {
        !["applied", "duplicate"].contains(self.outcome) && self.audience != nil && self.tokenHash != nil
    }

    /// The outcomes of single events or members among these records. Records about many phones are skipped. Throws when
    /// a record cannot be read.
    package static func all(in records: [OwnedRecord]) throws -> [EventOutcome] {
        let decoder = JSONDecoder()
        return try records.compactMap { record in
            let value = record.value ?? []
            guard try OutcomeScope.isOneEvent(value) else { return nil }
            var outcome = try decoder.decode(EventOutcome.self, from: Data(value))
            outcome.writtenMillis = record.timestampMillis
            return outcome
        }
    }

    // MARK: Judging

    /// What is wrong with the outcomes of one event; empty when nothing is wrong.
    /// - Parameter expected: the outcomes that the event may have.
    package static func faults(in outcomes: [EventOutcome], expected: Set<String>) -> [String] {
        guard !outcomes.isEmpty else { return [Self.missing(expected)] }
        return Self.contradiction(OutcomeAgreement(outcomes.map(\.outcome)))
            + Self.unexpected(in: outcomes, expected: expected)
    }

    /// The fault of an event without an outcome.
    package static func missing(_ expected: Set<String>) -> String { "no outcome, expected \(Self.words(expected))" }

    /// The fault of outcomes that contradict each other; empty if they do not.
    package static func contradiction(_ agreement: OutcomeAgreement) -> [String] {
        guard case .contradict(let names) = agreement else { return [] }
        return ["\(names.joined(separator: " and ")) contradict each other"]
    }

    /// A fault for each outcome that the event may not have.
    package static func unexpected(in outcomes: [EventOutcome], expected: Set<String>) -> [String] {
        outcomes.filter { !expected.contains($0.outcome) }.map { outcome in
            let reason = outcome.reason.map { " (\($0))" } ?? ""
            return "\(outcome.outcome)\(reason), expected \(Self.words(expected))"
        }
    }

    /// Names of outcomes, as text for a person.
    package static func words(_ names: Set<String>) -> String { names.sorted().joined(separator: " or ") }
}

package import KafkaLog
import PushEngine
import PushModel

/// What one partition of `state` says about its owners: whether an owner was ever at work, and whether a person has
/// accepted a loss. An owner is at work when it has written more than its first marker.
package struct StateWord: Sendable {
    /// Whether a record of an owner at work was found. An owner's first marker does not count, because an owner that
    /// found nothing writes one, too.
    package private(set) var hasOwner = false
    /// The acknowledged end of `state` that was lost when a person last accepted a loss; `nil`: no loss was accepted.
    package private(set) var acceptedEnd: Int64?

    private let reader = StateRecordReader(inputTopics: [])

    package init() {}

    /// Takes the next record, in the order of offsets.
    package mutating func read(_ record: OwnedRecord) {
        guard let key = record.key else { return }
        let description = self.reader.read(
            key: key, value: record.value, tombstoneEpoch: Self.number(.epoch, record), nowMillis: 0)
        guard case .marker(let marker) = description.content, marker.epoch == nil else {
            // An epoch is an offset below the record's own. If it is not, the record's owner wrote to an earlier log,
            // which was deleted meanwhile.
            if description.epoch ?? -1 < record.offset { self.hasOwner = true }
            return
        }
        self.acceptedEnd = Self.number(.acceptedEnd, record) ?? self.acceptedEnd
    }

    private static func number(_ header: RecordHeader, _ record: OwnedRecord) -> Int64? {
        let found = record.headers.first { $0.name == header.text }
        return found?.value.flatMap { Int64(String(decoding: $0, as: UTF8.self)) }
    }
}

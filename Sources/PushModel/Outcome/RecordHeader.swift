/// Headers of the records that a worker writes, for what Kafka does not know of them. Other workers and tools read
/// them, so a name that was used once stays.
public enum RecordHeader: CaseIterable, Sendable {
    /// The first position of a forwarded record or a dead letter, and its time there, in milliseconds since 1970.
    case topic, partition, offset, timestamp
    /// Why a record could not be taken, and the field that is at fault.
    case reason, field
    /// The epoch of a tombstone's writer. A tombstone has no value that could hold it.
    case epoch
    /// How far the owner of a marker in `state` stamps past the owners before it (`FormerOwners.takeoversRead`). It is
    /// written until the marker is refreshed.
    case takeovers
    /// Offset up to which `state` was acknowledged and is lost. It is on a marker that no owner wrote: a person accepts
    /// the loss.
    case acceptedEnd
    /// Kind of a record of the routed topic that is no event: `question`, `version`, `void`, `report` or `pause`.
    case kind
    /// Position of the dead letter that was sent back, as `<partition>:<offset>`.
    case republished
    /// Number of bytes of the value that was left out of a dead letter.
    case valueBytes
    /// The beginning of a key that was too long for a dead letter, and the key's number of bytes.
    case keyPrefix, keyBytes

    /// The header's name in the record.
    public var name: StaticString {
        switch self {
        case .topic: "mailboat-topic"
        case .partition: "mailboat-partition"
        case .offset: "mailboat-offset"
        case .timestamp: "mailboat-timestamp"
        case .reason: "mailboat-reason"
        case .field: "mailboat-field"
        case .epoch: "mailboat-epoch"
        case .takeovers: "mailboat-takeovers"
        case .acceptedEnd: "mailboat-accepted-end"
        case .republished: "mailboat-republished"
        case .kind: "mailboat-kind"
        case .valueBytes: "mailboat-value-bytes"
        case .keyPrefix: "mailboat-key-prefix"
        case .keyBytes: "mailboat-key-bytes"
        }
    }

    /// The name as a `String`.
    public var text: String { "\(self.name)" }

    /// The prefix of all these names, and of those that a later release may add.
    public static var prefix: String { "mailboat-" }
}

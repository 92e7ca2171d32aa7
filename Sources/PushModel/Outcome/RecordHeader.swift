/// Headers in which records that a worker writes say what Kafka does not know of them. Other workers and tools read them: a name, once
/// used, stays.
public enum RecordHeader: CaseIterable, Sendable {
    /// Where a forwarded record or a dead letter first lay, and its time there, in milliseconds since 1970.
    case topic, partition, offset, timestamp
    /// Why a record could not be taken, and the field that is at fault.
    case reason, field
    /// The epoch of a tombstone's writer: a tombstone has no value to say it in.
    case epoch
    /// How far the owner of a marker in `state` stamps past owners before it (`PartitionState.takeoversRead`). Written until the marker is refreshed.
    case takeovers
    /// Offset up to which `state` was acknowledged and is lost. On a marker that no owner wrote: a person accepts the loss.
    case acceptedEnd
    /// What a record of the routed topic is, if it is no event: `question`, `version`, `void`, `report` or `pause`.
    case kind
    /// On a dead letter that was sent back: where the letter lies, as `<partition>:<offset>`.
    case republished
    /// On a dead letter whose value was left out: how many bytes it had.
    case valueBytes
    /// On one whose key was too long: what the key began with, and how many bytes it had.
    case keyPrefix, keyBytes

    /// The header's name as it stands in the record.
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

    /// All of them begin with it, those of a newer version too.
    public static var prefix: String { "mailboat-" }
}

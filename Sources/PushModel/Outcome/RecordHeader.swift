/// Headers of records that a worker writes. Other workers and tools read them, so a name must never change.
public enum RecordHeader: CaseIterable, Sendable {
    /// Where a forwarded record or a dead letter was first stored, and its time there, in milliseconds since 1970.
    case topic, partition, offset, timestamp
    /// Why a record could not be taken, and which field is wrong.
    case reason, field
    /// The epoch of a tombstone's writer. Other records have the epoch in their value, which a tombstone lacks.
    case epoch
    /// The number of owners that a marker's owner knows of, itself included (`FormerOwners.takeoversRead`). The next
    /// owner uses this number to decide how far its stamps are ahead of former owners' stamps. Only a marker that
    /// confirms its owner's first one, or that repairs a gap, has it.
    case takeovers
    /// The offset up to which `state` had been acknowledged before it was lost. It is on a marker that a command writes
    /// when a person accepts the loss.
    case acceptedEnd
    /// When a marker's owner gave the partition back in good order, milliseconds since 1970. Everything that the owner
    /// took or sent was in `state` by then.
    case released
    /// How often in a row APNs has said that the token in a record of `state` died before it was registered. It is for
    /// people who look at records; workers do not read it.
    case earlierDeaths
    /// APNs has refused the token in a record of `state`, and the removal guard doubts the refusal. The value is `1`. It
    /// is for people who look at records; workers do not read it.
    case tokenDoubted
    /// The kind of a message between workers in the routed topic, such as `question`, `version`, `void`, `report` or
    /// `pause`.
    case kind
    /// Position of the dead letter that was sent back, as `<partition>:<offset>`.
    case republished
    /// Number of bytes of the value, if it was left out of a dead letter.
    case valueBytes
    /// The beginning of a key that was too long for a dead letter, and the number of bytes of the whole key.
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
        case .released: "mailboat-released"
        case .republished: "mailboat-republished"
        case .earlierDeaths: "mailboat-earlier-deaths"
        case .tokenDoubted: "mailboat-token-doubted"
        case .kind: "mailboat-kind"
        case .valueBytes: "mailboat-value-bytes"
        case .keyPrefix: "mailboat-key-prefix"
        case .keyBytes: "mailboat-key-bytes"
        }
    }

    /// The name as a `String`.
    public var text: String { "\(self.name)" }

    /// The prefix of all these names. A later release may add names with this prefix.
    public static var prefix: String { "mailboat-" }
}

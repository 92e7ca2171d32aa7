/// The result of reading one record of `state`.
public enum RestoreResult: Equatable, Sendable {
    /// The slot is in memory as the record says.
    case restored
    /// A tombstone, a marker, a record of an older epoch behind one of a newer, or of an app that is not configured.
    case ignored
    /// Written by a newer release: the partition must stop (contract: Unknown kinds).
    case unknownVersion(UInt8)
    /// Nothing that any release writes. The reason is in words.
    case malformed(String)
    /// Written for another layout of the topics: the partition must stop. The reason is in words.
    case refused(String)
}

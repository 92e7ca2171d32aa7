/// The result of reading one record of `state`.
public enum RestoreResult: Equatable, Sendable {
    /// The record was taken over: memory now has what the record says.
    case restored
    /// Nothing is restored from the record. It is a tombstone or a marker, its app is not configured, or its epoch is
    /// older than that of an earlier record.
    case ignored
    /// The record was written by a newer release: the partition must stop (contract: Unknown kinds).
    case unknownVersion(UInt8)
    /// No release writes such a record. The reason is in words.
    case malformed(String)
    /// The record was written for another layout of the topics: the partition must stop. The reason is in words.
    case refused(String)
}

/// How reading one record of `state` went.
public enum RestoreResult: Equatable, Sendable {
    /// The slot is in memory as the record says.
    case restored
    /// A tombstone, a marker, a record of an older epoch behind one of a newer, or of an app that is configured no more.
    case ignored
    /// Written by a newer release: the partition must stop (contract: Unknown kinds).
    case unknownVersion(UInt8)
    /// Nothing that any release writes; why, in words.
    case malformed(String)
    /// Written for another layout of the topics: the partition must stop. Why.
    case refused(String)
}

/// Checks whether logs are still those that this group knows. A topic that was deleted and created again has its old
/// name, but other records. It is pure.
public enum LogIdentity {
    /// What was found at a position where the group knows a record.
    public enum Found: Equatable, Sendable {
        /// A record with this time, milliseconds since 1970.
        case record(millis: Int64)
        /// No record: retention removed it, or nobody could be asked.
        case nothing
    }

    /// Whether the record there is another one. If there is none, only the bounds of the log can tell.
    public static func isOther(_ sample: CommitMetadata.Sample, _ found: Found) -> Bool {
        guard case .record(let millis) = found else { return false }
        return millis != sample.millis
    }

    /// Whether `state` has less than Kafka had acknowledged: it was created again, or its end is lost.
    /// - Parameters:
    ///   - logEnd: the offset that its next record gets.
    ///   - stateEnd: see `CommitMetadata.stateEnd`.
    ///   - acceptedEnd: the `stateEnd` whose loss a person has accepted, from `state`; `nil` if none.
    public static func isStateCut(logEnd: Int64, stateEnd: Int64?, acceptedEnd: Int64?) -> Bool {
        guard let stateEnd, stateEnd != acceptedEnd else { return false }
        return logEnd < stateEnd
    }

    /// Whether the head of `state` is gone: somebody, or a retention time, has deleted records. Compaction does not
    /// move the start of a log.
    /// - Parameters:
    ///   - logStart: the offset of the log's first record.
    ///   - stateStart: see `CommitMetadata.stateStart`.
    ///   - stateEnd: see `CommitMetadata.stateEnd`; without it nothing has been lost.
    ///   - acceptedEnd: as for `isStateCut`.
    public static func isStateHeadCut(
        logStart: Int64, stateStart: Int64?, stateEnd: Int64?, acceptedEnd: Int64?
    ) -> Bool {
        guard let stateStart, let stateEnd, stateEnd != acceptedEnd else { return false }
        return logStart > stateStart
    }

    /// Why a partition is no longer read: its input is in another log. `nil` if the log is the same, as far as known.
    /// - Parameters:
    ///   - topic: its name.
    ///   - partition: the number of the partition.
    ///   - sample: a record that was read from it.
    ///   - found: what is at that position now.
    ///   - logEnd: the offset that its next record gets.
    public static func reasonIfOther(
        topic: String, partition: Int32, _ sample: CommitMetadata.Sample, _ found: Found, logEnd: Int64
    ) -> String? {
        let what: String
        if case .record(let millis) = found, Self.isOther(sample, found) {
            what = "a record of \(millis) ms is there now"
        } else if sample.offset >= logEnd {
            what = "the log ends at \(logEnd) now"
        } else {
            return nil
        }
        return
            "the topic \(topic) is another one: in partition \(partition) the group has read a record of \(sample.millis) ms at offset \(sample.offset), and \(what); "
            + Self.inputRemedy
    }

    /// What to do about an input topic that was created again.
    public static let inputRemedy =
        "it was deleted and created again; stop the group's workers, run 'mailboat offsets reset --to earliest', which shows what would be read, and moves the offset with --execute, and start them again"

    /// Why a partition whose `state` is lost does not continue.
    public static func stateReason(topic: String, partition: Int32, _ what: String) -> String {
        "the state topic \(topic) has lost records of partition \(partition): \(what); " + Self.stateRemedy
    }

    /// What to do about a lost `state`.
    public static let stateRemedy =
        "see 'State is lost' in deploy/Operations.md: stop the group's workers, bring the topic back, or accept the loss with 'mailboat state accept-empty' and let registrations be read again"
}

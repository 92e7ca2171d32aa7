/// Checks whether logs are still the ones that this group knows. A topic that was deleted and created again has its old
/// name, but other records. The type is pure.
public enum LogIdentity {
    /// What was found at a position where the group knows a record.
    public enum Found: Equatable, Sendable {
        /// A record with this time, milliseconds since 1970.
        case record(millis: Int64)
        /// No record was found: retention removed it, or Kafka did not answer.
        case nothing
    }

    /// Whether the record that was found differs from the record that the group knows. If none was found, the answer is
    /// `false`; the log's bounds must then be compared.
    public static func isOther(_ sample: CommitMetadata.Sample, _ found: Found) -> Bool {
        guard case .record(let millis) = found else { return false }
        return millis != sample.millis
    }

    /// Whether `state` ends before the end that Kafka had acknowledged. If so, the topic was created again, or the log
    /// has lost its end.
    /// - Parameters:
    ///   - logEnd: the offset that the next record of `state` gets.
    ///   - stateEnd: see `CommitMetadata.stateEnd`.
    ///   - acceptedEnd: the `stateEnd` whose loss a person has accepted, from `state`; `nil` if none.
    public static func isStateCut(logEnd: Int64, stateEnd: Int64?, acceptedEnd: Int64?) -> Bool {
        guard let stateEnd, stateEnd != acceptedEnd else { return false }
        return logEnd < stateEnd
    }

    /// Whether `state` has lost its beginning, because somebody, or a retention time, has deleted records. Compaction
    /// does not move the start of a log.
    /// - Parameters:
    ///   - logStart: the offset of the log's first record.
    ///   - stateStart: see `CommitMetadata.stateStart`.
    ///   - stateEnd: see `CommitMetadata.stateEnd`. If it is `nil`, nothing has been lost.
    ///   - acceptedEnd: as for `isStateCut`.
    public static func isStateHeadCut(
        logStart: Int64, stateStart: Int64?, stateEnd: Int64?, acceptedEnd: Int64?
    ) -> Bool {
        guard let stateStart, let stateEnd, stateEnd != acceptedEnd else { return false }
        return logStart > stateStart
    }

    /// Why a partition of the input must halt: its log is another one. `nil` if the log is the same, as far as is
    /// known.
    /// - Parameters:
    ///   - topic: the topic's name.
    ///   - partition: the number of the partition.
    ///   - sample: a record that was read from the log.
    ///   - found: what is at that position now.
    ///   - logEnd: the offset that the next record of the log gets.
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

    /// Why a partition halts when its `state` has lost records.
    public static func stateReason(topic: String, partition: Int32, _ what: String) -> String {
        "the state topic \(topic) has lost records of partition \(partition): \(what); " + Self.stateRemedy
    }

    /// What to do about a `state` that has lost records.
    public static let stateRemedy =
        "see 'State is lost' in deploy/Operations.md: stop the group's workers, bring the topic back, or accept the loss with 'mailboat state accept-empty' and let registrations be read again"
}

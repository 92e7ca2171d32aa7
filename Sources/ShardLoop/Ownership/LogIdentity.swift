/// Whether logs are still those that this group knows. A topic that was deleted and made anew has the same name and other records.
/// Pure.
public enum LogIdentity {
    /// What lies at a place where the group knows a record.
    public enum Found: Equatable, Sendable {
        /// A record with this time, milliseconds since 1970.
        case record(millis: Int64)
        /// None: retention took it, or nobody could be asked.
        case nothing
    }

    /// Whether another record lies there. Where none lies only the bounds of the log can tell.
    public static func isOther(_ sample: PositionNote.Sample, _ found: Found) -> Bool {
        guard case .record(let millis) = found else { return false }
        return millis != sample.millis
    }

    /// Whether `state` has less than Kafka had acknowledged: it was made anew, or its end is lost.
    /// - Parameters:
    ///   - logEnd: the offset that its next record gets.
    ///   - stateEnd: see `PositionNote.stateEnd`.
    ///   - acceptedEnd: the `stateEnd` whose loss a person has accepted, as `state` says; `nil`: none.
    public static func isStateCut(logEnd: Int64, stateEnd: Int64?, acceptedEnd: Int64?) -> Bool {
        guard let stateEnd, stateEnd != acceptedEnd else { return false }
        return logEnd < stateEnd
    }

    /// Whether the head of `state` is gone: somebody has deleted records, or a retention has. Compaction moves no log's start.
    /// - Parameters:
    ///   - logStart: the offset of its first record.
    ///   - stateStart: see `PositionNote.stateStart`.
    ///   - stateEnd: see `PositionNote.stateEnd`; where it says nothing, nobody has lost anything.
    ///   - acceptedEnd: as for `isStateCut`.
    public static func isStateHeadCut(
        logStart: Int64, stateStart: Int64?, stateEnd: Int64?, acceptedEnd: Int64?
    ) -> Bool {
        guard let stateStart, let stateEnd, stateEnd != acceptedEnd else { return false }
        return logStart > stateStart
    }

    /// Why a partition is no longer read: its input lies in another log. `nil`: it lies in the same one, as far as can be told.
    /// - Parameters:
    ///   - topic: its name.
    ///   - partition: the number of the partition.
    ///   - sample: a record that was read of it.
    ///   - found: what lies there now.
    ///   - logEnd: the offset that its next record gets.
    public static func reasonIfOther(
        topic: String, partition: Int32, _ sample: PositionNote.Sample, _ found: Found, logEnd: Int64
    ) -> String? {
        let what: String
        if case .record(let millis) = found, Self.isOther(sample, found) {
            what = "a record of \(millis) ms lies there now"
        } else if sample.offset >= logEnd {
            what = "the log ends at \(logEnd) now"
        } else {
            return nil
        }
        return
            "the topic \(topic) is another one: in partition \(partition) the group has read a record of \(sample.millis) ms at offset \(sample.offset), and \(what); "
            + Self.inputRemedy
    }

    /// What to do about an input topic that was made anew.
    public static let inputRemedy =
        "it was deleted and made anew; stop the group's workers, run 'mailboat offsets reset --to earliest', which says what would be read and with --execute moves the offset, and start them again"

    /// Why a partition does not go on whose `state` is lost.
    public static func stateReason(topic: String, partition: Int32, _ what: String) -> String {
        "the state topic \(topic) has lost what it knew of partition \(partition): \(what); " + Self.stateRemedy
    }

    /// What to do about it.
    public static let stateRemedy =
        "see 'State is lost' in deploy/Operations.md: stop the group's workers, bring the topic back, or accept the loss with 'mailboat state accept-empty' and let registrations be read again"
}

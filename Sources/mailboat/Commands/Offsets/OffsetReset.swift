import KafkaLog

/// Decides which of a group's offsets to move, where to, and what that skips or repeats. It only decides. The
/// caller asks the cluster and moves the offsets.
struct OffsetReset {
    enum Target: Equatable {
        case earliest, latest
        case offset(Int64)
    }

    enum Verdict: Equatable {
        case move(to: Int64)
        /// The offset stays where it is. The text says why.
        case keep(String)
        /// The offset cannot be moved to the target. The text says why.
        case impossible(String)
    }

    var target: Target
    /// Whether to move also offsets inside the log, and offsets of partitions that the group never committed. Otherwise
    /// only offsets outside the log, or of a log that was created again, are moved.
    var includesThoseInside: Bool

    /// Decides about one partition.
    /// - Parameter isOtherLog: whether the partition's present log is not the one that the group has read.
    func verdict(_ position: PartitionPositions, isOtherLog: Bool = false) -> Verdict {
        guard self.includesThoseInside || isOtherLog || !position.isCommittedInLog else {
            return .keep(position.committed == nil ? "never committed: start-from decides" : "in the log")
        }
        let offset: Int64
        switch self.target {
        case .earliest: offset = position.lowOffset
        case .latest: offset = position.endOffset
        case .offset(let wanted):
            guard wanted >= position.lowOffset, wanted <= position.endOffset else {
                return .impossible(
                    "\(wanted) is outside the log (\(position.lowOffset) to \(position.endOffset)): expected an offset in it"
                )
            }
            offset = wanted
        }
        return offset == position.committed && !isOtherLog ? .keep("is there already") : .move(to: offset)
    }

    /// Consequences of the move for the records of the partition, as clauses.
    static func consequences(of offset: Int64, _ position: PartitionPositions, isOtherLog: Bool = false) -> [String] {
        var clauses: [String] = []
        if isOtherLog, position.isCommittedInLog {
            return [
                "another record is where the group has read one: the topic was created again, and the positions in state are void",
                "skips \(Self.records(offset - position.lowOffset))",
                "\(Self.records(position.endOffset - offset)) to read",
            ]
        }
        let (low, end) = (position.lowOffset, position.endOffset)
        // Where reading would have continued.
        let next: Int64
        switch position.committed {
        case nil:
            clauses.append("never committed")
            next = low
        case let committed? where committed < low:
            clauses.append("\(Self.records(low - committed)) deleted before they were read: lost")
            next = low
        case let committed? where committed > end:
            clauses.append("the log ends before the committed offset: the topic was created again, or its end is lost")
            next = low
        case let committed?: next = committed
        }
        if offset > next { clauses.append("skips \(Self.records(offset - next)) that were not read") }
        if offset < next { clauses.append("repeats \(Self.records(next - offset))") }
        clauses.append("\(Self.records(end - offset)) to read")
        return clauses
    }

    private static func records(_ count: Int64) -> String { count == 1 ? "1 record" : "\(count) records" }
}

import KafkaLog

/// Which of a group's offsets are to be moved, where to, and what that skips or repeats. Decides; asks nobody.
struct OffsetReset {
    enum Target: Equatable {
        case earliest, latest
        case offset(Int64)
    }

    enum Verdict: Equatable {
        case move(to: Int64)
        /// It stays where it is, and why.
        case keep(String)
        /// It cannot be moved there, and why.
        case impossible(String)
    }

    var target: Target
    /// Also offsets that lie in the log, and partitions that the group never committed; otherwise those outside the log alone.
    var includesThoseInside: Bool

    /// - Parameter isOtherLog: another record lies where the group has read one.
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
        return offset == position.committed && !isOtherLog ? .keep("stands there already") : .move(to: offset)
    }

    /// What moving there means for the records of the partition, each clause on its own.
    static func consequences(of offset: Int64, _ position: PartitionPositions, isOtherLog: Bool = false) -> [String] {
        var clauses: [String] = []
        if isOtherLog, position.isCommittedInLog {
            return [
                "another record lies where the group has read one: the topic was made anew, and positions that state knows are void",
                "skips \(Self.records(offset - position.lowOffset))",
                "\(Self.records(position.endOffset - offset)) to read",
            ]
        }
        let (low, end) = (position.lowOffset, position.endOffset)
        // Where reading would have gone on.
        let next: Int64
        switch position.committed {
        case nil:
            clauses.append("never committed")
            next = low
        case let committed? where committed < low:
            clauses.append("\(Self.records(low - committed)) cut off before anybody read them: lost")
            next = low
        case let committed? where committed > end:
            clauses.append("the log ends before the committed offset: the topic was made anew, or its end is lost")
            next = low
        case let committed?: next = committed
        }
        if offset > next { clauses.append("skips \(Self.records(offset - next)) that nobody has read") }
        if offset < next { clauses.append("repeats \(Self.records(next - offset))") }
        clauses.append("\(Self.records(end - offset)) to read")
        return clauses
    }

    private static func records(_ count: Int64) -> String { count == 1 ? "1 record" : "\(count) records" }
}

import DequeModule
import PushModel

/// The forwarded record of each member that was taken last.
///
/// When the partition where such a record was first stored gets another owner, that owner may forward the partition's
/// last records again, in order. A repeated join would bring back a member that has left since. Records that a former
/// owner had under way arrive one by one, at any time. Members' records hold this position, too, for the next owner of
/// the members' partition.
struct ForwardedRecords {
    /// Maximum number of members that are remembered.
    static let countMax = 65_536
    /// What is known of a record that arrives.
    enum Standing {
        case isNew
        /// The record, or one whose first position is behind it, was taken here.
        case isTaken
        /// A former owner has taken one whose first position is behind it, and may not have written its outcome.
        case isTakenByOthers
    }
    private struct Taken {
        var origin: SourcePosition
        var isByOthers: Bool
        /// Offset of the record of `state` that says so.
        var recordOffset: Int64 = .max

        /// What it says of a record that arrives; `nil`: nothing.
        func standing(of origin: SourcePosition, isLast: Bool, mayBeReplay: Bool) -> Standing? {
            guard self.origin.isOfSameLog(as: origin), origin.offset <= self.origin.offset else { return nil }
            guard self.isByOthers else { return .isTaken }
            // Taking the last record itself again changes nothing, but does what was lost with that owner: it names the
            // audience, and asks.
            return mayBeReplay && (!isLast || origin.offset < self.origin.offset) ? .isTakenByOthers : nil
        }
    }
    /// What is known of one token.
    private struct History {
        var last: Taken
        /// The last one from any other partition: a publisher changes partitions when somebody adds some.
        var former: Taken?

        func standing(of origin: SourcePosition, mayBeReplay: Bool) -> Standing? {
            self.last.standing(of: origin, isLast: true, mayBeReplay: mayBeReplay)
                ?? self.former?.standing(of: origin, isLast: false, mayBeReplay: mayBeReplay)
        }
        mutating func note(_ taken: Taken) {
            if !self.last.origin.isOfSameLog(as: taken.origin) { self.former = self.last }
            self.last = taken
        }
        /// What remains without records of `state` below an offset; `nil`: nothing.
        func since(_ offset: Int64) -> History? {
            let former = self.former.flatMap { $0.recordOffset < offset ? nil : $0 }
            guard self.last.recordOffset < offset else { return History(last: self.last, former: former) }
            return former.map { History(last: $0) }
        }
    }
    private var taken: [Audiences.DepartedKey: History] = [:]
    private var order: Deque<Audiences.DepartedKey> = []

    var isEmpty: Bool { self.taken.isEmpty }
    /// First position of the record that was taken last; `nil`: none was, or it is not remembered.
    func last(of key: Audiences.DepartedKey) -> SourcePosition? {
        self.taken.isEmpty ? nil : self.taken[key]?.last.origin
    }
    /// First position of the last record taken from any other partition; `nil`: there was none.
    func former(of key: Audiences.DepartedKey) -> SourcePosition? { self.taken[key]?.former?.origin }

    /// Checks a record that arrives; a new one is taken.
    /// - Parameter mayBeReplay: whether it is older than this owner. Positions say nothing of newer records: their
    ///   topic may be another by now.
    mutating func take(
        _ origin: SourcePosition, of key: Audiences.DepartedKey, mayBeReplay: Bool
    ) -> Standing {
        if let standing = self.taken[key]?.standing(of: origin, mayBeReplay: mayBeReplay) { return standing }
        self.note(Taken(origin: origin, isByOthers: false), of: key)
        return .isNew
    }
    /// Restores from `state` that a former owner has taken a record.
    /// - Parameter recordOffset: offset of the record that says so.
    mutating func restore(_ origin: SourcePosition, of key: Audiences.DepartedKey, recordOffset: Int64) {
        self.note(Taken(origin: origin, isByOthers: true, recordOffset: recordOffset), of: key)
    }
    /// Forgets what records of the partition's `state` below an offset say: they are about other logs.
    mutating func void(before offset: Int64, partition: PartitionIndex) {
        guard !self.taken.isEmpty else { return }
        for (key, history) in self.taken where key.partition == partition { self.taken[key] = history.since(offset) }
        self.order.removeAll { self.taken[$0] == nil }
    }
    private mutating func note(_ taken: Taken, of key: Audiences.DepartedKey) {
        guard self.taken[key] == nil else {
            self.taken[key]!.note(taken)
            return
        }
        if self.order.count >= Self.countMax { self.taken[self.order.removeFirst()] = nil }
        self.taken[key] = History(last: taken)
        self.order.append(key)
    }
    /// Forgets a partition that has left.
    mutating func forget(partition: PartitionIndex) {
        guard !self.taken.isEmpty else { return }
        self.taken = self.taken.filter { $0.key.partition != partition }
        self.order.removeAll { self.taken[$0] == nil }
    }
}

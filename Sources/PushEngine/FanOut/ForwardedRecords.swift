import DequeModule
import PushModel

/// For each member, the last forwarded record that was taken, and the last one before it from another partition. A
/// record is remembered by its first position: where it was first stored.
///
/// When the partition of that position gets another owner, the new owner may forward the partition's last records
/// again, in order. A repeated join would bring back a member that has left since. Records that a former owner had
/// under way arrive one by one, at any time. Members' records in `state` hold the first position, too. The next owner
/// of the members' partition reads it there.
struct ForwardedRecords {
    /// Maximum number of members that are remembered.
    static let countMax = 65_536
    /// What is known of a record that arrives.
    enum Standing {
        case isNew
        /// This owner took the record, or a record with a later first position.
        case isTaken
        /// A former owner took the record, or one with a later first position. It may not have written the arriving
        /// record's outcome.
        case isTakenByOthers
    }
    private struct Taken {
        var origin: SourcePosition
        var isByOthers: Bool
        /// Offset of the `state` record that has this position; `Int64.max`: this owner took the record.
        var recordOffset: Int64 = .max

        /// Judges an arriving record by the record taken; `nil`: the record taken says nothing about the arriving one.
        func standing(of origin: SourcePosition, isLast: Bool, mayBeReplay: Bool) -> Standing? {
            guard self.origin.isOfSameLog(as: origin), origin.offset <= self.origin.offset else { return nil }
            guard self.isByOthers else { return .isTaken }
            // Taking the last record once more does no harm. It makes up for what the former owner may have lost: it
            // names the audience, and asks for versions.
            return mayBeReplay && (!isLast || origin.offset < self.origin.offset) ? .isTakenByOthers : nil
        }
    }
    /// What is known of one token.
    private struct History {
        var last: Taken
        /// The last record from any other partition. When partitions are added, a publisher may write a key's later
        /// records to another partition.
        var former: Taken?

        func standing(of origin: SourcePosition, mayBeReplay: Bool) -> Standing? {
            self.last.standing(of: origin, isLast: true, mayBeReplay: mayBeReplay)
                ?? self.former?.standing(of: origin, isLast: false, mayBeReplay: mayBeReplay)
        }
        mutating func remember(_ taken: Taken) {
            if !self.last.origin.isOfSameLog(as: taken.origin) { self.former = self.last }
            self.last = taken
        }
        /// The history, without positions that come from `state` records below an offset; `nil`: nothing remains.
        func since(_ offset: Int64) -> History? {
            let former = self.former.flatMap { $0.recordOffset < offset ? nil : $0 }
            guard self.last.recordOffset < offset else { return History(last: self.last, former: former) }
            return former.map { History(last: $0) }
        }
    }
    private var taken: [FanOut.DepartedKey: History] = [:]
    private var order: Deque<FanOut.DepartedKey> = []

    var isEmpty: Bool { self.taken.isEmpty }
    /// First position of the record that was taken last; `nil`: none was taken, or it is not remembered.
    func last(of key: FanOut.DepartedKey) -> SourcePosition? {
        self.taken.isEmpty ? nil : self.taken[key]?.last.origin
    }
    /// First position of the last record taken from any other partition; `nil`: there was none.
    func former(of key: FanOut.DepartedKey) -> SourcePosition? { self.taken[key]?.former?.origin }

    /// Checks a record that arrives, and remembers a new one as taken.
    /// - Parameter mayBeReplay: whether the record may be older than this owner. Positions from `state` say nothing
    ///   about newer records, because their topic may have been replaced.
    mutating func take(
        _ origin: SourcePosition, of key: FanOut.DepartedKey, mayBeReplay: Bool
    ) -> Standing {
        if let standing = self.taken[key]?.standing(of: origin, mayBeReplay: mayBeReplay) { return standing }
        self.remember(Taken(origin: origin, isByOthers: false), of: key)
        return .isNew
    }
    /// Restores the fact that a former owner took a record, as `state` says.
    /// - Parameter recordOffset: offset of the `state` record that says so.
    mutating func restore(_ origin: SourcePosition, of key: FanOut.DepartedKey, recordOffset: Int64) {
        self.remember(Taken(origin: origin, isByOthers: true, recordOffset: recordOffset), of: key)
    }
    /// Forgets what records below an offset of the partition's `state` say: they are about other logs.
    mutating func void(before offset: Int64, partition: PartitionIndex) {
        guard !self.taken.isEmpty else { return }
        for (key, history) in self.taken where key.partition == partition { self.taken[key] = history.since(offset) }
        self.order.removeAll { self.taken[$0] == nil }
    }
    private mutating func remember(_ taken: Taken, of key: FanOut.DepartedKey) {
        guard self.taken[key] == nil else {
            self.taken[key]!.remember(taken)
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

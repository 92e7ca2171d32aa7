import DequeModule
import PushModel

/// The forwarded record of each member that was taken last.
///
/// When the partition where such a record was first stored gets another owner, that owner may forward the partition's
/// last records again, in order. A repeated join would bring back a member that has left since. Records that a former
/// owner had under way arrive one by one, at any time. Members' records hold this position, too, for the next owner of
/// the members' partition.
struct ForwardedRecords {
    /// Members of more are not remembered.
    static let countMax = 65_536
    /// What is known of a record that comes.
    enum Standing {
        case isNew
        /// It, or one that first lay behind it, was taken here.
        case isTaken
        /// An owner before has taken one that first lay behind it, and may not have said what became of it.
        case isTakenByOthers
    }
    private struct Taken {
        var origin: SourcePosition
        var isByOthers: Bool
        /// Where the record of `state` lies that says so.
        var recordOffset: Int64 = .max

        /// What it tells of a record that comes; `nil`: nothing.
        func standing(of origin: SourcePosition, isLast: Bool, mayBeReplay: Bool) -> Standing? {
            guard self.origin.isOfSameLog(as: origin), origin.offset <= self.origin.offset else { return nil }
            guard self.isByOthers else { return .isTaken }
            // The last itself changes nothing when it is taken once more, and does what was lost with that owner: it names the audience, and asks.
            return mayBeReplay && (!isLast || origin.offset < self.origin.offset) ? .isTakenByOthers : nil
        }
    }
    /// What is known of one token.
    private struct History {
        var last: Taken
        /// The last from another partition than that: a publisher goes over when somebody adds partitions.
        var former: Taken?

        func standing(of origin: SourcePosition, mayBeReplay: Bool) -> Standing? {
            self.last.standing(of: origin, isLast: true, mayBeReplay: mayBeReplay)
                ?? self.former?.standing(of: origin, isLast: false, mayBeReplay: mayBeReplay)
        }
        mutating func note(_ taken: Taken) {
            if !self.last.origin.isOfSameLog(as: taken.origin) { self.former = self.last }
            self.last = taken
        }
        /// What is left of it without records of `state` below an offset; `nil`: nothing.
        func since(_ offset: Int64) -> History? {
            let former = self.former.flatMap { $0.recordOffset < offset ? nil : $0 }
            guard self.last.recordOffset < offset else { return History(last: self.last, former: former) }
            return former.map { History(last: $0) }
        }
    }
    private var taken: [Audiences.DepartedKey: History] = [:]
    private var order: Deque<Audiences.DepartedKey> = []

    var isEmpty: Bool { self.taken.isEmpty }
    /// Where the one that was taken last first lay; `nil`: none was, or it is not remembered.
    func last(of key: Audiences.DepartedKey) -> SourcePosition? {
        self.taken.isEmpty ? nil : self.taken[key]?.last.origin
    }
    /// Where the one that was taken last from another partition than that first lay; `nil`: there was none.
    func former(of key: Audiences.DepartedKey) -> SourcePosition? { self.taken[key]?.former?.origin }

    /// A record comes: one that is new is taken.
    /// - Parameter mayBeReplay: it is older than this owner. Of what is newer positions say nothing: its topic may be another by now.
    mutating func take(
        _ origin: SourcePosition, of key: Audiences.DepartedKey, mayBeReplay: Bool
    ) -> Standing {
        if let standing = self.taken[key]?.standing(of: origin, mayBeReplay: mayBeReplay) { return standing }
        self.note(Taken(origin: origin, isByOthers: false), of: key)
        return .isNew
    }
    /// `state` says that an owner before has taken it.
    /// - Parameter recordOffset: where it says so.
    mutating func restore(_ origin: SourcePosition, of key: Audiences.DepartedKey, recordOffset: Int64) {
        self.note(Taken(origin: origin, isByOthers: true, recordOffset: recordOffset), of: key)
    }
    /// Forgets what records of the partition's `state` below an offset say: it is of other logs.
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
    /// The partition has left.
    mutating func forget(partition: PartitionIndex) {
        guard !self.taken.isEmpty else { return }
        self.taken = self.taken.filter { $0.key.partition != partition }
        self.order.removeAll { self.taken[$0] == nil }
    }
}

import DequeModule
import PushModel

/// Which forwarded record of a member was taken last. When the partition it first lay on gets another owner, that one may forward the last records
/// of its own once more, in their order: a join would bring back who has left since. What a former owner had on its way comes alone, and whenever
/// it likes: members' records say it as well, for whoever owns the members' partition then.
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
    }
    private var taken: [Audiences.DepartedKey: Taken] = [:]
    private var order: Deque<Audiences.DepartedKey> = []

    var isEmpty: Bool { self.taken.isEmpty }
    /// Where the one that was taken last first lay; `nil`: none was, or it is not remembered.
    func last(of key: Audiences.DepartedKey) -> SourcePosition? { self.taken.isEmpty ? nil : self.taken[key]?.origin }

    /// A record comes: one that is new is taken.
    /// - Parameter mayBeReplay: it is older than this owner. Of what is newer positions say nothing: its topic may be another by now.
    mutating func take(
        _ origin: SourcePosition, of key: Audiences.DepartedKey, mayBeReplay: Bool
    ) -> Standing {
        if let last = self.taken[key], last.origin.topic == origin.topic,
            last.origin.partition == origin.partition, origin.offset <= last.origin.offset
        {
            guard last.isByOthers else { return .isTaken }
            // The last itself changes nothing when it is taken once more, and does what was lost with that owner: it names the audience, and asks.
            if mayBeReplay, origin.offset < last.origin.offset { return .isTakenByOthers }
        }
        self.note(Taken(origin: origin, isByOthers: false), of: key)
        return .isNew
    }
    /// `state` says that an owner before has taken it.
    mutating func restore(_ origin: SourcePosition, of key: Audiences.DepartedKey) {
        self.note(Taken(origin: origin, isByOthers: true), of: key)
    }
    private mutating func note(_ taken: Taken, of key: Audiences.DepartedKey) {
        if self.taken.updateValue(taken, forKey: key) != nil { return }
        if self.order.count >= Self.countMax { self.taken[self.order.removeFirst()] = nil }
        self.order.append(key)
    }
    /// The partition has left.
    mutating func forget(partition: PartitionIndex) {
        guard !self.taken.isEmpty else { return }
        self.taken = self.taken.filter { $0.key.partition != partition }
        self.order.removeAll { $0.partition == partition }
    }
}

import DequeModule

/// Members that joined a ring behind its round, in the order of their joins.
///
/// Each join has a number. Of a member that joins once more the last number counts, and of one that leaves none does: their former places in the queue stay, and mean nothing.
struct LateJoins {
    struct Join: Equatable {
        var member: MemberID
        var number: UInt32
        /// Where the record of the join lies in `state`; -1: not known yet.
        var offset: Int64 = -1
    }
    /// By number, ascending.
    private(set) var queue: Deque<Join> = []
    /// By member that still waits: the number of its last join.
    private var numbers: [MemberID: UInt32] = [:]
    /// Number of the last join; the next one has one more, unless it is told another.
    private var lastNumber: UInt32 = .max

    /// Members that still wait.
    var count: Int { self.numbers.count }
    var members: Dictionary<MemberID, UInt32>.Keys { self.numbers.keys }
    @inline(__always) var first: Join? { self.queue.first }
    /// Whether its member waits by this join still.
    func isWaiting(_ join: Join) -> Bool { self.numbers[join.member] == join.number }

    /// The member waits behind the others.
    /// - Returns: the number of its join.
    mutating func joined(_ member: MemberID, offset: Int64 = -1) -> UInt32 {
        self.joined(member, number: self.lastNumber &+ 1, offset: offset)
        return self.lastNumber
    }
    /// - Parameter number: greater than that of any other in the queue.
    mutating func joined(_ member: MemberID, number: UInt32, offset: Int64 = -1) {
        self.lastNumber = number
        self.queue.append(Join(member: member, number: number, offset: offset))
        self.numbers[member] = number
    }
    /// The record of the join of that number lies there.
    mutating func written(_ number: UInt32, at offset: Int64) {
        guard let first = self.queue.first else { return }
        let wanted = number &- first.number
        // It lies where it would if no number were left out, or before.
        var range = 0..<min(self.queue.count, Int(clamping: wanted) + 1)
        var index = range.upperBound - 1
        while true {
            let found = self.queue[index].number &- first.number
            if found == wanted {
                self.queue[index].offset = offset
                return
            }
            range = found < wanted ? index + 1..<range.upperBound : range.lowerBound..<index
            guard !range.isEmpty else { return }
            index = (range.lowerBound + range.upperBound) / 2
        }
    }
    /// Takes the first join out of the queue.
    /// - Returns: whether its member has waited by it, and waits no more.
    mutating func popFirst() -> (join: Join, wasWaiting: Bool)? {
        guard let first = self.queue.popFirst() else { return nil }
        guard self.isWaiting(first) else { return (first, false) }
        self.numbers[first.member] = nil
        return (first, true)
    }
    /// Takes out the first that still waits, and all before it.
    mutating func popWaiting() -> MemberID? {
        while let (join, wasWaiting) = self.popFirst() {
            if wasWaiting { return join.member }
        }
        return nil
    }
    /// The member waits no more.
    /// - Returns: whether it did.
    @discardableResult mutating func forget(_ member: MemberID) -> Bool {
        self.numbers.removeValue(forKey: member) != nil
    }
    /// Nobody waits from here on. Numbers go on.
    mutating func removeAll() {
        self.queue.removeAll(keepingCapacity: false)
        self.numbers = [:]
    }
}

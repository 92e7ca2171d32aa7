import DequeModule

/// Late members of a ring that wait to be served, in the order of their joins.
///
/// Each join has a number. If a member joins again, only its last join counts. If a member leaves, none of its joins
/// counts. Joins that do not count stay in the queue without effect.
struct LateJoins {
    struct Join: Equatable {
        var member: MemberID
        var number: UInt32
        /// Offset of the join's record in `state`; -1: not known yet.
        var offset: Int64 = -1
    }
    /// The joins by number, ascending.
    private(set) var queue: Deque<Join> = []
    /// The number of the last join of each member that is still waiting.
    private var numbers: [MemberID: UInt32] = [:]
    /// Number of the last join. The next join gets one more, unless its number is given.
    private var lastNumber: UInt32 = .max

    /// Number of members that still wait.
    var count: Int { self.numbers.count }
    var members: Dictionary<MemberID, UInt32>.Keys { self.numbers.keys }
    @inline(__always) var first: Join? { self.queue.first }
    /// Whether the member still waits because of this join, rather than a later one.
    func isWaiting(_ join: Join) -> Bool { self.numbers[join.member] == join.number }

    /// Lets the member wait behind the others.
    /// - Returns: the number of its join.
    mutating func joined(_ member: MemberID, offset: Int64 = -1) -> UInt32 {
        self.joined(member, number: self.lastNumber &+ 1, offset: offset)
        return self.lastNumber
    }
    /// Lets the member wait behind the others, with a given number.
    /// - Parameter number: the join's number. It must be greater than all numbers in the queue.
    mutating func joined(_ member: MemberID, number: UInt32, offset: Int64 = -1) {
        self.lastNumber = number
        self.queue.append(Join(member: member, number: number, offset: offset))
        self.numbers[member] = number
    }
    /// Remembers the offset of the record of the join with that number.
    mutating func written(_ number: UInt32, at offset: Int64) {
        guard let first = self.queue.first else { return }
        let wanted = number &- first.number
        // The join's index is `wanted`, or lower if numbers before the join's own were left out.
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
    /// Takes the first join out of the queue. If the member was waiting because of this join, the wait ends.
    /// - Returns: the join, and whether the member was waiting because of it.
    mutating func popFirst() -> (join: Join, wasWaiting: Bool)? {
        guard let first = self.queue.popFirst() else { return nil }
        guard self.isWaiting(first) else { return (first, false) }
        self.numbers[first.member] = nil
        return (first, true)
    }
    /// Takes out the first member that still waits, together with all joins before that member's.
    mutating func popWaiting() -> MemberID? {
        while let (join, wasWaiting) = self.popFirst() {
            if wasWaiting { return join.member }
        }
        return nil
    }
    /// Ends the member's wait.
    /// - Returns: whether it waited.
    @discardableResult mutating func forget(_ member: MemberID) -> Bool {
        self.numbers.removeValue(forKey: member) != nil
    }
    /// Ends the wait of all members. Numbering continues.
    mutating func removeAll() {
        self.queue.removeAll(keepingCapacity: false)
        self.numbers = [:]
    }
}

import DequeModule

/// Members that joined while a start went round. A record announces them up to an offset, as it announces the others up to a position.
struct LateStarts {
    private var joins = LateJoins()
    /// So many joins at the front are announced, and will be once the record under way is acknowledged.
    private(set) var announcedCount = 0
    private var announcedNext = 0
    /// Members whose record lies below it have been announced.
    private(set) var offset: Int64 = 0
    /// The record of nobody who was taken out to be sent the start lies at it or behind.
    private var servedOffset: Int64 = 0

    /// Those that wait.
    @inline(__always) var count: Int { self.joins.count }
    /// There are some that could be announced.
    @inline(__always) var hasUnannounced: Bool {
        self.announcedCount < self.joins.queue.count && self.joins.queue[self.announcedCount].offset >= 0
    }
    /// Those that are announced, and wait.
    var unansweredCount: Int { self.joins.queue.prefix(self.announcedNext).count { self.joins.isWaiting($0) } }
    /// Some of those.
    func unanswered(max: Int) -> [MemberID] {
        Array(
            self.joins.queue.prefix(self.announcedNext).lazy.filter { self.joins.isWaiting($0) }.map(\.member)
                .prefix(max))
    }

    // MARK: What happens

    /// A start goes round, of whose late members those below the offset are announced.
    mutating func begin(offset: Int64) {
        self.offset = offset
        self.servedOffset = offset
    }
    /// Nobody waits from here on.
    /// - Returns: who did.
    mutating func cease() -> [MemberID] {
        let members = Array(self.joins.members)
        self.joins.removeAll()
        self.announcedCount = 0
        self.announcedNext = 0
        return members
    }
    /// A member joins behind the others; or its record is written once more.
    mutating func joined(_ member: MemberID, number: UInt32) { self.joins.joined(member, number: number) }
    /// The record of that number lies there.
    mutating func written(_ number: UInt32, at offset: Int64) { self.joins.written(number, at: offset) }
    /// Takes out the first that is announced.
    /// - Parameter isFree: it need not be.
    mutating func popFirst(isFree: Bool) -> MemberID? {
        while let first = self.joins.first, self.announcedCount > 0 || (isFree && first.offset >= 0) {
            let wasWaiting = self.joins.popFirst()?.wasWaiting ?? false
            self.offset = max(self.offset, first.offset + 1)
            self.announcedCount = max(0, self.announcedCount - 1)
            self.announcedNext = max(0, self.announcedNext - 1)
            guard wasWaiting else { continue }
            self.servedOffset = max(self.servedOffset, first.offset + 1)
            return first.member
        }
        return nil
    }
    /// The member has left, or is late no more.
    /// - Returns: whether it waited.
    mutating func left(_ member: MemberID) -> Bool { self.joins.forget(member) }

    // MARK: Announcing

    /// A record is written that announces so many at most.
    mutating func announce(max most: Int) {
        // A record that is under way has announced those before it: it may come to lie there.
        var index = self.announcedNext
        while index < self.joins.queue.count, index < most, self.joins.queue[index].offset >= 0 {
            self.offset = max(self.offset, self.joins.queue[index].offset + 1)
            index += 1
        }
        self.announcedNext = index
    }
    /// The record is there.
    mutating func announced() { self.announcedCount = self.announcedNext }
    /// Members that are announced and were not sent to are announced no more.
    mutating func withdraw() {
        self.announcedCount = 0
        self.announcedNext = 0
        for join in self.joins.queue where join.offset >= 0 && self.joins.isWaiting(join) {
            self.offset = min(self.offset, join.offset)
        }
        // Records may lie in another order than they were written in: rather none for one of those than a second for one who was served.
        self.offset = max(self.offset, self.servedOffset)
    }
}

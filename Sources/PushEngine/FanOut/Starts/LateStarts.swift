import DequeModule

/// Members that joined while a start went round. The start's progress record announces all late members whose own
/// records are below an offset. It announces other members up to a position in the ring.
struct LateStarts {
    private var joins = LateJoins()
    /// Number of joins at the front of the queue that an acknowledged record announces.
    private(set) var announcedCount = 0
    /// Number of joins at the front of the queue that the last record written announces.
    private var announcedNext = 0
    /// The offset for the next progress record. It announces late members whose own records are below this offset.
    private(set) var offset: Int64 = 0
    /// An offset above the records of all members that were taken out to be sent the start.
    private var servedOffset: Int64 = 0

    /// Number of members that wait.
    @inline(__always) var count: Int { self.joins.count }
    /// Whether there are members that could be announced.
    @inline(__always) var hasUnannounced: Bool {
        self.announcedCount < self.joins.queue.count && self.joins.queue[self.announcedCount].offset >= 0
    }
    /// Number of members that still wait and are announced, if only by the record on its way.
    var unansweredCount: Int { self.joins.queue.prefix(self.announcedNext).count { self.joins.isWaiting($0) } }
    /// The first members that still wait and are announced, if only by the record on its way.
    func unanswered(max: Int) -> [MemberID] {
        Array(
            self.joins.queue.prefix(self.announcedNext).lazy.filter { self.joins.isWaiting($0) }.map(\.member)
                .prefix(max))
    }

    // MARK: What happens

    /// Begins a start.
    /// - Parameter offset: late members whose records are below this offset have been announced by a former owner.
    mutating func begin(offset: Int64) {
        self.offset = offset
        self.servedOffset = offset
    }
    /// Ends the wait of all members.
    /// - Returns: the members that waited.
    mutating func cease() -> [MemberID] {
        let members = Array(self.joins.members)
        self.joins.removeAll()
        self.announcedCount = 0
        self.announcedNext = 0
        return members
    }
    /// Adds a member behind the others. If its record is written once more, the member moves to the end.
    mutating func joined(_ member: MemberID, number: UInt32) { self.joins.joined(member, number: number) }
    /// Remembers the offset of the record with that number.
    mutating func written(_ number: UInt32, at offset: Int64) { self.joins.written(number, at: offset) }
    /// Takes out the first announced member.
    /// - Parameter isFree: whether members need not be announced.
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
    /// Removes a member that has left, or is no longer late.
    /// - Returns: whether it waited.
    mutating func left(_ member: MemberID) -> Bool { self.joins.forget(member) }

    // MARK: Announcing

    /// Announces members with the record that is about to be written.
    /// - Parameter most: maximum number of announced members.
    mutating func announce(max most: Int) {
        // Members before this index are announced already, if only by a record on its way. That record may still become
        // the last one in `state`.
        var index = self.announcedNext
        while index < self.joins.queue.count, index < most, self.joins.queue[index].offset >= 0 {
            self.offset = max(self.offset, self.joins.queue[index].offset + 1)
            index += 1
        }
        self.announcedNext = index
    }
    /// Counts the members that the record announces as announced, because Kafka has the record.
    mutating func announced() { self.announcedCount = self.announcedNext }
    /// Withdraws the announcement of members that have not been sent the start.
    mutating func withdraw() {
        self.announcedCount = 0
        self.announcedNext = 0
        for join in self.joins.queue where join.offset >= 0 && self.joins.isWaiting(join) {
            self.offset = min(self.offset, join.offset)
        }
        // Kafka may store records in another order than they were sent. So a waiting member's record may be before that
        // of a served member. It is better that the waiting member misses the start than that the served one gets two.
        self.offset = max(self.offset, self.servedOffset)
    }
}

/// What a restore has read of a crowd's start, until the start that goes round is known.
struct RestoredStarts {
    /// How far the last start had got; `nil`: `state` does not say.
    private(set) var progress: StartProgressRecord?
    /// Members whose records say that a start was sent to them apart from the round, or that they wait for it.
    private var marks: [MemberID: StartMemberRecord.RestoredMark] = [:]
    /// A start whose version has expired: one element, or none.
    private var orders: [StartOrder] = []

    /// Whether the restore has read neither a start's progress nor a member's mark.
    var isEmpty: Bool { self.progress == nil && self.marks.isEmpty }
    /// A start that continues although no version carries it; `nil`: none.
    var order: StartOrder? { self.orders.first }

    mutating func progressRead(_ progress: StartProgressRecord?) { self.progress = progress }
    mutating func ordersRead(_ orders: [StartOrder]) { self.orders = orders }
    /// Takes a member's record, which replaces what was read of the member before.
    mutating func memberRead(_ member: MemberID, _ record: StartMemberRecord, offset: Int64) {
        self.marks[member] =
            record.mark == .none || record.hasLeft
            ? nil : StartMemberRecord.RestoredMark(mark: record.mark, start: record.start, offset: offset)
    }
    mutating func memberForgotten(_ member: MemberID) { self.marks[member] = nil }
    /// Takes out what was read of this start. What was read of others is forgotten.
    /// - Returns: how far the start had got (`nil`: `state` does not say), and the members that have a mark of this
    ///   start, in the order of their records.
    mutating func take(
        _ start: StartStamp
    ) -> (known: StartProgressRecord?, marks: [(member: MemberID, mark: StartMemberRecord.RestoredMark)]) {
        let known = self.progress.flatMap { $0.start == start ? $0 : nil }
        let marks = self.marks.filter { $1.start.names(start) }.sorted { $0.value.offset < $1.value.offset }
        self.progress = nil
        self.marks = [:]
        return (known, marks.map { ($0.key, $0.value) })
    }
}

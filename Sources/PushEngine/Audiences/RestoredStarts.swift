/// What a restore has read of a crowd's start, until it is known which one goes round.
struct RestoredStarts {
    /// How far the last one was; `nil`: `state` does not tell.
    private(set) var progress: StartProgressRecord?
    /// Members that it has met, or that wait for it.
    private var marks: [MemberID: StartMemberRecord.RestoredMark] = [:]
    /// A start whose version has expired: one element, or none.
    private var orders: [StartOrder] = []

    /// `state` told of a start, or of members that one has met.
    var isEmpty: Bool { self.progress == nil && self.marks.isEmpty }
    /// A start that no version brings, and that goes on.
    var order: StartOrder? { self.orders.first }

    mutating func progressRead(_ progress: StartProgressRecord?) { self.progress = progress }
    mutating func ordersRead(_ orders: [StartOrder]) { self.orders = orders }
    /// A member's record was read; it has replaced what was read before.
    mutating func memberRead(_ member: MemberID, _ record: StartMemberRecord, offset: Int64) {
        self.marks[member] =
            record.mark == .none || record.hasLeft
            ? nil : StartMemberRecord.RestoredMark(mark: record.mark, start: record.start, offset: offset)
    }
    mutating func memberForgotten(_ member: MemberID) { self.marks[member] = nil }
    /// A start goes on: takes out what was read of it.
    /// - Returns: how far it was, if it is the one that `state` tells of; and its members, in the order of their records.
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

import DequeModule

/// Members that were served apart from the round a moment ago. The round does not serve them again before the least
/// time between two pushes is over.
struct RecentlyServed {
    /// Number of remembered members at which no further late members are served. Members in the retry set are served
    /// all the same.
    static let countMax = 4_096
    private var millis: [MemberID: Int64] = [:]
    private var order: Deque<(member: MemberID, millis: Int64)> = []

    var isFull: Bool { self.order.count >= Self.countMax }
    mutating func remember(_ member: MemberID, servedMillis: Int64) {
        self.millis[member] = servedMillis
        self.order.append((member, servedMillis))
    }
    /// When the member was served apart from the round (steady clock); `nil`: never, or longer ago than
    /// `distanceMillis`.
    mutating func servedMillis(_ member: MemberID, distanceMillis: Int64, nowMillis: Int64) -> Int64? {
        self.forget(distanceMillis: distanceMillis, nowMillis: nowMillis)
        return self.millis.isEmpty ? nil : self.millis[member]
    }
    mutating func forget(distanceMillis: Int64, nowMillis: Int64) {
        while let first = self.order.first, first.millis + distanceMillis <= nowMillis {
            self.order.removeFirst()
            if self.millis[first.member] == first.millis { self.millis[first.member] = nil }
        }
    }
    /// When the next member is forgotten (steady clock); `nil`: none is remembered.
    func nextForgottenMillis(distanceMillis: Int64) -> Int64? { self.order.first.map { $0.millis + distanceMillis } }
}

import DequeModule

/// Members that were served out of turn a moment ago: the round does not come to them before the distance is over.
struct RecentlyServed {
    /// More are not served out of turn within a distance.
    static let countMax = 4_096
    private var millis: [MemberID: Int64] = [:]
    private var order: Deque<(member: MemberID, millis: Int64)> = []

    var isFull: Bool { self.order.count >= Self.countMax }
    mutating func note(_ member: MemberID, servedMillis: Int64) {
        self.millis[member] = servedMillis
        self.order.append((member, servedMillis))
    }
    /// When it was served; `nil`: longer ago than `distanceMillis`, or in its turn.
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
    /// When the first is forgotten, steady.
    func nextForgottenMillis(distanceMillis: Int64) -> Int64? { self.order.first.map { $0.millis + distanceMillis } }
}

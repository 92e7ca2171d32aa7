/// Where a pass stands. Every push asks: all of it is inlined.
extension Pass {
    /// The newest version's round is not over.
    @inline(__always) var isUnderWay: Bool { (self.targets.last?.until ?? 0) > self.position }
    /// The newest version's round is over, and nobody is left behind.
    @inline(__always) var isFinished: Bool {
        !self.isUnderWay && self.retries.count == 0 && self.lateCount == 0 && self.inFlight.count == 0
    }
    /// Members that are owed something and have not got it, those without an answer included. One that is owed an alert alone, and the newest
    /// content after it, counts twice.
    var waitingCount: Int {
        (self.targets.last?.ahead ?? 0) - self.skipped.count + self.aloneCount + self.retries.owedCount
            + self.lateCount + self.inFlight.count
    }
    /// Of these, those that the round meets with an alert that goes alone.
    var aloneCount: Int { self.alone?.ahead ?? 0 }
    /// Whether the round comes to a position on the circle yet.
    @inline(__always) func isAhead(_ ringPosition: UInt64) -> Bool {
        self.turned(ringPosition) < (self.targets.last?.until ?? 0)
    }
    /// Whether the newest alert comes to a position on the circle yet.
    @inline(__always) func isAlertAhead(_ ringPosition: UInt64) -> Bool {
        self.turned(ringPosition) < self.alertUntil
    }
    /// The first place at which the pass comes to a position on the circle.
    @inline(__always) func turned(_ ringPosition: UInt64) -> Int64 { Self.turned(ringPosition, from: self.position) }
    @inline(__always) static func turned(_ ringPosition: UInt64, from position: Int64) -> Int64 {
        let here = position & (Self.circle - 1)
        let there = Int64(ringPosition)
        return position - here + there + (there < here ? Self.circle : 0)
    }
    @inline(__always) var owesAlert: Bool { self.position < self.alertUntil }
    @inline(__always) var isHigh: Bool { self.position < self.highUntil || self.position < self.frequentHighUntil }
    /// A newer version gives a right of its own to priority 10: whoever had none by those before has it.
    mutating func hurry(for version: borrowing Version, in table: borrowing MemberTable) {
        guard !self.unhurried.isEmpty, version.isHigh || version.isFrequentHigh else { return }
        let (isHigh, isFrequentHigh) = (version.isHigh, version.isFrequentHigh)
        var left: Set<MemberID> = []
        for member in self.unhurried
        where table.flags(of: member).contains(.isFrequent) ? !isFrequentHigh : !isHigh { left.insert(member) }
        self.unhurried = left
    }
    /// When a member may be met again, wherever it stands, steady.
    mutating func nextNotBeforeMillis(
        of member: MemberID, at ringPosition: UInt64, distanceMillis: Int64, nowMillis: Int64
    ) -> Int64 {
        var notBefore = max(
            self.notBeforeMillis,
            self.marks.notBeforeMillis(self.turned(ringPosition), distanceMillis: distanceMillis))
        if let served = self.recent.servedMillis(member, distanceMillis: distanceMillis, nowMillis: nowMillis) {
            notBefore = max(notBefore, served + distanceMillis)
        }
        return max(
            notBefore, self.retries[member].map { $0.notBeforeMillis == .max ? .min : $0.notBeforeMillis } ?? .min)
    }
}

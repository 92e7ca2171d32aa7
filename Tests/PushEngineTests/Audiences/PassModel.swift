@testable import PushEngine

/// A plain model of a pass. It looks at members one by one, and each member knows what it is owed.
struct PassModel {
    struct Member {
        /// Whether the round still comes to the member, for each version of the pass.
        var isOwed: [Bool]
        /// Whether the round brings the member the newest alert.
        var isOwedAlert: Bool
        /// Whether the member gets the alert's own version first, and the newest version a round later.
        var isOwedAlone: Bool
    }
    static let circle = Int64(RingPosition.end)

    /// Position of the pass, which keeps growing from lap to lap.
    private(set) var cursor: Int64 = 0
    private var ends: [Int64] = []
    private var alertEnd: Int64 = 0
    private var aloneEnd: Int64?
    /// Members by position.
    private(set) var members: [Int64: Member] = [:]

    /// The next value of `cursor` at which the pass is at this position.
    private func there(_ position: Int64) -> Int64 {
        var there = position
        while there < self.cursor { there += Self.circle }
        return there
    }
    var goesAlone: Bool { self.aloneEnd != nil }
    var owesAlert: Bool { self.cursor < self.alertEnd }

    // MARK: Members
    /// - Returns: whether the newest version's round still comes to the member.
    @discardableResult mutating func joined(_ position: Int64) -> Bool {
        let there = self.there(position)
        let member = Member(
            isOwed: self.ends.map { there < $0 }, isOwedAlert: there < self.alertEnd,
            isOwedAlone: self.aloneEnd.map { there < $0 } ?? false)
        self.members[position] = member
        return member.isOwed.last ?? false
    }
    mutating func left(_ position: Int64) { self.members[position] = nil }

    // MARK: Versions
    /// Shortens each round to one lap from here, so that no member is met twice.
    private mutating func endSecondLaps() { self.ends = self.ends.map { min($0, self.cursor + Self.circle) } }
    mutating func take(hasAlert: Bool, withdrawsAlert: Bool, dropping dropped: [Bool], goesAlone: Bool) {
        self.endSecondLaps()
        if hasAlert || withdrawsAlert {
            self.alertEnd = self.cursor + (hasAlert ? Self.circle : 0)
            self.changeAll { $0.isOwedAlert = hasAlert }
        }
        self.ends = zip(self.ends, dropped).filter { !$0.1 }.map(\.0)
        self.changeAll { $0.isOwed = zip($0.isOwed, dropped).filter { !$0.1 }.map(\.0) + [true] }
        self.aloneEnd = nil
        self.changeAll { $0.isOwedAlone = false }
        if goesAlone {
            self.aloneEnd = self.alertEnd
            self.ends.append(self.alertEnd + Self.circle)
            self.changeAll { $0.isOwedAlone = $0.isOwedAlert }
        } else {
            self.ends.append(self.cursor + Self.circle)
        }
    }
    /// Drops the newest version, which has expired.
    mutating func dropNewest(goesAlone: Bool) {
        self.ends.removeLast()
        self.aloneEnd = nil
        self.endSecondLaps()
        let isEmpty = self.ends.isEmpty
        if isEmpty { self.alertEnd = self.cursor }
        self.changeAll {
            $0.isOwed.removeLast()
            $0.isOwedAlone = false
            if isEmpty { $0.isOwedAlert = false }
        }
        guard goesAlone, !isEmpty else { return }
        self.aloneEnd = self.alertEnd
        self.ends[self.ends.count - 1] = self.alertEnd + Self.circle
        self.changeAll {
            $0.isOwed[$0.isOwed.count - 1] = true
            $0.isOwedAlone = $0.isOwedAlert
        }
    }
    mutating func forgetAlert() {
        if self.aloneEnd != nil {
            self.ends[self.ends.count - 1] = self.cursor + Self.circle
            self.aloneEnd = nil
        }
        self.alertEnd = self.cursor
        self.changeAll {
            $0.isOwedAlert = false
            $0.isOwedAlone = false
        }
    }
    private mutating func changeAll(_ change: (inout Member) -> Void) {
        for position in Array(self.members.keys) { change(&self.members[position]!) }
    }

    // MARK: Going round
    /// Moves the pass. It meets every member on its way that is owed something.
    mutating func goes(from former: Int64, to latter: Int64) {
        let cursor = self.cursor + latter - former
        while let next = self.next, self.there(next) < cursor {
            self.cursor = self.there(next)
            self.endAlone()
            self.meet(next)
        }
        self.cursor = cursor
        self.endAlone()
    }
    /// Position of the next member that is owed something; `nil` if the round is over.
    private var next: Int64? {
        let owed = self.members.filter { $0.value.isOwed.last == true || $0.value.isOwedAlone }.map(\.key)
        return owed.min { self.there($0) < self.there($1) }
    }
    private mutating func meet(_ position: Int64) {
        let isAlone = self.members[position]!.isOwedAlone
        let kept = isAlone ? self.members[position]!.isOwed.last! : false
        for index in self.members[position]!.isOwed.indices { self.members[position]!.isOwed[index] = false }
        self.members[position]!.isOwed[self.ends.count - 1] = kept
        self.members[position]!.isOwedAlert = false
        self.members[position]!.isOwedAlone = false
        self.cursor += 1
        self.endAlone()
    }
    private mutating func endAlone() {
        if let end = self.aloneEnd, end <= self.cursor { self.aloneEnd = nil }
    }

    /// The model as `state` has it, without members.
    func asWritten() -> Self {
        var written = self
        written.members = [:]
        return written
    }

    // MARK: What the pass counts
    func count(_ isCounted: (Member) -> Bool) -> Int { self.members.values.count(where: isCounted) }
}

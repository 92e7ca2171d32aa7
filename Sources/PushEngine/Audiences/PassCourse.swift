import PushModel

/// The course of a pass round its ring: its position, and how far it brings each version, the newest alert and priority
/// 10.
///
/// Positions are counted on: one turn further is `circle` more. Every round ends where it began, one turn later. The
/// number of members before an end is counted as they join and leave, so that nothing has to be walked for it.
struct PassCourse {
    /// Number of positions of one turn.
    static let circle = Int64(RingPosition.end)

    /// The end of one version's round, and how many members it has not met yet.
    struct Target: Equatable {
        /// The position where the round ends.
        var until: Int64
        /// Number of members from the pass's position up to that end.
        var ahead: Int
    }
    /// What remains when the newest version has expired.
    enum Rest {
        /// No version: nobody is owed anything.
        case nothing
        /// The round of the previous version, as far as it had got.
        case former
        /// A new round of the previous version from here, because an alert goes alone.
        case formerAnew
    }

    /// The next position. All members before it have been met in this turn.
    private(set) var position: Int64 = 0
    /// The rounds of the versions that the audience has here, the newest last.
    private(set) var targets: [Target]
    /// The members that get the newest alert.
    private(set) var alertTarget = Target(until: 0, ahead: 0)
    /// Set when the alert does not fit beside the newest content. Members before its end get the version that brought
    /// the alert, and a turn later the newest.
    private(set) var alone: Target?
    /// The end of the members that have priority 10 of some version, those with `frequent-updates` of their own ledger.
    private(set) var highUntil: Int64 = 0
    private(set) var frequentHighUntil: Int64 = 0
    /// The end of what `state` says of the pass. The pass goes no further at priority 10, so that nobody gets that
    /// twice after a crash.
    private(set) var horizon: Int64 = 0
    /// The horizon as it will be once the record on its way is acknowledged.
    private(set) var nextHorizon: Int64 = 0
    /// The end of the members that an earlier owner may have met at priority 10 already.
    private var highFrom: Int64 = 0

    /// Creates a course whose rounds are all over.
    init(versionCount: Int) {
        self.targets = Array(repeating: Target(until: 0, ahead: 0), count: versionCount)
    }

    // MARK: Where it stands
    /// Whether the newest version's round is not over.
    @inline(__always) var isUnderWay: Bool { (self.targets.last?.until ?? 0) > self.position }
    /// The end of all rounds: the last position of any member that is met.
    @inline(__always) var until: Int64 { max(self.targets.last?.until ?? 0, self.alone?.until ?? 0) }
    /// Number of members that the newest version's round has not met yet.
    @inline(__always) var aheadCount: Int { self.targets.last?.ahead ?? 0 }
    /// Number of members that it has not met yet and that get an alert alone.
    @inline(__always) var aloneCount: Int { self.alone?.ahead ?? 0 }
    /// The end of the members that get the newest alert.
    @inline(__always) var alertUntil: Int64 { self.alertTarget.until }
    /// Whether the next member gets the newest alert.
    @inline(__always) var owesAlert: Bool { self.position < self.alertUntil }
    /// Whether the next member gets the alert's own version, and the newest a turn later.
    @inline(__always) var isAlone: Bool { self.alone.map { self.position < $0.until } ?? false }
    /// Whether the next member may have priority 10.
    @inline(__always) var isHigh: Bool { self.position < self.highUntil || self.position < self.frequentHighUntil }
    /// Whether the next member may have priority 10 by some version.
    @inline(__always) func mayBeHigh(isFrequent: Bool) -> Bool {
        guard self.position >= self.highFrom else { return false }
        return self.position < (isFrequent ? self.frequentHighUntil : self.highUntil)
    }
    /// Whether what `state` says of the pass ends here.
    @inline(__always) var isBeyondHorizon: Bool { self.position >= self.horizon }
    /// Whether a version that outlives the newest is kept. What members have not got of it is remembered until they
    /// have the newest.
    @inline(__always) var keepsOlder: Bool { self.targets.count > 1 }
    /// The next place at which the pass reaches a position on the circle.
    @inline(__always) func turned(_ ringPosition: UInt64) -> Int64 { Self.turned(ringPosition, from: self.position) }
    @inline(__always) static func turned(_ ringPosition: UInt64, from position: Int64) -> Int64 {
        let here = position & (Self.circle - 1)
        let there = Int64(ringPosition)
        return position - here + there + (there < here ? Self.circle : 0)
    }
    /// Whether the newest version's round has yet to reach a position on the circle.
    @inline(__always) func isAhead(_ ringPosition: UInt64) -> Bool {
        self.turned(ringPosition) < (self.targets.last?.until ?? 0)
    }
    /// Whether the newest alert has yet to reach a position on the circle.
    @inline(__always) func isAlertAhead(_ ringPosition: UInt64) -> Bool {
        self.turned(ringPosition) < self.alertUntil
    }
    /// Whether a member that the newest version's round has met had not been met by that of an older version.
    func hadNotMet(_ ringPosition: UInt64, versionAt index: Int) -> Bool {
        self.turned(ringPosition) - Self.circle < self.targets[index].until
    }

    // MARK: Versions
    /// Begins a round of a newer version from here.
    /// - Parameters:
    ///   - count: number of members of the ring.
    ///   - dropped: number of earlier versions, the oldest first, that are given up.
    ///   - alertGoesAlone: whether an alert that is still owed does not fit beside it.
    mutating func take(
        _ version: borrowing Version, count: Int, dropping dropped: [Bool], alertGoesAlone: Bool
    ) {
        self.endSecondTurns()
        if version.hasAlert {
            self.oweAlertAgain(count: count)
        } else if version.withdrawsAlert {
            self.alertTarget = Target(until: self.position, ahead: 0)
        }
        self.hurry(isHigh: version.isHigh, isFrequentHigh: version.isFrequentHigh)
        self.targets = zip(self.targets, dropped).compactMap { $1 ? nil : $0 }
        self.goRound(count: count, alertGoesAlone: alertGoesAlone && !version.hasAlert)
    }
    /// Begins another round of the newest version, because its channel does not bring it.
    mutating func takeAgain(
        count: Int, owesAlert: Bool, isHigh: Bool, isFrequentHigh: Bool, alertGoesAlone: Bool
    ) {
        if owesAlert { self.oweAlertAgain(count: count) }
        self.hurry(isHigh: isHigh, isFrequentHigh: isFrequentHigh)
        self.targets.removeLast()
        self.goRound(count: count, alertGoesAlone: alertGoesAlone)
    }
    /// Begins a round of the newest version from here.
    private mutating func goRound(count: Int, alertGoesAlone: Bool) {
        var until = self.position + Self.circle
        if alertGoesAlone, self.owesAlert {
            self.alone = self.alertTarget
            until = self.alertUntil + Self.circle
        } else {
            self.alone = nil
        }
        self.targets.append(Target(until: until, ahead: count))
    }
    private mutating func hurry(isHigh: Bool, isFrequentHigh: Bool) {
        if isHigh { self.highUntil = self.position + Self.circle }
        if isFrequentHigh { self.frequentHighUntil = self.position + Self.circle }
    }
    /// Drops the newest version, which has expired.
    /// - Parameters:
    ///   - count: number of members of the ring.
    ///   - alertGoesAlone: whether an alert that is still owed does not fit beside the previous version.
    mutating func dropNewest(count: Int, alertGoesAlone: Bool) -> Rest {
        self.targets.removeLast()
        self.alone = nil
        self.endSecondTurns()
        guard !self.targets.isEmpty else { return .nothing }
        guard alertGoesAlone, self.owesAlert else { return .former }
        // The previous version goes to all, because members with and without it are mingled.
        self.targets.removeLast()
        self.goRound(count: count, alertGoesAlone: true)
        return .formerAnew
    }
    /// Ends second turns. Where no alert goes alone, one turn meets everybody who has not been met.
    private mutating func endSecondTurns() {
        for index in self.targets.indices {
            self.targets[index].until = min(self.targets[index].until, self.position + Self.circle)
        }
    }
    /// Lets the alert be owed to all again.
    mutating func oweAlertAgain(count: Int) {
        self.alertTarget = Target(until: self.position + Self.circle, ahead: count)
    }
    /// Drops the alert: it is owed to nobody now.
    mutating func forgetAlert() {
        self.alertTarget = Target(until: self.position, ahead: 0)
        guard self.alone != nil else { return }
        // Nobody has the newest version yet.
        self.targets[self.targets.count - 1].until = self.position + Self.circle
        self.alone = nil
    }
    /// Returns to the alert of an older version, as the newest alert has expired. It is for members that have not met
    /// that version.
    mutating func returnToAlert(ofVersionAt index: Int) {
        let older = self.targets[index]
        if older.until < self.alertTarget.until { self.alertTarget = older }
    }
    /// Ends all rounds; nothing is owed.
    /// - Parameter versionCount: number of versions that the audience has.
    mutating func end(versionCount: Int = 0) {
        self.targets = Array(repeating: Target(until: self.position, ahead: 0), count: versionCount)
        self.alone = nil
        self.alertTarget = Target(until: self.position, ahead: 0)
        self.highUntil = self.position
        self.frequentHighUntil = self.position
    }
    /// Counts positions from this turn on.
    /// - Returns: by how much they are lowered.
    mutating func rebase() -> Int64 {
        let turns = self.position & ~(Self.circle - 1)
        guard turns > 0 else { return 0 }
        self.position -= turns
        for index in self.targets.indices { self.targets[index].until -= turns }
        self.alone?.until -= turns
        self.alertTarget.until -= turns
        self.highUntil -= turns
        self.frequentHighUntil -= turns
        self.horizon -= turns
        self.nextHorizon -= turns
        self.highFrom -= turns
        return turns
    }

    // MARK: Members
    /// Counts a member that joins the ring.
    /// - Returns: where the pass reaches it.
    mutating func joined(_ ringPosition: UInt64) -> Int64 { self.count(1, at: ringPosition) }
    /// Counts a member that leaves the ring.
    /// - Returns: where the pass would have reached it.
    mutating func left(_ ringPosition: UInt64) -> Int64 { self.count(-1, at: ringPosition) }
    private mutating func count(_ step: Int, at ringPosition: UInt64) -> Int64 {
        let there = self.turned(ringPosition)
        for index in self.targets.indices where there < self.targets[index].until { self.targets[index].ahead += step }
        if let alone = self.alone, there < alone.until { self.alone!.ahead += step }
        if there < self.alertTarget.until { self.alertTarget.ahead += step }
        return there
    }
    /// Notes that a member at the present position has been met.
    @inline(__always) mutating func met() {
        // Where an alert goes alone, the newest content follows a turn later.
        let isAlone = self.isAlone
        let metCount = isAlone ? self.targets.count - 1 : self.targets.count
        for index in 0..<metCount where self.position < self.targets[index].until { self.targets[index].ahead -= 1 }
        if isAlone { self.alone!.ahead -= 1 }
        if self.owesAlert { self.alertTarget.ahead -= 1 }
    }
    /// Moves to a position. No member is between.
    @inline(__always) mutating func move(to position: Int64) {
        self.position = position
        if self.alone != nil, !self.isAlone { self.alone = nil }
    }

    // MARK: What state says
    /// Extends the horizon for the next record: this many members may be met before the record after it.
    mutating func extendHorizon(members: Int, of count: Int) {
        let isEnough = members >= count
        self.nextHorizon = self.position + (isEnough ? Self.circle : Self.circle / Int64(count) * Int64(members))
    }
    /// Notes that `state` has the record.
    mutating func horizonWritten() { self.horizon = self.nextHorizon }
    /// Restores the course from its record. Members ahead are counted afterwards.
    mutating func restore(
        position: Int64, untils: [Int64], aloneUntil: Int64?, alertUntil: Int64, highUntil: Int64,
        frequentHighUntil: Int64, horizon: Int64
    ) {
        self.position = position
        self.targets = untils.map { Target(until: $0, ahead: 0) }
        self.alone = untils.isEmpty ? nil : aloneUntil.map { Target(until: $0, ahead: 0) }
        self.alertTarget = Target(until: alertUntil, ahead: 0)
        self.highUntil = highUntil
        self.frequentHighUntil = frequentHighUntil
        self.horizon = position
        self.nextHorizon = position
        self.highFrom = horizon
    }
    /// Counts the members ahead anew: for each target, members of the ring up to its end. A round longer than one turn
    /// meets some of them twice; `alone` counts the first time.
    mutating func countAhead(_ ring: RingID, in table: borrowing MemberTable) {
        for index in self.targets.indices { self.targets[index].ahead = 0 }
        self.alone?.ahead = 0
        self.alertTarget.ahead = 0
        guard max(self.targets.map(\.until).max() ?? 0, self.alertUntil) > self.position else { return }
        var entries: [RingEntry] = []
        var from: UInt64 = 0
        while from < RingPosition.end {
            entries.removeAll(keepingCapacity: true)
            from = table.fill(ring, from: from, limit: 1_024, into: &entries)
            for entry in entries { _ = self.joined(entry.position) }
        }
    }
}

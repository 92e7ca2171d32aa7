import PushModel

/// The way of a pass round its ring: where it stands, and up to where it brings each version, the newest alert and the right to priority 10.
///
/// Positions are counted on: one turn further is `circle` more. Whatever begins ends where it began, one turn later. How many members lie before an end is
/// counted as they come and go, so that nothing has to be walked to know it.
struct PassCourse {
    /// Positions of one turn.
    static let circle = Int64(RingPosition.end)

    /// Who has not been met yet by the round of one version.
    struct Target: Equatable {
        /// The round ends here.
        var until: Int64
        /// Members from the pass's position up to there.
        var ahead: Int
    }
    /// What remains when the newest version has expired.
    enum Rest {
        /// No version: nobody is owed anything.
        case nothing
        /// The round of the version before, as far as it had come.
        case former
        /// The version before goes once round from here, as an alert goes alone.
        case formerAnew
    }

    /// The next to be met; everybody before it has been, in this turn.
    private(set) var position: Int64 = 0
    /// As many as the audience has versions here, the newest last.
    private(set) var targets: [Target]
    /// Members that get the newest alert.
    private(set) var alertTarget = Target(until: 0, ahead: 0)
    /// The alert does not fit beside the newest content: up to here members get the version that brought it, and a turn later the newest.
    private(set) var alone: Target?
    /// Members up to here have priority 10 of some version, those with `frequent-updates` of their own ledger.
    private(set) var highUntil: Int64 = 0
    private(set) var frequentHighUntil: Int64 = 0
    /// What `state` says of the pass holds until here: it goes no further at priority 10, so that nobody gets that twice after a crash.
    private(set) var horizon: Int64 = 0
    /// The horizon as it will be once the record under way is acknowledged.
    private(set) var nextHorizon: Int64 = 0
    /// An owner before may have met members up to here at priority 10 already.
    private var highFrom: Int64 = 0

    /// Rounds that are all over.
    init(versionCount: Int) {
        self.targets = Array(repeating: Target(until: 0, ahead: 0), count: versionCount)
    }

    // MARK: Where it stands
    /// The newest version's round is not over.
    @inline(__always) var isUnderWay: Bool { (self.targets.last?.until ?? 0) > self.position }
    /// The last position of any member that is met.
    @inline(__always) var until: Int64 { max(self.targets.last?.until ?? 0, self.alone?.until ?? 0) }
    /// Members that the newest version's round meets yet.
    @inline(__always) var aheadCount: Int { self.targets.last?.ahead ?? 0 }
    /// Members that it meets yet with an alert that goes alone.
    @inline(__always) var aloneCount: Int { self.alone?.ahead ?? 0 }
    /// Members up to here get the newest alert.
    @inline(__always) var alertUntil: Int64 { self.alertTarget.until }
    /// The next member gets the newest alert.
    @inline(__always) var owesAlert: Bool { self.position < self.alertUntil }
    /// The next member gets the alert's own version, and the newest a turn later.
    @inline(__always) var isAlone: Bool { self.alone.map { self.position < $0.until } ?? false }
    /// The next member may have priority 10.
    @inline(__always) var isHigh: Bool { self.position < self.highUntil || self.position < self.frequentHighUntil }
    /// The next member may have priority 10 by some version.
    @inline(__always) func mayBeHigh(isFrequent: Bool) -> Bool {
        guard self.position >= self.highFrom else { return false }
        return self.position < (isFrequent ? self.frequentHighUntil : self.highUntil)
    }
    /// What `state` says of the pass holds here no more.
    @inline(__always) var isBeyondHorizon: Bool { self.position >= self.horizon }
    /// A version that outlives the newest is kept: what members have not got of it is remembered until the newest has come to them.
    @inline(__always) var keepsOlder: Bool { self.targets.count > 1 }
    /// The first place at which it comes to a position on the circle.
    @inline(__always) func turned(_ ringPosition: UInt64) -> Int64 { Self.turned(ringPosition, from: self.position) }
    @inline(__always) static func turned(_ ringPosition: UInt64, from position: Int64) -> Int64 {
        let here = position & (Self.circle - 1)
        let there = Int64(ringPosition)
        return position - here + there + (there < here ? Self.circle : 0)
    }
    /// Whether the newest version's round comes to a position on the circle yet.
    @inline(__always) func isAhead(_ ringPosition: UInt64) -> Bool {
        self.turned(ringPosition) < (self.targets.last?.until ?? 0)
    }
    /// Whether the newest alert comes to a position on the circle yet.
    @inline(__always) func isAlertAhead(_ ringPosition: UInt64) -> Bool {
        self.turned(ringPosition) < self.alertUntil
    }
    /// A member that the newest version's round has met had not been met by that of an older one.
    func hadNotMet(_ ringPosition: UInt64, versionAt index: Int) -> Bool {
        self.turned(ringPosition) - Self.circle < self.targets[index].until
    }

    // MARK: Versions
    /// A newer version goes once round from here.
    /// - Parameters:
    ///   - count: members of the ring.
    ///   - dropped: of the versions before it, the oldest first, which are given up.
    ///   - alertGoesAlone: what its members are still owed of an alert does not fit beside it.
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
    /// The newest version goes once round again, as its channel does not bring it.
    mutating func takeAgain(
        count: Int, owesAlert: Bool, isHigh: Bool, isFrequentHigh: Bool, alertGoesAlone: Bool
    ) {
        if owesAlert { self.oweAlertAgain(count: count) }
        self.hurry(isHigh: isHigh, isFrequentHigh: isFrequentHigh)
        self.targets.removeLast()
        self.goRound(count: count, alertGoesAlone: alertGoesAlone)
    }
    /// The newest version goes once round from here.
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
    /// The newest version has expired.
    /// - Parameters:
    ///   - count: members of the ring.
    ///   - alertGoesAlone: what its members are still owed of an alert does not fit beside the one before.
    mutating func dropNewest(count: Int, alertGoesAlone: Bool) -> Rest {
        self.targets.removeLast()
        self.alone = nil
        self.endSecondTurns()
        guard !self.targets.isEmpty else { return .nothing }
        guard alertGoesAlone, self.owesAlert else { return .former }
        // To all, as those that have the version and those that have not lie mingled.
        self.targets.removeLast()
        self.goRound(count: count, alertGoesAlone: true)
        return .formerAnew
    }
    /// Where no alert goes alone one turn meets everybody who has not been met.
    private mutating func endSecondTurns() {
        for index in self.targets.indices {
            self.targets[index].until = min(self.targets[index].until, self.position + Self.circle)
        }
    }
    /// The alert is owed to all.
    mutating func oweAlertAgain(count: Int) {
        self.alertTarget = Target(until: self.position + Self.circle, ahead: count)
    }
    /// The alert is owed to nobody now.
    mutating func forgetAlert() {
        self.alertTarget = Target(until: self.position, ahead: 0)
        guard self.alone != nil else { return }
        // Nobody has got the newest yet.
        self.targets[self.targets.count - 1].until = self.position + Self.circle
        self.alone = nil
    }
    /// The newest alert has expired, and that of an older version has not: it is for members that have not met that version.
    mutating func returnToAlert(ofVersionAt index: Int) {
        let older = self.targets[index]
        if older.until < self.alertTarget.until { self.alertTarget = older }
    }
    /// All its rounds are over; nothing is owed.
    /// - Parameter versionCount: versions that the audience has.
    mutating func end(versionCount: Int = 0) {
        self.targets = Array(repeating: Target(until: self.position, ahead: 0), count: versionCount)
        self.alone = nil
        self.alertTarget = Target(until: self.position, ahead: 0)
        self.highUntil = self.position
        self.frequentHighUntil = self.position
    }
    /// Counts positions from this turn on.
    /// - Returns: what they are less by.
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
    /// A member is in the ring from here on.
    /// - Returns: where it comes to it.
    mutating func joined(_ ringPosition: UInt64) -> Int64 { self.count(1, at: ringPosition) }
    /// A member is in the ring no more.
    /// - Returns: where it would have come to it.
    mutating func left(_ ringPosition: UInt64) -> Int64 { self.count(-1, at: ringPosition) }
    private mutating func count(_ step: Int, at ringPosition: UInt64) -> Int64 {
        let there = self.turned(ringPosition)
        for index in self.targets.indices where there < self.targets[index].until { self.targets[index].ahead += step }
        if let alone = self.alone, there < alone.until { self.alone!.ahead += step }
        if there < self.alertTarget.until { self.alertTarget.ahead += step }
        return there
    }
    /// A member at its position has been met.
    @inline(__always) mutating func met() {
        // Where an alert goes alone the newest content comes a turn later.
        let isAlone = self.isAlone
        let metCount = isAlone ? self.targets.count - 1 : self.targets.count
        for index in 0..<metCount where self.position < self.targets[index].until { self.targets[index].ahead -= 1 }
        if isAlone { self.alone!.ahead -= 1 }
        if self.owesAlert { self.alertTarget.ahead -= 1 }
    }
    /// Nobody stands between here and there.
    @inline(__always) mutating func move(to position: Int64) {
        self.position = position
        if self.alone != nil, !self.isAlone { self.alone = nil }
    }

    // MARK: What state says
    /// What the next record says: how many members may be met before the one after it.
    mutating func extendHorizon(members: Int, of count: Int) {
        let isEnough = members >= count
        self.nextHorizon = self.position + (isEnough ? Self.circle : Self.circle / Int64(count) * Int64(members))
    }
    /// `state` has the record.
    mutating func horizonWritten() { self.horizon = self.nextHorizon }
    /// As it was written down; who is ahead is counted afterwards.
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
    /// Counts anew who is ahead: of each target, members of the ring up to where it ends. A round that is longer than one turn meets some of them twice; the
    /// first time is what `alone` counts.
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

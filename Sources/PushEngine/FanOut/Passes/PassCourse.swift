import PushModel

/// The course of a pass round its ring. It has the pass's position, and the ends of the rounds of each version, of the
/// newest alert and of priority 10.
///
/// Positions are not reset after a lap: the same position one lap later is `circle` more. A round ends where it began,
/// one lap later. If an alert goes alone, the newest version's round is longer. Members between the pass and each end
/// are counted as they join, leave and are met, so the ring is not searched to count them.
struct PassCourse {
    /// Number of positions in one lap.
    static let circle = Int64(RingPosition.end)

    /// The end of one version's round, and how many members it has not met yet.
    struct Target: Equatable {
        /// The position where the round ends.
        var until: Int64
        /// Number of members between the pass's position and the end of the round.
        var ahead: Int
    }
    /// What remains when the newest version has expired.
    enum Rest {
        /// No version is left: nobody is owed anything.
        case nothing
        /// The previous version's round continues to its own end.
        case former
        /// A new round of the previous version begins at the present position, because an alert goes alone.
        case formerAnew
    }

    /// The position that is met next. All members before it have been met in this lap.
    private(set) var position: Int64 = 0
    /// The rounds of the versions that the audience has here, the newest last.
    private(set) var targets: [Target]
    /// The round of the newest alert.
    private(set) var alertTarget = Target(until: 0, ahead: 0)
    /// The round of an alert that does not fit beside the newest content; `nil`: the alert fits, or is owed to nobody.
    /// Members ahead get the version that brought the alert, and a lap later the newest.
    private(set) var alone: Target?
    /// The end of priority 10 for members without `frequent-updates`. Those before this position may be sent some
    /// version with priority 10.
    private(set) var highUntil: Int64 = 0
    /// The end of priority 10 for members with `frequent-updates`, which have a ledger of their own.
    private(set) var frequentHighUntil: Int64 = 0
    /// The end of what the last acknowledged progress record allows. The pass goes no further at priority 10, so that
    /// nobody gets priority 10 twice after a crash.
    private(set) var horizon: Int64 = 0
    /// The value that the horizon gets when Kafka has acknowledged the progress record that was written last.
    private(set) var nextHorizon: Int64 = 0
    /// The position before which a former owner may already have met members at priority 10.
    private var highFrom: Int64 = 0

    /// Creates a course whose rounds are all over.
    init(versionCount: Int) {
        self.targets = Array(repeating: Target(until: 0, ahead: 0), count: versionCount)
    }

    // MARK: Present state
    /// Whether the newest version's round is still going on.
    @inline(__always) var isUnderWay: Bool { (self.targets.last?.until ?? 0) > self.position }
    /// The end of all rounds: no member at this position or beyond it is met.
    @inline(__always) var until: Int64 { max(self.targets.last?.until ?? 0, self.alone?.until ?? 0) }
    /// Number of members that the newest version's round has not met yet.
    @inline(__always) var aheadCount: Int { self.targets.last?.ahead ?? 0 }
    /// Number of members to which the round has yet to bring an alert alone.
    @inline(__always) var aloneCount: Int { self.alone?.ahead ?? 0 }
    /// The end of the newest alert's round.
    @inline(__always) var alertUntil: Int64 { self.alertTarget.until }
    /// Whether the next member gets the newest alert.
    @inline(__always) var owesAlert: Bool { self.position < self.alertUntil }
    /// Whether the next member gets the alert's own version, and the newest a lap later.
    @inline(__always) var isAlone: Bool { self.alone.map { self.position < $0.until } ?? false }
    /// Whether some version still gives priority 10 at this position: to members with `frequent-updates`, to the
    /// others, or to both.
    @inline(__always) var isHigh: Bool { self.position < self.highUntil || self.position < self.frequentHighUntil }
    /// Whether the next member may have priority 10. Before `highFrom` it may have had priority 10 already, so it gets
    /// none.
    @inline(__always) func mayBeHigh(isFrequent: Bool) -> Bool {
        guard self.position >= self.highFrom else { return false }
        return self.position < (isFrequent ? self.frequentHighUntil : self.highUntil)
    }
    /// Whether the pass has reached its horizon.
    @inline(__always) var isBeyondHorizon: Bool { self.position >= self.horizon }
    /// Whether a version is kept that expires later than the newest. If so, members that have not got that version are
    /// remembered until they have the newest.
    @inline(__always) var keepsOlder: Bool { self.targets.count > 1 }
    /// The position, counted over all laps, at which the pass next reaches a position of the circle.
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
    /// Whether the newest version's round met the members at a position before an older version's round reached them.
    /// - Parameter index: index of the older version's round in `targets`.
    func hadNotMet(_ ringPosition: UInt64, versionAt index: Int) -> Bool {
        self.turned(ringPosition) - Self.circle < self.targets[index].until
    }

    // MARK: Versions
    /// Begins the round of a newer version from the present position.
    /// - Parameters:
    ///   - count: number of members of the ring.
    ///   - dropped: for each earlier version, the oldest first, whether it is given up.
    ///   - alertGoesAlone: whether an alert that is still owed does not fit beside the newer version.
    mutating func take(
        _ version: borrowing Version, count: Int, dropping dropped: [Bool], alertGoesAlone: Bool
    ) {
        self.endSecondLaps()
        if version.hasAlert {
            self.oweAlertAgain(count: count)
        } else if version.withdrawsAlert {
            self.alertTarget = Target(until: self.position, ahead: 0)
        }
        self.hurry(isHigh: version.isHigh, isFrequentHigh: version.isFrequentHigh)
        self.targets = zip(self.targets, dropped).compactMap { $1 ? nil : $0 }
        self.goRound(count: count, alertGoesAlone: alertGoesAlone && !version.hasAlert)
    }
    /// Begins another round of the newest version, because the channel does not bring that version.
    mutating func takeAgain(
        count: Int, owesAlert: Bool, isHigh: Bool, isFrequentHigh: Bool, alertGoesAlone: Bool
    ) {
        if owesAlert { self.oweAlertAgain(count: count) }
        self.hurry(isHigh: isHigh, isFrequentHigh: isFrequentHigh)
        self.targets.removeLast()
        self.goRound(count: count, alertGoesAlone: alertGoesAlone)
    }
    /// Begins a round of the newest version from the present position.
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
    /// - Returns: what remains.
    mutating func dropNewest(count: Int, alertGoesAlone: Bool) -> Rest {
        self.targets.removeLast()
        self.alone = nil
        self.endSecondLaps()
        guard !self.targets.isEmpty else { return .nothing }
        guard alertGoesAlone, self.owesAlert else { return .former }
        // The previous version goes to all members, because those that have it and those that lack it are mixed in the
        // ring.
        self.targets.removeLast()
        self.goRound(count: count, alertGoesAlone: true)
        return .formerAnew
    }
    /// Lets no round end more than one lap from here. If no alert goes alone, one lap is enough to meet all members.
    private mutating func endSecondLaps() {
        for index in self.targets.indices {
            self.targets[index].until = min(self.targets[index].until, self.position + Self.circle)
        }
    }
    /// Lets the newest alert be owed to all members.
    mutating func oweAlertAgain(count: Int) {
        self.alertTarget = Target(until: self.position + Self.circle, ahead: count)
    }
    /// Drops the alert: nobody is owed it now.
    mutating func forgetAlert() {
        self.alertTarget = Target(until: self.position, ahead: 0)
        guard self.alone != nil else { return }
        // The round has brought the newest version to nobody yet: so far it has sent the alert alone.
        self.targets[self.targets.count - 1].until = self.position + Self.circle
        self.alone = nil
    }
    /// Returns to the alert of an older version, because the newest alert has expired. The older alert is owed to
    /// members that its version's round has not met.
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
    /// Lowers all positions by whole laps, so that they do not grow without end.
    /// - Returns: by how much they are lowered.
    mutating func rebase() -> Int64 {
        let laps = self.position & ~(Self.circle - 1)
        guard laps > 0 else { return 0 }
        self.position -= laps
        for index in self.targets.indices { self.targets[index].until -= laps }
        self.alone?.until -= laps
        self.alertTarget.until -= laps
        self.highUntil -= laps
        self.frequentHighUntil -= laps
        self.horizon -= laps
        self.nextHorizon -= laps
        self.highFrom -= laps
        return laps
    }

    // MARK: Members
    /// Counts a member that joins the ring.
    /// - Returns: the position, counted over all laps, at which the pass reaches the member.
    mutating func joined(_ ringPosition: UInt64) -> Int64 { self.count(1, at: ringPosition) }
    /// Counts a member that leaves the ring.
    /// - Returns: the position, counted over all laps, at which the pass would have reached the member.
    mutating func left(_ ringPosition: UInt64) -> Int64 { self.count(-1, at: ringPosition) }
    private mutating func count(_ step: Int, at ringPosition: UInt64) -> Int64 {
        let there = self.turned(ringPosition)
        for index in self.targets.indices where there < self.targets[index].until { self.targets[index].ahead += step }
        if let alone = self.alone, there < alone.until { self.alone!.ahead += step }
        if there < self.alertTarget.until { self.alertTarget.ahead += step }
        return there
    }
    /// Counts a member at the present position as met.
    @inline(__always) mutating func met() {
        // Where an alert goes alone, the newest content follows a lap later.
        let isAlone = self.isAlone
        let metCount = isAlone ? self.targets.count - 1 : self.targets.count
        for index in 0..<metCount where self.position < self.targets[index].until { self.targets[index].ahead -= 1 }
        if isAlone { self.alone!.ahead -= 1 }
        if self.owesAlert { self.alertTarget.ahead -= 1 }
    }
    /// Moves to a position. No member may lie between the present position and the new one.
    @inline(__always) mutating func move(to position: Int64) {
        self.position = position
        if self.alone != nil, !self.isAlone { self.alone = nil }
    }

    // MARK: What state says
    /// Extends the horizon for the progress record that is written now.
    /// - Parameters:
    ///   - members: number of members that may be met before the next progress record.
    ///   - count: number of members of the ring.
    mutating func extendHorizon(members: Int, of count: Int) {
        let isEnough = members >= count
        self.nextHorizon = self.position + (isEnough ? Self.circle : Self.circle / Int64(count) * Int64(members))
    }
    /// Moves the horizon to where the progress record puts it, because `state` has that record.
    mutating func horizonWritten() { self.horizon = self.nextHorizon }
    /// Restores the course from the pass's progress record. The caller then counts the members ahead with `countAhead`.
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
    /// Counts again how many members each round has yet to meet. If an alert goes alone, the newest version's round
    /// meets some members twice. The first time brings the alert, and is counted in `alone`. The second time brings the
    /// newest version, and is counted in `targets`.
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

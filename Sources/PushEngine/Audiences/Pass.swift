import PushModel

/// How far a partition has brought the members of one ring to the newest version (fan-out contract: Passes, Supersession).
///
/// The ring is a circle of positions, and the pass goes round it. Positions are counted on: one turn further is `circle` more. A newer version
/// takes over where the pass stands, and goes once round from there. So is an alert, and the right to priority 10: each ends where it began,
/// one turn later, whatever came meanwhile.
///
/// It counts on its own what its members are owed, so that nothing has to be walked to know it.
///
/// What every push asks of it is inlined: a pass that is handed to a function is copied, and it is large.
struct Pass {
    /// Positions of one turn.
    static let circle = Int64(RingPosition.end)

    /// Who has not been met yet by the round of one version.
    struct Target {
        /// The round ends here.
        var until: Int64
        /// Members from the pass's position up to there.
        var ahead: Int
    }

    let ring: RingID
    let environment: PushEnvironment
    /// Of members that listen on a channel: its number among those of the crowd in this environment.
    let channelNumber: UInt8?
    /// The channel's id; empty: they listen on none, or a restore has not met it.
    var channelID: [UInt8] = []
    /// The newest version reaches its members by broadcast: nothing is owed to them, but to those that joined since.
    private(set) var isServedByChannel = false
    /// Those of them that have been served.
    private(set) var byToken = ListenersByToken()
    /// Members that said lately that they listen on the channel.
    var recentListeners = RecentListeners()
    /// Where its pushes leave by; none: a restore has not met the audience's name yet.
    var lane: LaneIndex
    /// The next to be met; everybody before it has been, in this turn.
    private(set) var position: Int64 = 0
    /// As many as the audience has versions here, the newest last.
    private(set) var targets: [Target] = []
    /// Members that get the newest alert.
    private(set) var alertTarget = Target(until: 0, ahead: 0)
    /// Members up to here get the newest alert.
    var alertUntil: Int64 { self.alertTarget.until }
    /// The alert does not fit beside the newest content: up to `alertUntil` members get the version that brought it, and then all the newest.
    private(set) var alone: Target?
    /// Members up to here have priority 10 of some version, those with `frequent-updates` of their own ledger.
    private(set) var highUntil: Int64 = 0
    private(set) var frequentHighUntil: Int64 = 0
    /// What `state` says of the pass holds until here: it goes no further at priority 10, so that nobody gets that twice after a crash.
    var horizon: Int64 = 0
    /// The same as it will be once the record under way is acknowledged.
    var nextHorizon: Int64 = 0
    /// An owner before may have met members up to here at priority 10 already.
    private(set) var highFrom: Int64 = 0
    /// Nothing is met before this; a former owner may have pushed until shortly before. Steady.
    var notBeforeMillis: Int64 = .min
    private(set) var marks = PassMarks()
    var retries = RetrySet()
    /// Members that joined behind the pass.
    private(set) var late = LateJoins()
    /// Of those, members that still wait and that the round does not come to.
    var lateCount = 0
    /// Members that joined late and were served before the round came to them: it passes over them.
    private(set) var skipped: Set<MemberID> = []
    /// Members that joined since the newest alert was taken and that its round comes to: it is not for them.
    private(set) var quiet: Set<MemberID> = []
    /// The same of the right to priority 10. Not in `state`: a next owner may give it to those.
    var unhurried: Set<MemberID> = []
    /// Members served out of turn of late, and when, steady.
    var recent = RecentlyServed()
    /// Members without an answer.
    private(set) var inFlight = PushesInFlight()
    /// The next members, from `position` on.
    private var upcoming = RingLookAhead()
    /// It stands in its lane's queue.
    private(set) var isQueued = false

    /// A pass whose rounds are all over: whoever joins its ring is late.
    /// - Parameter versionCount: versions that the audience has here already.
    init(
        ring: RingID, environment: PushEnvironment, lane: LaneIndex, versionCount: Int, channelNumber: UInt8? = nil
    ) {
        self.ring = ring
        self.channelNumber = channelNumber
        self.environment = environment
        self.lane = lane
        self.targets = Array(repeating: Target(until: 0, ahead: 0), count: versionCount)
    }

    // MARK: Versions
    /// A newer version goes once round from here.
    /// - Parameters:
    ///   - count: members of the ring.
    ///   - dropped: of the versions before it, the oldest first, which are given up.
    ///   - alertGoesAlone: what its members are still owed of an alert does not fit beside it.
    ///   - table: that holds the ring.
    mutating func take(
        _ version: borrowing Version, count: Int, dropping dropped: [Bool], alertGoesAlone: Bool,
        in table: inout MemberTable
    ) {
        self.rebase()
        self.endSecondTurns()
        if version.hasAlert || version.withdrawsAlert { self.quiet = [] }
        self.hurry(for: version, in: table)
        if version.hasAlert {
            self.alertTarget = Target(until: self.position + Self.circle, ahead: count)
        } else if version.withdrawsAlert {
            self.alertTarget = Target(until: self.position, ahead: 0)
            self.retries.forgetAlerts()
        }
        if version.isHigh { self.highUntil = self.position + Self.circle }
        if version.isFrequentHigh { self.frequentHighUntil = self.position + Self.circle }
        self.targets = zip(self.targets, dropped).compactMap { $1 ? nil : $0 }
        self.goRound(count: count, alertGoesAlone: alertGoesAlone && !version.hasAlert, in: &table)
    }
    /// The newest version goes once round from here.
    private mutating func goRound(count: Int, alertGoesAlone: Bool, in table: inout MemberTable) {
        var until = self.position + Self.circle
        if alertGoesAlone, self.owesAlert {
            self.alone = self.alertTarget
            until = self.alertUntil + Self.circle
        } else {
            self.alone = nil
        }
        self.targets.append(Target(until: until, ahead: count))
        self.retries.handOverToRound()
        if self.keepsOlder { self.retries.remember(self.late.members.sorted { $0.rawValue < $1.rawValue }) }
        self.forgetLate(in: &table)
    }
    /// The newest version has expired: whoever it left unserved is owed the one before.
    /// - Parameters:
    ///   - count: members of the ring.
    ///   - alertGoesAlone: what its members are still owed of an alert does not fit beside the one before.
    ///   - table: that holds the ring.
    mutating func dropNewest(count: Int, alertGoesAlone: Bool, in table: inout MemberTable) {
        self.targets.removeLast()
        self.alone = nil
        self.endSecondTurns()
        if alertGoesAlone, !self.targets.isEmpty, self.owesAlert {
            // That goes round once more, as it did when it was the newest: to all, as those that have it and those that have not lie mingled.
            self.targets.removeLast()
            return self.goRound(count: count, alertGoesAlone: true, in: &table)
        }
        guard self.targets.isEmpty else {
            // Its round is shorter: some that it would have met are late now, or owed what they waited for before.
            self.skipped = self.skipped.filter { self.isAhead(table.position(of: $0)) }
            self.lateCount = self.late.members.count { !self.isAhead(table.position(of: $0)) }
            for member in self.retries.members where !self.isAhead(table.position(of: member)) {
                self.retries.owe(member)
            }
            return
        }
        // Nobody is owed anything.
        self.reset(in: &table)
    }
    /// Where no alert goes alone one turn meets everybody who has not been met.
    private mutating func endSecondTurns() {
        for index in self.targets.indices {
            self.targets[index].until = min(self.targets[index].until, self.position + Self.circle)
        }
    }
    /// Its alert is owed to nobody any more.
    mutating func forgetAlert() {
        self.alertTarget = Target(until: self.position, ahead: 0)
        self.quiet = []
        if self.alone != nil {
            // Nobody has got the newest yet.
            self.targets[self.targets.count - 1].until = self.position + Self.circle
            self.alone = nil
        }
        self.retries.forgetAlerts()
    }
    /// The newest alert has expired, and that of an older version has not: it is for whoever has not met that version.
    mutating func returnToAlert(ofVersionAt index: Int, stampSeconds: Int64, in table: borrowing MemberTable) {
        let older = self.targets[index]
        if older.until < self.alertTarget.until { self.alertTarget = older }
        let position = self.position
        self.retries.returnToAlert { member, entry in
            let there = Self.turned(table.position(of: member), from: position)
            return entry.alertsMissedSinceSeconds <= stampSeconds
                || (entry.isOwed ? there - Self.circle : there) < older.until
        }
    }
    /// A member that the newest version's round has met had not been met by that of an older one.
    func hadNotMet(_ ringPosition: UInt64, versionAt index: Int) -> Bool {
        self.turned(ringPosition) - Self.circle < self.targets[index].until
    }
    /// A version that outlives the newest is kept: what members have not got of it is remembered until the newest has come to them.
    var keepsOlder: Bool { self.targets.count > 1 }
    /// Nothing is owed any more.
    mutating func reset(in table: inout MemberTable) {
        self.targets = []
        self.alone = nil
        self.alertTarget = Target(until: self.position, ahead: 0)
        self.highUntil = self.position
        self.frequentHighUntil = self.position
        self.unhurried = []
        for member in self.retries.members { self.retries.remove(member) }
        self.forgetLate(in: &table)
    }
    private mutating func forgetLate(in table: inout MemberTable) {
        for member in self.late.members { table.removeFlag(.isLate, of: member) }
        self.late.removeAll()
        self.lateCount = 0
        self.skipped = []
    }
    private mutating func rebase() {
        let turns = self.position & ~(Self.circle - 1)
        guard turns > 0 else { return }
        self.position -= turns
        for index in self.targets.indices { self.targets[index].until -= turns }
        self.alone?.until -= turns
        self.alertTarget.until -= turns
        self.highUntil -= turns
        self.frequentHighUntil -= turns
        self.horizon -= turns
        self.nextHorizon -= turns
        self.highFrom -= turns
        self.upcoming.rebase(by: turns)
        self.marks.rebase(by: turns)
    }

    // MARK: Channels
    /// The newest version, of so many, reaches the members by broadcast.
    /// - Parameters:
    ///   - alertStampSeconds: the newest alert's stamp; `nil`: there is none.
    ///   - alertsSinceSeconds: of those who wait for an alert, who joined then or later waits on: no broadcast brings it. `max`: nobody does.
    mutating func leaveToChannel(
        versionCount: Int, alertStampSeconds: Int64?, keepingAlertsSinceSeconds alertsSinceSeconds: Int64,
        in table: inout MemberTable
    ) {
        // Members that came late are not owed that alert: like those that have been served, they do not get it with the next version.
        if self.isServedByChannel { for member in self.lateListeners { self.byToken.noteServed(member) } }
        self.byToken.take(alertStampSeconds: alertStampSeconds, retries: self.retries)
        var owed: [(member: MemberID, entry: RetrySet.Entry)] = []
        if alertsSinceSeconds < .max {
            for waiting in self.retries.alertEntries
            where Int64(table.joinedSeconds(of: waiting.member)) >= alertsSinceSeconds { owed.append(waiting) }
        }
        self.reset(in: &table)
        for (member, entry) in owed {
            // It waited for a round that does not come.
            let isAnswerAwaited = table.flags(of: member).contains(.isInFlight)
            let notBefore = entry.notBeforeMillis == .max && !isAnswerAwaited ? .min : entry.notBeforeMillis
            self.retries.set(
                RetrySet.Entry(
                    notBeforeMillis: notBefore, attempt: entry.attempt, isOwed: true, owesAlert: true), for: member)
        }
        self.targets = Array(repeating: Target(until: self.position, ahead: 0), count: versionCount)
        self.quiet = []
        self.isServedByChannel = true
    }
    /// An owner before has left it to the channel; who joined since waits.
    /// - Parameter alertStampSeconds: the newest alert's stamp; `nil`: there is none.
    mutating func resumeChannel(alertStampSeconds: Int64?) {
        self.isServedByChannel = true
        self.byToken.resume(alertStampSeconds: alertStampSeconds)
    }
    /// It is served by tokens from the next version on.
    mutating func leaveChannel() {
        self.isServedByChannel = false
        self.byToken.removeAll()
    }
    /// The alert of a version before, which no broadcast has brought, is owed to all.
    mutating func oweAlertAgain(count: Int) {
        self.alertTarget = Target(until: self.position + Self.circle, ahead: count)
    }
    /// No broadcast has brought the newest version: it goes round by tokens, but for those that have it.
    /// - Parameters:
    ///   - count: members of the ring.
    ///   - alertGoesAlone: an alert that is owed does not fit beside it.
    ///   - table: that holds the ring.
    mutating func fallBack(
        count: Int, owesAlert: Bool, isHigh: Bool, isFrequentHigh: Bool, alertGoesAlone: Bool,
        in table: inout MemberTable
    ) {
        let (served, others) = (self.byToken.served, self.lateListeners)
        self.leaveChannel()
        guard !self.targets.isEmpty else { return }
        self.rebase()
        if owesAlert { self.oweAlertAgain(count: count) }
        if isHigh { self.highUntil = self.position + Self.circle }
        if isFrequentHigh { self.frequentHighUntil = self.position + Self.circle }
        self.targets.removeLast()
        self.goRound(count: count, alertGoesAlone: alertGoesAlone, in: &table)
        for member in served where self.retries[member] == nil { self.skip(member) }
        // A newer version may take over before the round has come to them: the alert goes on, and is not for them.
        for member in others { self.keepQuiet(member) }
    }
    /// Members that joined while the newest version came by broadcast, or had its alert by their tokens before: an alert that is owed to all is not for
    /// them. Those that wait for it all the same are left out. Some wait for an answer first, or for their next attempt.
    var lateListeners: [MemberID] {
        let alerted = self.byToken.alerted.filter { self.retries[$0]?.owesAlert != true }
        let waiting = self.isServedByChannel ? self.retries.members.filter { self.retries[$0]?.owesAlert != true } : []
        return self.byToken.served.union(alerted).union(self.late.members).union(waiting).sorted {
            $0.rawValue < $1.rawValue
        }
    }
    /// How many.
    var lateListenerCount: Int { self.byToken.served.count + self.late.count }
    /// A member that joined while the newest version came by broadcast has it by its token, or has had it before.
    mutating func noteServedLate(_ member: MemberID) {
        if self.isServedByChannel { self.byToken.noteServed(member) }
    }
    /// The member has left the ring.
    mutating func forgetServedLate(_ member: MemberID) { self.byToken.forget(member) }

    // MARK: Members
    /// A member is in the ring from here on.
    /// - Returns: whether the round will meet it.
    mutating func joined(_ ringPosition: UInt64) -> Bool {
        let there = self.turned(ringPosition)
        // It is not among those looked up already.
        if there < self.upcoming.end { self.upcoming.forget() }
        self.count(1, at: there)
        return there < (self.targets.last?.until ?? 0)
    }
    /// A member is in the ring no more.
    mutating func left(_ ringPosition: UInt64) {
        let there = self.turned(ringPosition)
        if there < self.upcoming.end { self.upcoming.forget() }
        self.count(-1, at: there)
    }
    private mutating func count(_ step: Int, at there: Int64) {
        for index in self.targets.indices where there < self.targets[index].until { self.targets[index].ahead += step }
        if let alone = self.alone, there < alone.until { self.alone!.ahead += step }
        if there < self.alertTarget.until { self.alertTarget.ahead += step }
    }
    /// It waits behind the others that joined late.
    /// - Parameter isAhead: the round comes to it.
    mutating func wait(late member: MemberID, isAhead: Bool) {
        self.late.joined(member)
        if !isAhead { self.lateCount += 1 }
        // One that leaves stays here: whoever has its number next has come later still.
        if isAhead { self.keepQuiet(member) }
        if isAhead { self.keepUnhurried(member) }
    }
    /// It came after the alert that goes round, whose round comes to it.
    mutating func keepQuiet(_ member: MemberID) {
        if self.owesAlert, self.quiet.count < Self.skippedMax { self.quiet.insert(member) }
    }
    /// It came after the version that has priority 10, whose round comes to it, or has had it already.
    mutating func keepUnhurried(_ member: MemberID) {
        if self.isHigh, self.unhurried.count < Self.skippedMax { self.unhurried.insert(member) }
    }
    /// More members are not served before the round comes to them.
    static let skippedMax = 4_096
    /// It was served before the round came to it.
    mutating func skip(_ member: MemberID) { self.skipped.insert(member) }
    /// It is owed what the round brings, after all, or it has been met.
    @discardableResult mutating func forgetSkip(_ member: MemberID) -> Bool {
        !self.skipped.isEmpty && self.skipped.remove(member) != nil
    }
    /// Whether it came after the alert that goes round; the round comes to it no more.
    mutating func forgetQuiet(_ member: MemberID) -> Bool {
        !self.quiet.isEmpty && self.quiet.remove(member) != nil
    }
    /// Whether it came after the version whose priority 10 goes round; the round comes to it no more.
    mutating func forgetUnhurried(_ member: MemberID) -> Bool {
        !self.unhurried.isEmpty && self.unhurried.remove(member) != nil
    }
    /// The join of that number lies there in `state`.
    mutating func noteLate(_ number: UInt32, offset: Int64) { self.late.written(number, at: offset) }
    /// Takes out the first that still waits.
    mutating func popLate() -> MemberID? { self.late.popWaiting() }
    /// It has left, or been met.
    mutating func forgetLate(_ member: MemberID) { self.late.forget(member) }

    /// Number of the last join that was late.
    var lateLast: UInt32 { self.late.lastNumber }

    // MARK: In flight
    var inFlightCount: Int { self.inFlight.count }
    /// A push to a member has left.
    @inline(__always) mutating func pushLeft(_ push: MemberPushID, in store: inout MemberPushStore) {
        self.inFlight.left(push, in: &store)
    }
    /// It has been answered, whatever the answer is; the store has it still.
    @inline(__always) mutating func pushAnswered(_ push: MemberPushID, in store: inout MemberPushStore) {
        self.inFlight.answered(push, in: &store)
    }
    /// It stands in its lane's queue from here on.
    @inline(__always) mutating func queued() { self.isQueued = true }
    /// It has left the queue: nobody is to be served there.
    @inline(__always) mutating func dequeued() { self.isQueued = false }

    // MARK: Going round
    /// The next member of the round, which stays; `nil`: the round is over. Moves on over positions that nobody has.
    mutating func next(in table: borrowing MemberTable) -> MemberID? {
        let until = max(self.targets.last?.until ?? 0, self.alone?.until ?? 0)
        while self.position < until {
            if let entry = self.upcoming.next {
                self.move(to: min(until, self.turned(entry.position)))
                return self.position < until ? entry.member : nil
            }
            if self.upcoming.end > self.position {
                self.move(to: min(until, self.upcoming.end))
                self.upcoming.forget()
                continue
            }
            self.upcoming.lookUp(self.ring, from: self.position, in: table)
            for entry in self.upcoming.entries { table.prefetch(entry.member) }
        }
        return nil
    }
    /// Nobody stands between here and there.
    private mutating func move(to position: Int64) {
        self.position = position
        if self.alone != nil, !self.isAlone { self.alone = nil }
    }
    /// The member that `next` named has been met.
    /// - Parameter isServed: now; `false`: it waits among `retries`.
    mutating func met(isServed: Bool, distanceMillis: Int64, nowMillis: Int64) {
        if isServed { self.marks.served(self.position, distanceMillis: distanceMillis, nowMillis: nowMillis) }
        // Where an alert goes alone the newest content comes a turn later.
        let metCount = self.isAlone ? self.targets.count - 1 : self.targets.count
        for index in 0..<metCount where self.position < self.targets[index].until { self.targets[index].ahead -= 1 }
        if self.isAlone { self.alone!.ahead -= 1 }
        if self.owesAlert { self.alertTarget.ahead -= 1 }
        self.upcoming.passed()
        // Those of one position are met together.
        if self.upcoming.next?.position != UInt64(self.position & (Self.circle - 1)) {
            self.move(to: self.position + 1)
        }
    }
    /// The next member gets the alert's own version, and the newest a turn later.
    @inline(__always) var isAlone: Bool { self.alone.map { self.position < $0.until } ?? false }
    /// When the member that `next` named may be met, steady.
    @inline(__always) func nextNotBeforeMillis(distanceMillis: Int64) -> Int64 {
        max(self.notBeforeMillis, self.marks.notBeforeMillis(self.position, distanceMillis: distanceMillis))
    }

    // MARK: What state says
    /// As it was written down; `ahead` is counted afterwards.
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
    /// Counts anew who is ahead: of each target, members up to where it ends.
    mutating func countAhead(in table: borrowing MemberTable) {
        for index in self.targets.indices { self.targets[index].ahead = 0 }
        self.alone?.ahead = 0
        self.alertTarget.ahead = 0
        guard max(self.targets.map(\.until).max() ?? 0, self.alertUntil) > self.position else { return }
        var entries: [RingEntry] = []
        var from: UInt64 = 0
        while from < RingPosition.end {
            entries.removeAll(keepingCapacity: true)
            from = table.fill(self.ring, from: from, limit: 1_024, into: &entries)
            for entry in entries { self.countRestored(self.turned(entry.position)) }
        }
    }
    private mutating func countRestored(_ there: Int64) {
        // A round that is longer than one turn meets some of them twice; the first time is what `alone` counts.
        self.count(1, at: there)
    }
}

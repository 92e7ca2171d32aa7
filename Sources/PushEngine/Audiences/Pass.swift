import PushModel

/// How far a partition has brought the members of one ring to the newest version (fan-out contract: Passes, Supersession).
///
/// The ring is a circle of positions, and the pass goes round it: `course` says where. Members that it does not simply meet in their turn are `apart`. It counts on
/// its own what its members are owed.
///
/// It decides; its owner journals, sends and counts. What every push asks of it is inlined: a pass that is handed to a function is copied, and it is large.
struct Pass {
    /// What its members are owed.
    struct Owed: Equatable {
        var all = 0
        /// Members among these that wait for an alert that goes alone.
        var alone = 0
    }
    /// Who may miss a version's broadcast, and gets that by token.
    struct Missing {
        var member: MemberID
        /// With the alert, which comes with the content: the phone ignores a broadcast that has it, under the same stamp.
        var owesAlert: Bool
    }
    /// Positions of one turn.
    static let circle = PassCourse.circle
    /// Members that the round passes over, and that its alert is not for, at most: of each.
    static let skippedMax = MembersApart.skippedMax

    let ring: RingID
    let environment: PushEnvironment
    /// The channel that its members listen on.
    private(set) var channel: PassChannel
    /// Where its pushes leave by; none: a restore has not met the audience's name yet.
    private(set) var lane: LaneIndex
    private(set) var course: PassCourse
    private(set) var apart = MembersApart()
    /// Pushes without an answer.
    private(set) var inFlight = PushesInFlight()
    /// It stands in its lane's queue.
    private(set) var isQueued = false
    /// The next members, from the course's position on.
    private var upcoming = RingLookAhead()
    private var marks = PassMarks()
    /// Nothing is met before this; a former owner may have pushed until shortly before. Steady.
    private var notBeforeMillis: Int64 = .min

    /// A pass whose rounds are all over: members that join its ring are late.
    /// - Parameters:
    ///   - versionCount: versions that the audience has here already.
    ///   - channelID: empty: a restore has not met it.
    init(
        ring: RingID, environment: PushEnvironment, lane: LaneIndex, versionCount: Int, channelNumber: UInt8? = nil,
        channelID: [UInt8] = []
    ) {
        self.ring = ring
        self.environment = environment
        self.channel = PassChannel(number: channelNumber, id: channelID)
        self.lane = lane
        self.course = PassCourse(versionCount: versionCount)
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
        self.apart.versionCame(version, in: table)
        self.course.take(version, count: count, dropping: dropped, alertGoesAlone: alertGoesAlone)
        self.apart.roundBegan(keepsOlder: self.course.keepsOlder, in: &table)
    }
    /// A newer version than the one whose alert some wait for comes, with an alert of its own.
    mutating func alertReplaced(stampSeconds: Int64) { self.apart.alertReplaced(stampSeconds: stampSeconds) }
    /// The newest version has expired: members that it left unserved are owed the one before.
    /// - Parameters:
    ///   - count: members of the ring.
    ///   - alertGoesAlone: what its members are still owed of an alert does not fit beside the one before.
    ///   - table: that holds the ring.
    mutating func dropNewest(count: Int, alertGoesAlone: Bool, in table: inout MemberTable) {
        switch self.course.dropNewest(count: count, alertGoesAlone: alertGoesAlone) {
        case .nothing: self.reset(in: &table)
        case .former: self.apart.roundShortened(self.course, in: table)
        case .formerAnew: self.apart.roundBegan(keepsOlder: self.course.keepsOlder, in: &table)
        }
    }
    /// Its alert is owed to nobody now.
    mutating func forgetAlert() {
        self.course.forgetAlert()
        self.apart.alertEnded()
    }
    /// The newest alert has expired, and that of an older version has not: it is for members that have not met that version.
    mutating func returnToAlert(ofVersionAt index: Int, stampSeconds: Int64, in table: borrowing MemberTable) {
        self.course.returnToAlert(ofVersionAt: index)
        self.apart.returnToAlert(ofVersionAt: index, stampSeconds: stampSeconds, self.course, in: table)
    }
    /// Nothing is owed now.
    mutating func reset(in table: inout MemberTable) {
        self.course.end()
        self.apart.end(in: &table)
    }
    private mutating func rebase() {
        let turns = self.course.rebase()
        guard turns > 0 else { return }
        self.upcoming.rebase(by: turns)
        self.marks.rebase(by: turns)
    }

    // MARK: Channels
    /// Its members listen on that channel: a restore, or the first that joins, tells its id.
    mutating func named(channelID: [UInt8]) { self.channel.named(channelID) }
    /// A restore has met the audience's name, and with it the lane; none: its tombstones.
    mutating func named(lane: LaneIndex) { self.lane = lane }
    /// A member has said that it listens.
    mutating func listens(_ join: RecentListeners.Join) { self.channel.listens(join) }
    /// Members that said that they listen when a broadcast may have left already; each once, in an order that a seed repeats.
    /// - Parameter sinceMillis: it left then or later, milliseconds since 1970.
    mutating func listeners(
        sinceMillis: Int64, nowMillis: Int64, in table: borrowing MemberTable
    ) -> [RecentListeners.Join] {
        self.channel.listeners(in: self.ring, sinceMillis: sinceMillis, nowMillis: nowMillis, table: table)
    }
    /// The newest version reaches the members by broadcast; some may miss it.
    /// - Parameters:
    ///   - versionCount: versions that the audience has.
    ///   - alertStampSeconds: the newest alert's stamp; `nil`: there is none.
    ///   - alertsSinceSeconds: of those who wait for an alert, who joined then or later waits on: no broadcast brings it. `max`: nobody does.
    ///   - distanceMillis: the least time between two pushes to a member.
    ///   - nowMillis: steady.
    mutating func leaveToChannel(
        versionCount: Int, alertStampSeconds: Int64?, keepingAlertsSinceSeconds alertsSinceSeconds: Int64,
        butFor missing: [Missing] = [], distanceMillis: Int64 = 0, nowMillis: Int64 = 0, in table: inout MemberTable
    ) {
        let restedMillis = missing.map { missing in
            self.restedMillis(
                missing.member, at: table.position(of: missing.member), distanceMillis: distanceMillis,
                nowMillis: nowMillis)
        }
        self.channel.began(
            late: self.channel.serves ? self.lateListeners : [], alertStampSeconds: alertStampSeconds,
            retries: self.apart.retries)
        self.course.end(versionCount: versionCount)
        self.apart.leftToChannel(keepingAlertsSinceSeconds: alertsSinceSeconds, in: &table)
        for (missing, millis) in zip(missing, restedMillis) {
            self.apart.mayMissBroadcast(
                missing, notBeforeMillis: millis, distanceMillis: distanceMillis, nowMillis: nowMillis, self.course,
                in: &table)
        }
    }
    /// An owner before has left it to the channel; who joined since waits.
    /// - Parameters:
    ///   - alertStampSeconds: the newest alert's stamp; `nil`: there is none.
    ///   - served: members that have the newest version by their tokens all the same.
    mutating func resumeChannel(alertStampSeconds: Int64?, served: [MemberID]) {
        self.channel.resumed(alertStampSeconds: alertStampSeconds)
        for member in served { self.channel.served(member) }
    }
    /// It is served by tokens from the next version on.
    mutating func leaveChannel() { self.channel.ended() }
    /// It is served by tokens from here on, and an older alert that no broadcast has brought is owed to all. Members that had it where they came from, or came after it,
    /// are left out.
    /// - Parameter count: members of the ring.
    mutating func leaveChannelOwingAlert(count: Int) {
        let others = self.lateListeners
        self.leaveChannel()
        self.course.oweAlertAgain(count: count)
        for member in others { self.apart.keepQuiet(member, self.course) }
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
        let (served, others) = (self.channel.byToken.served, self.lateListeners)
        self.leaveChannel()
        guard !self.course.targets.isEmpty else { return }
        self.rebase()
        self.course.takeAgain(
            count: count, owesAlert: owesAlert, isHigh: isHigh, isFrequentHigh: isFrequentHigh,
            alertGoesAlone: alertGoesAlone)
        self.apart.roundBegan(keepsOlder: self.course.keepsOlder, in: &table)
        for member in served where self.apart.retries[member] == nil { self.apart.skip(member) }
        // A newer version may take over before the round has come to them: the alert goes on, and is not for them.
        for member in others { self.apart.keepQuiet(member, self.course) }
    }

    // MARK: Coming and going
    /// A member is in the ring from here on: the round meets it, or it is late.
    /// - Parameters:
    ///   - notBeforeMillis: its phone may have been pushed to shortly before; steady.
    ///   - distanceMillis: the least time between two pushes to a member.
    ///   - hasVersions: the audience has something to bring.
    /// - Returns: its number among the late; `nil`: it is not.
    mutating func joined(
        _ member: MemberID, notBeforeMillis: Int64, distanceMillis: Int64, nowMillis: Int64, hasVersions: Bool,
        in table: inout MemberTable
    ) -> UInt32? {
        let isAhead = self.joined(table.position(of: member))
        return self.apart.joined(
            member, isAhead: isAhead, notBeforeMillis: notBeforeMillis, distanceMillis: distanceMillis,
            nowMillis: nowMillis, hasVersions: hasVersions, self.course, in: &table)
    }
    /// A member is in the ring from here on, and has what goes round there.
    /// - Parameters: as of `joined`.
    mutating func joinedServed(
        _ member: MemberID, notBeforeMillis: Int64, distanceMillis: Int64, nowMillis: Int64,
        in table: borrowing MemberTable
    ) {
        let isAhead = self.joined(table.position(of: member))
        self.apart.joinedServed(
            member, isAhead: isAhead, notBeforeMillis: notBeforeMillis, distanceMillis: distanceMillis,
            nowMillis: nowMillis, self.course, in: table)
        self.channel.served(member)
    }
    /// A member is in the ring from here on, and is owed the newest version with the alert.
    /// - Parameter notBeforeMillis: steady.
    mutating func joinedOwed(_ member: MemberID, notBeforeMillis: Int64, in table: borrowing MemberTable) {
        let isAhead = self.joined(table.position(of: member))
        self.apart.joinedOwed(member, isAhead: isAhead, notBeforeMillis: notBeforeMillis)
    }
    /// - Returns: whether the round will meet it.
    private mutating func joined(_ ringPosition: UInt64) -> Bool {
        let there = self.course.joined(ringPosition)
        // It is not among those looked up already.
        if there < self.upcoming.end { self.upcoming.forget() }
        return self.course.isAhead(ringPosition)
    }
    /// A member is about to leave the ring: nothing is owed to it here.
    /// - Returns: when its phone may be pushed to again, steady.
    mutating func left(
        _ member: MemberID, distanceMillis: Int64, nowMillis: Int64, in table: inout MemberTable
    ) -> Int64 {
        let position = table.position(of: member)
        let notBefore = self.restedMillis(
            member, at: position, distanceMillis: distanceMillis, nowMillis: nowMillis)
        if self.course.left(position) < self.upcoming.end { self.upcoming.forget() }
        self.apart.left(member, isAhead: self.course.isAhead(position), in: &table)
        self.channel.left(member)
        return notBefore
    }
    /// When a member may be met again, wherever it stands, steady.
    private mutating func restedMillis(
        _ member: MemberID, at ringPosition: UInt64, distanceMillis: Int64, nowMillis: Int64
    ) -> Int64 {
        max(
            self.notBeforeMillis,
            self.marks.notBeforeMillis(self.course.turned(ringPosition), distanceMillis: distanceMillis),
            self.apart.restedMillis(member, distanceMillis: distanceMillis, nowMillis: nowMillis))
    }
    /// The late join of that number lies there in `state`.
    mutating func lateJoinWritten(_ number: UInt32, at offset: Int64) {
        self.apart.lateJoinWritten(number, at: offset)
    }

    // MARK: Serving
    /// Who is next, and with what; it counts as met from here on. `nil`: nobody's turn has come.
    /// - Parameters:
    ///   - hasAlert: there is an alert that may be owed to some.
    ///   - alertGoesAlone: it does not fit beside the newest content.
    ///   - distanceMillis: the least time between two pushes to a member.
    ///   - nowMillis: steady.
    @inline(__always) mutating func nextServing(
        hasAlert: Bool, alertGoesAlone: Bool, distanceMillis: Int64, nowMillis: Int64, in table: inout MemberTable,
        effects: inout ServingEffects
    ) -> MemberServing? {
        guard self.notBeforeMillis <= nowMillis else { return nil }
        if let serving = self.nextOutOfTurn(
            hasAlert: hasAlert, alertGoesAlone: alertGoesAlone, distanceMillis: distanceMillis, nowMillis: nowMillis,
            in: &table, effects: &effects)
        {
            self.channel.served(serving.member)
            return serving
        }
        return self.nextOfRound(
            hasAlert: hasAlert, distanceMillis: distanceMillis, nowMillis: nowMillis, in: &table, effects: &effects)
    }
    /// Somebody may be tried again.
    @inline(__always) func hasDueRetry(nowMillis: Int64) -> Bool { self.apart.retries.nextDueMillis <= nowMillis }
    @inline(__always) private mutating func nextOutOfTurn(
        hasAlert: Bool, alertGoesAlone: Bool, distanceMillis: Int64, nowMillis: Int64, in table: inout MemberTable,
        effects: inout ServingEffects
    ) -> MemberServing? {
        if self.hasDueRetry(nowMillis: nowMillis),
            let serving = self.apart.nextRetry(
                hasAlert: hasAlert, alertGoesAlone: alertGoesAlone, nowMillis: nowMillis, self.course, in: table,
                effects: &effects)
        {
            return serving
        }
        guard !self.apart.late.queue.isEmpty else { return nil }
        return self.apart.nextLate(
            distanceMillis: distanceMillis, nowMillis: nowMillis, self.course, in: &table)
    }
    private mutating func nextOfRound(
        hasAlert: Bool, distanceMillis: Int64, nowMillis: Int64, in table: inout MemberTable,
        effects: inout ServingEffects
    ) -> MemberServing? {
        while !self.apart.retries.isFull, let member = self.next(in: table) {
            if self.course.isHigh, self.course.isBeyondHorizon { return nil }
            guard self.nextNotBeforeMillis(distanceMillis: distanceMillis) <= nowMillis else { return nil }
            let isQuiet = self.apart.forgetQuiet(member)
            let isUnhurried = self.apart.forgetUnhurried(member)
            let flags = table.flags(of: member)
            let isAlone = self.course.isAlone
            if isAlone, isQuiet || flags.contains(.isLate) || self.apart.skipped.contains(member) {
                // It came after an alert that goes alone. The newest content comes a turn later, unless it has that already.
                let before = self.owed
                self.met()
                effects.superseded += before - self.owed
                continue
            }
            if self.apart.forgetSkip(member) {
                self.met()
                continue
            }
            var serving = MemberServing(member: member)
            if flags.contains(.isLate) {
                self.apart.metLate(member, in: &table)
            } else {
                serving.isAlone = isAlone
                serving.hasAlert = self.course.owesAlert && hasAlert && !isQuiet
                serving.mayBeHigh = !isUnhurried && self.course.mayBeHigh(isFrequent: flags.contains(.isFrequent))
            }
            let recent = self.apart.servedMillis(member, distanceMillis: distanceMillis, nowMillis: nowMillis)
            let isUnanswered = flags.contains(.isInFlight)
            guard isUnanswered || recent != nil || self.apart.retries[member] != nil else {
                self.marks.served(self.course.position, distanceMillis: distanceMillis, nowMillis: nowMillis)
                self.met()
                return serving
            }
            let rested = isUnanswered ? .max : recent.map { $0 + distanceMillis } ?? .min
            self.metUnserved(serving, untilMillis: rested, effects: &effects)
        }
        return nil
    }
    /// The member that `next` named waits, and gets what is newest then.
    @inline(never) private mutating func metUnserved(
        _ serving: MemberServing, untilMillis: Int64, effects: inout ServingEffects
    ) {
        var before = self.owed
        let isAlone = self.course.isAlone
        self.met()
        let hasWaited = self.apart.metUnserved(serving, untilMillis: untilMillis)
        if isAlone, !hasWaited {
            effects.aloneDeferredCount += 1
            before.alone -= 1
        }
        // What it was owed already goes with this.
        effects.superseded += before - self.owed
    }
    /// The next member of the round, which stays; `nil`: the round is over. Moves on over positions that nobody has.
    private mutating func next(in table: borrowing MemberTable) -> MemberID? {
        let until = self.course.until
        while self.course.position < until {
            if let entry = self.upcoming.next {
                self.course.move(to: min(until, self.course.turned(entry.position)))
                return self.course.position < until ? entry.member : nil
            }
            if self.upcoming.end > self.course.position {
                self.course.move(to: min(until, self.upcoming.end))
                self.upcoming.forget()
                continue
            }
            self.upcoming.lookUp(self.ring, from: self.course.position, in: table)
            for entry in self.upcoming.entries { table.prefetch(entry.member) }
        }
        return nil
    }
    /// The member that `next` named has been met.
    private mutating func met() {
        self.course.met()
        self.upcoming.passed()
        // Those of one position are met together.
        let position = self.course.position
        if self.upcoming.next?.position != UInt64(position & (PassCourse.circle - 1)) {
            self.course.move(to: position + 1)
        }
    }
    /// When the member that is next in the round may be met, steady.
    @inline(__always) private func nextNotBeforeMillis(distanceMillis: Int64) -> Int64 {
        max(self.notBeforeMillis, self.marks.notBeforeMillis(self.course.position, distanceMillis: distanceMillis))
    }
    /// When somebody can be served, steady; `Int64.max`: an event, an answer or an acknowledgement comes first.
    func dueMillis(distanceMillis: Int64, nowMillis: Int64) -> Int64 {
        var due = self.apart.dueMillis(distanceMillis: distanceMillis)
        if self.course.isUnderWay, !self.apart.retries.isFull, !self.course.isHigh || !self.course.isBeyondHorizon {
            due = min(due, self.nextNotBeforeMillis(distanceMillis: distanceMillis))
        }
        return due == .max ? .max : max(due, self.notBeforeMillis)
    }
    /// It stands in its lane's queue from here on.
    @inline(__always) mutating func queued() { self.isQueued = true }
    /// It has left the queue: nobody is to be served there.
    @inline(__always) mutating func dequeued() { self.isQueued = false }

    // MARK: Answers
    /// A push to a member has left.
    @inline(__always) mutating func pushLeft(_ push: MemberPushID, in store: inout MemberPushStore) {
        self.inFlight.left(push, in: &store)
    }
    /// It has been answered, whatever the answer is; the store has it still.
    @inline(__always) mutating func pushAnswered(_ push: MemberPushID, in store: inout MemberPushStore) {
        self.inFlight.answered(push, in: &store)
    }
    /// A push to the member has failed: what it was to bring is owed still, unless the round brings it, or what is newer.
    /// - Returns: whether the member is owed something that was not counted before.
    mutating func failed(_ member: MemberID, _ failure: MemberFailure, in table: borrowing MemberTable) -> Bool {
        self.apart.failed(member, failure, self.course, in: table)
    }
    /// The newest version is left to the channel, and the alert of a push that failed comes by token all the same.
    mutating func failedBesideChannel(_ member: MemberID, notBeforeMillis: Int64) {
        self.apart.failedBesideChannel(member, notBeforeMillis: notBeforeMillis)
    }
    /// The newest alert has come to the member: it is owed here no more.
    mutating func alertCame(to member: MemberID) { self.apart.alertCame(to: member) }
    /// An answer has come about the member.
    /// - Parameter restedMillis: it may be pushed to from then on, steady.
    /// - Returns: whether it has waited for that.
    @inline(__always) mutating func wake(_ member: MemberID, restedMillis: Int64) -> Bool {
        self.apart.wake(member, restedMillis: restedMillis)
    }

    // MARK: What state says
    /// An owner before may have pushed to the members until shortly before.
    /// - Parameter millis: nobody is met before, steady.
    mutating func rests(untilMillis millis: Int64) { self.notBeforeMillis = max(self.notBeforeMillis, millis) }
    /// What the next record says: how many members may be met before the one after it.
    mutating func extendHorizon(members: Int, of count: Int) { self.course.extendHorizon(members: members, of: count) }
    /// Kafka has the record that was written last.
    mutating func progressWritten() { self.course.horizonWritten() }
    /// As it was written down.
    /// - Parameter notBeforeMillis: nobody is met before, steady.
    mutating func restore(
        position: Int64, untils: [Int64], aloneUntil: Int64?, alertUntil: Int64, highUntil: Int64,
        frequentHighUntil: Int64, horizon: Int64, notBeforeMillis: Int64, in table: borrowing MemberTable
    ) {
        self.course.restore(
            position: position, untils: untils, aloneUntil: aloneUntil, alertUntil: alertUntil, highUntil: highUntil,
            frequentHighUntil: frequentHighUntil, horizon: horizon)
        self.notBeforeMillis = notBeforeMillis
        self.course.countAhead(self.ring, in: table)
    }
    /// The record says that the member waits, or had no answer.
    mutating func restoreWaiting(
        _ member: MemberID, isAhead: Bool, owesAlert: Bool, alertsMissedSinceSeconds: Int64 = .max
    ) {
        self.apart.restoreWaiting(
            member, isAhead: isAhead, owesAlert: owesAlert, alertsMissedSinceSeconds: alertsMissedSinceSeconds)
    }
    /// The record says that the round passes over the member, or brings it no alert.
    mutating func restoreSkipped(_ member: MemberID) { self.apart.skip(member) }
    mutating func restoreQuiet(_ member: MemberID) { self.apart.keepQuiet(member, self.course) }
    /// The record does not tell of the member's join, which lies there.
    mutating func restoreLate(_ member: MemberID, offset: Int64, in table: inout MemberTable) {
        let position = table.position(of: member)
        // The alert may go round with a version that comes again, and further than any that is here.
        if self.course.isAlertAhead(position) { self.restoreQuiet(member) }
        self.apart.wait(
            late: member, isAhead: self.course.isAhead(position), offset: offset, self.course, in: &table)
    }
}

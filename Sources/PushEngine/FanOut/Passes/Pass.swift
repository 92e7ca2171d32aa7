import PushModel

/// How far a partition has brought the newest version to the members of one ring (fan-out contract: Passes,
/// Supersession).
///
/// The ring is a circle of positions, and the pass goes round it: `course` has the pass's position. `apart` has the
/// members that the pass does not simply meet at their positions.
///
/// A pass only decides, and knows how much its members are owed. The engine journals, sends and counts. Functions that
/// every push calls are inlined: a call would copy the pass, which is large.
struct Pass {
    /// Numbers of pushes that members are owed: see `waitingCount`.
    struct Owed: Equatable {
        var all = 0
        /// Number of members to which the round has yet to bring an alert that goes alone. `all` contains them.
        var alone = 0
    }
    /// A member that may miss a version's broadcast, and gets the version by token.
    struct Missing {
        var member: MemberID
        /// Whether the push by token must also bring the alert. The broadcast has the push's stamp, so a phone that has
        /// had the push ignores the broadcast and its alert.
        var owesAlert: Bool
    }
    /// Number of positions in one lap.
    static let circle = PassCourse.circle
    /// Maximum length of a progress record's lists of skipped members, and of members that the alert is not for.
    static let skippedMax = MembersApart.skippedMax

    let ring: RingID
    let environment: PushEnvironment
    /// The channel that the pass's members listen on.
    private(set) var channel: PassChannel
    /// The lane by which the pass's pushes leave; `none`: the audience's name is not known.
    private(set) var lane: LaneIndex
    private(set) var course: PassCourse
    private(set) var apart = MembersApart()
    /// Unanswered pushes.
    private(set) var inFlight = PushesInFlight()
    /// Whether the pass is in its lane's queue.
    private(set) var isQueued = false
    /// The members that the round meets next. They were looked up ahead of the course's position.
    private var upcoming = RingLookAhead()
    private var marks = PassMarks()
    /// The time before which no member is met (steady clock). A former owner may have pushed until the takeover.
    private var notBeforeMillis: Int64 = .min

    /// Creates a pass whose rounds are all over. Members that join its ring are late if there is a version.
    /// - Parameters:
    ///   - versionCount: number of versions that the audience has here already.
    ///   - channelID: empty: a restore has not read it, or there is no channel.
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
    /// Begins the round of a newer version from the present position.
    /// - Parameters:
    ///   - count: number of members of the ring.
    ///   - dropped: for each earlier version, the oldest first, whether it is given up.
    ///   - alertGoesAlone: whether an alert that is still owed does not fit beside the newer version.
    ///   - table: the table that holds the ring.
    mutating func take(
        _ version: borrowing Version, count: Int, dropping dropped: [Bool], alertGoesAlone: Bool,
        in table: inout MemberTable
    ) {
        self.rebase()
        self.apart.versionCame(version, in: table)
        self.course.take(version, count: count, dropping: dropped, alertGoesAlone: alertGoesAlone)
        self.apart.roundBegan(keepsOlder: self.course.keepsOlder, in: &table)
    }
    /// Marks an alert as missed by the members that wait for it, because a newer alert replaces it.
    /// - Parameter stampSeconds: stamp of the alert that is replaced.
    mutating func alertReplaced(stampSeconds: Int64) { self.apart.alertReplaced(stampSeconds: stampSeconds) }
    /// Drops the newest version, which has expired. `PassCourse.Rest` says what members are owed instead.
    /// - Parameters:
    ///   - count: number of members of the ring.
    ///   - alertGoesAlone: whether an alert that is still owed does not fit beside the previous version.
    ///   - table: the table that holds the ring.
    mutating func dropNewest(count: Int, alertGoesAlone: Bool, in table: inout MemberTable) {
        switch self.course.dropNewest(count: count, alertGoesAlone: alertGoesAlone) {
        case .nothing: self.reset(in: &table)
        case .former: self.apart.roundShortened(self.course, in: table)
        case .formerAnew: self.apart.roundBegan(keepsOlder: self.course.keepsOlder, in: &table)
        }
    }
    /// Drops the alert: nobody is owed it now.
    mutating func forgetAlert() {
        self.course.forgetAlert()
        self.apart.alertEnded()
    }
    /// Returns to the alert of an older version, because the newest alert has expired. The older alert is owed to
    /// members that its version's round has not met, or that missed this alert and wait.
    mutating func returnToAlert(ofVersionAt index: Int, stampSeconds: Int64, in table: borrowing MemberTable) {
        self.course.returnToAlert(ofVersionAt: index)
        self.apart.returnToAlert(ofVersionAt: index, stampSeconds: stampSeconds, self.course, in: table)
    }
    /// Drops everything that is owed.
    mutating func reset(in table: inout MemberTable) {
        self.course.end()
        self.apart.end(in: &table)
    }
    private mutating func rebase() {
        let laps = self.course.rebase()
        guard laps > 0 else { return }
        self.upcoming.rebase(by: laps)
        self.marks.rebase(by: laps)
    }

    // MARK: Channels
    /// Sets the id of the channel that the pass's members listen on. A restore or the first join has brought the id.
    mutating func named(channelID: [UInt8]) { self.channel.named(channelID) }
    /// Sets the lane when a restore has read the audience's name. `none`: the restore has read that the name's records
    /// are gone.
    mutating func named(lane: LaneIndex) { self.lane = lane }
    /// Remembers a member that has said that it listens.
    mutating func listens(_ join: RecentListeners.Join) { self.channel.listens(join) }
    /// Members that began to listen when a broadcast may have left already. Each is listed once, in an order that does
    /// not differ from run to run.
    /// - Parameter sinceMillis: earliest time at which the broadcast may have left, milliseconds since 1970.
    mutating func listeners(
        sinceMillis: Int64, nowMillis: Int64, in table: borrowing MemberTable
    ) -> [RecentListeners.Join] {
        self.channel.listeners(in: self.ring, sinceMillis: sinceMillis, nowMillis: nowMillis, table: table)
    }
    /// Leaves the newest version to the channel.
    /// - Parameters:
    ///   - versionCount: number of versions that the audience has.
    ///   - alertStampSeconds: the newest alert's stamp; `nil`: there is none.
    ///   - alertsSinceSeconds: members that joined at this time or later continue to wait for their alert, which no
    ///     broadcast brings; `max`: nobody does.
    ///   - missing: members that may miss the broadcast.
    ///   - distanceMillis: the least time between two pushes to a member.
    ///   - nowMillis: the present time (steady clock).
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
    /// Resumes after a former owner left the newest version to the channel.
    /// - Parameters:
    ///   - alertStampSeconds: the newest alert's stamp; `nil`: there is none.
    ///   - served: members that have got the newest version by their tokens.
    mutating func resumeChannel(alertStampSeconds: Int64?, served: [MemberID]) {
        self.channel.resumed(alertStampSeconds: alertStampSeconds)
        for member in served { self.channel.served(member) }
    }
    /// Ends the channel's service. Nothing is left to the channel until `leaveToChannel`.
    mutating func leaveChannel() { self.channel.ended() }
    /// Ends the channel's service, and lets the alert that no broadcast has brought be owed by token. It is owed to all
    /// members except `lateListeners`.
    /// - Parameters:
    ///   - count: number of members of the ring.
    ///   - alertStampSeconds: the alert's stamp.
    mutating func leaveChannelOwingAlert(count: Int, alertStampSeconds: Int64) {
        let others = self.lateListeners
        self.leaveChannel()
        self.apart.owesAlert(stampSeconds: alertStampSeconds)
        self.course.oweAlertAgain(count: count)
        for member in others { self.apart.keepQuiet(member, self.course) }
    }
    /// Lets the newest version go round by token, because no broadcast has brought it. Members that have it are
    /// skipped.
    /// - Parameters:
    ///   - count: number of members of the ring.
    ///   - alertStampSeconds: the alert's stamp.
    ///   - alertGoesAlone: whether an alert that is owed does not fit beside the newest version.
    ///   - table: the table that holds the ring.
    mutating func fallBack(
        count: Int, owesAlert: Bool, alertStampSeconds: Int64, isHigh: Bool, isFrequentHigh: Bool,
        alertGoesAlone: Bool, in table: inout MemberTable
    ) {
        let (served, others) = (self.channel.byToken.served, self.lateListeners)
        self.leaveChannel()
        guard !self.course.targets.isEmpty else { return }
        self.rebase()
        if owesAlert { self.apart.owesAlert(stampSeconds: alertStampSeconds) }
        self.course.takeAgain(
            count: count, owesAlert: owesAlert, isHigh: isHigh, isFrequentHigh: isFrequentHigh,
            alertGoesAlone: alertGoesAlone)
        self.apart.roundBegan(keepsOlder: self.course.keepsOlder, in: &table)
        for member in served where self.apart.retries[member] == nil { self.apart.skip(member) }
        // A newer version may replace this one before the round reaches these members. The alert's round then
        // continues, but not for these members.
        for member in others { self.apart.keepQuiet(member, self.course) }
    }

    // MARK: Joining and leaving
    /// Adds a member to the ring. If there is a version, the member is owed it without the alert.
    /// - Parameters:
    ///   - notBeforeMillis: earliest time of a push to the member (steady clock). The member's phone may have got a
    ///     push shortly before.
    ///   - distanceMillis: the least time between two pushes to a member.
    ///   - hasVersions: whether the audience has versions.
    /// - Returns: the number of the member's late join; `nil`: there is no version, or the member waits in the retry
    ///   set.
    mutating func joined(
        _ member: MemberID, notBeforeMillis: Int64, distanceMillis: Int64, nowMillis: Int64, hasVersions: Bool,
        in table: inout MemberTable
    ) -> UInt32? {
        let isAhead = self.joined(table.position(of: member))
        return self.apart.joined(
            member, isAhead: isAhead, notBeforeMillis: notBeforeMillis, distanceMillis: distanceMillis,
            nowMillis: nowMillis, hasVersions: hasVersions, self.course, in: &table)
    }
    /// Adds a member that already has the versions that go round in this ring.
    /// - Parameters: see `joined`.
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
    /// Adds a member that is owed the newest version together with the alert.
    /// - Parameter notBeforeMillis: earliest time of a push to the member (steady clock).
    mutating func joinedOwed(_ member: MemberID, notBeforeMillis: Int64, in table: borrowing MemberTable) {
        let isAhead = self.joined(table.position(of: member))
        self.apart.joinedOwed(member, isAhead: isAhead, notBeforeMillis: notBeforeMillis)
    }
    /// Counts a member that joins at this position.
    /// - Returns: whether the round will meet it.
    private mutating func joined(_ ringPosition: UInt64) -> Bool {
        let there = self.course.joined(ringPosition)
        // The look-ahead covers the member's position but lacks the member, so the look-ahead is dropped.
        if there < self.upcoming.end { self.upcoming.forget() }
        return self.course.isAhead(ringPosition)
    }
    /// Takes out a member that is about to leave the ring. It is owed nothing here from now on.
    /// - Returns: when its phone may be pushed to again (steady clock).
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
    /// Earliest time of the next push to a member, by the round or apart from it (steady clock).
    private mutating func restedMillis(
        _ member: MemberID, at ringPosition: UInt64, distanceMillis: Int64, nowMillis: Int64
    ) -> Int64 {
        max(
            self.notBeforeMillis,
            self.marks.notBeforeMillis(self.course.turned(ringPosition), distanceMillis: distanceMillis),
            self.apart.restedMillis(member, distanceMillis: distanceMillis, nowMillis: nowMillis))
    }
    /// Remembers the offset in `state` of the late join with that number.
    mutating func lateJoinWritten(_ number: UInt32, at offset: Int64) {
        self.apart.lateJoinWritten(number, at: offset)
    }

    // MARK: Serving
    /// The next member, which counts as served from now on, and what it is sent; `nil`: nobody can be served now.
    /// - Parameters:
    ///   - hasAlert: whether some members may be owed an alert.
    ///   - alertGoesAlone: whether the alert does not fit beside the newest content.
    ///   - distanceMillis: the least time between two pushes to a member.
    ///   - nowMillis: the present time (steady clock).
    @inline(__always) mutating func nextServing(
        hasAlert: Bool, alertGoesAlone: Bool, distanceMillis: Int64, nowMillis: Int64, in table: inout MemberTable,
        effects: inout ServingEffects
    ) -> MemberServing? {
        guard self.notBeforeMillis <= nowMillis else { return nil }
        if let serving = self.nextApart(
            hasAlert: hasAlert, alertGoesAlone: alertGoesAlone, distanceMillis: distanceMillis, nowMillis: nowMillis,
            in: &table, effects: &effects)
        {
            self.channel.served(serving.member)
            return serving
        }
        return self.nextOfRound(
            hasAlert: hasAlert, distanceMillis: distanceMillis, nowMillis: nowMillis, in: &table, effects: &effects)
    }
    /// Whether a member may be due to be tried again.
    @inline(__always) func hasDueRetry(nowMillis: Int64) -> Bool { self.apart.retries.nextDueMillis <= nowMillis }
    @inline(__always) private mutating func nextApart(
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
                // The alert goes alone, and is not for this member. The newest content follows a lap later, unless the
                // member has it already.
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
    /// Lets the member that `next` returned wait. When its wait ends, it gets what is newest then.
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
        // What the member was already owed is superseded by what it waits for now.
        effects.superseded += before - self.owed
    }
    /// The next member of the round. It stays the next member until `met` is called. `nil`: the round is over.
    /// Positions without members are passed.
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
    /// Counts the member that `next` returned as met.
    private mutating func met() {
        self.course.met()
        self.upcoming.passed()
        // The pass stays at the position until all members there are met.
        let position = self.course.position
        if self.upcoming.next?.position != UInt64(position & (PassCourse.circle - 1)) {
            self.course.move(to: position + 1)
        }
    }
    /// When the next member of the round may be met (steady clock).
    @inline(__always) private func nextNotBeforeMillis(distanceMillis: Int64) -> Int64 {
        max(self.notBeforeMillis, self.marks.notBeforeMillis(self.course.position, distanceMillis: distanceMillis))
    }
    /// When a member can be served (steady clock); `Int64.max`: not before an event, an answer or an acknowledgement.
    func dueMillis(distanceMillis: Int64, nowMillis: Int64) -> Int64 {
        var due = self.apart.dueMillis(distanceMillis: distanceMillis)
        if self.course.isUnderWay, !self.apart.retries.isFull, !self.course.isHigh || !self.course.isBeyondHorizon {
            due = min(due, self.nextNotBeforeMillis(distanceMillis: distanceMillis))
        }
        return due == .max ? .max : max(due, self.notBeforeMillis)
    }
    /// Marks the pass as in its lane's queue.
    @inline(__always) mutating func queued() { self.isQueued = true }
    /// Marks the pass as out of its lane's queue, because none of its members can be served now.
    @inline(__always) mutating func dequeued() { self.isQueued = false }

    // MARK: Answers
    /// Adds a push to the pushes in flight, because it has just left.
    @inline(__always) mutating func pushLeft(_ push: MemberPushID, in store: inout MemberPushStore) {
        self.inFlight.left(push, in: &store)
    }
    /// Removes an answered push from the pushes in flight, no matter what the answer is. The push stays in the store.
    @inline(__always) mutating func pushAnswered(_ push: MemberPushID, in store: inout MemberPushStore) {
        self.inFlight.answered(push, in: &store)
    }
    /// Takes a failed push to the member, which now waits in the retry set. There it is owed the newest version, unless
    /// the round will bring that version.
    /// - Returns: whether the member is owed something that was not counted before.
    mutating func failed(_ member: MemberID, _ failure: MemberFailure, in table: borrowing MemberTable) -> Bool {
        self.apart.failed(member, failure, self.course, in: table)
    }
    /// Takes a failed push while the newest version is left to the channel. The push's alert is still owed by token.
    mutating func failedBesideChannel(_ member: MemberID, notBeforeMillis: Int64) {
        self.apart.failedBesideChannel(member, notBeforeMillis: notBeforeMillis)
    }
    /// Marks the newest alert as received by the member. The alert is no longer owed to the member.
    mutating func alertCame(to member: MemberID) { self.apart.alertCame(to: member) }
    /// Ends the member's wait for the answer to a push, if it waited for that.
    /// - Parameter restedMillis: when the member may be pushed to again (steady clock).
    /// - Returns: whether the member was waiting for the answer.
    @inline(__always) mutating func wake(_ member: MemberID, restedMillis: Int64) -> Bool {
        self.apart.wake(member, restedMillis: restedMillis)
    }

    // MARK: What state says
    /// Lets all members rest, because a former owner may have pushed to them shortly before the takeover.
    /// - Parameter millis: earliest time at which a member may be met (steady clock).
    mutating func rests(untilMillis millis: Int64) { self.notBeforeMillis = max(self.notBeforeMillis, millis) }
    /// Extends the horizon for the progress record that is written now.
    /// - Parameters:
    ///   - members: number of members that may be met before the next progress record.
    ///   - count: number of members of the ring.
    mutating func extendHorizon(members: Int, of count: Int) { self.course.extendHorizon(members: members, of: count) }
    /// Lets the pass continue to the horizon in its last progress record, because Kafka has that record.
    mutating func progressWritten() { self.course.horizonWritten() }
    /// Restores the pass from its progress record.
    /// - Parameters:
    ///   - alertStampSeconds: the owed alert's stamp; 0: none is owed.
    ///   - notBeforeMillis: when the first member may be met (steady clock).
    mutating func restore(
        position: Int64, untils: [Int64], aloneUntil: Int64?, alertUntil: Int64, alertStampSeconds: Int64,
        highUntil: Int64, frequentHighUntil: Int64, horizon: Int64, notBeforeMillis: Int64,
        in table: borrowing MemberTable
    ) {
        self.apart.owesAlert(stampSeconds: alertStampSeconds)
        self.course.restore(
            position: position, untils: untils, aloneUntil: aloneUntil, alertUntil: alertUntil, highUntil: highUntil,
            frequentHighUntil: frequentHighUntil, horizon: horizon)
        self.notBeforeMillis = notBeforeMillis
        self.course.countAhead(self.ring, in: table)
    }
    /// Restores a member that waits: a progress record lists it as waiting or unanswered, or its own record says that
    /// it is owed an alert.
    mutating func restoreWaiting(
        _ member: MemberID, isAhead: Bool, owesAlert: Bool, alertsMissedSinceSeconds: Int64 = .max
    ) {
        self.apart.restoreWaiting(
            member, isAhead: isAhead, owesAlert: owesAlert, alertsMissedSinceSeconds: alertsMissedSinceSeconds)
    }
    /// Restores a member that the round skips, as the progress record says.
    mutating func restoreSkipped(_ member: MemberID) { self.apart.skip(member) }
    /// Restores a member to which the round must not bring the alert.
    mutating func restoreQuiet(_ member: MemberID) { self.apart.keepQuiet(member, self.course) }
    /// Restores a late member. The progress record does not cover its join, whose record is at `offset` in `state`.
    mutating func restoreLate(_ member: MemberID, offset: Int64, in table: inout MemberTable) {
        let position = table.position(of: member)
        // The alert's round may end later than the round of every version here. The restore will take the alert's own
        // version again later.
        if self.course.isAlertAhead(position) { self.restoreQuiet(member) }
        self.apart.wait(
            late: member, isAhead: self.course.isAhead(position), offset: offset, self.course, in: &table)
    }
}

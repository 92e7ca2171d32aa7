import PushModel

/// Members of a ring that a pass does not simply meet in their turn. They wait to be tried again, joined late, or are
/// skipped or served less by the round.
///
/// The caller lends the position of the round. A member may wait here although the round reaches it as well: it gets
/// what is due once.
struct MembersApart {
    /// Maximum number of members that are served before the round reaches them.
    static let skippedMax = 4_096

    private(set) var retries = RetrySet()
    /// Members that joined behind the pass.
    private(set) var late = LateJoins()
    /// Number of late members that still wait and that the round does not reach.
    private(set) var lateCount = 0
    /// Members that joined late and were served before the round reached them. The round skips them.
    private(set) var skipped: Set<MemberID> = []
    /// Members that joined since the newest alert was taken and that its round reaches. The alert is not for them.
    private(set) var quiet: Set<MemberID> = []
    /// Members that joined since a version got priority 10 and that its round reaches. They have no right to it. Not in
    /// `state`: a next owner may give it to them.
    private var unhurried: Set<MemberID> = []
    /// Members that were served out of turn lately, and when, steady.
    private var recent = RecentlyServed()

    /// Number of members that are owed something, and that the round does not reach.
    @inline(__always) var owedCount: Int { self.retries.owedCount + self.lateCount }
    /// Whether the newest version's round reaches the member, and does not skip it.
    @inline(__always) func comesRound(
        to member: MemberID, _ course: PassCourse, in table: borrowing MemberTable
    ) -> Bool {
        !self.skipped.contains(member) && course.isAhead(table.position(of: member))
    }

    // MARK: Versions
    /// Takes a newer version.
    mutating func versionCame(_ version: borrowing Version, in table: borrowing MemberTable) {
        if version.hasAlert || version.withdrawsAlert { self.quiet = [] }
        if version.withdrawsAlert, !version.hasAlert { self.retries.forgetAlerts() }
        guard !self.unhurried.isEmpty, version.isHigh || version.isFrequentHigh else { return }
        // The version gives its own right to priority 10. Members that earlier versions gave none have it now.
        let (isHigh, isFrequentHigh) = (version.isHigh, version.isFrequentHigh)
        var left: Set<MemberID> = []
        for member in self.unhurried
        where table.flags(of: member).contains(.isFrequent) ? !isFrequentHigh : !isHigh { left.insert(member) }
        self.unhurried = left
    }
    /// Notes that a newer alert replaces the one that some members wait for.
    mutating func alertReplaced(stampSeconds: Int64) { self.retries.noteMissed(alertStampSeconds: stampSeconds) }
    /// Drops the alert: it is owed to nobody now.
    mutating func alertEnded() {
        self.quiet = []
        self.retries.forgetAlerts()
    }
    /// Returns to the alert of an older version, as the newest alert has expired. It is for members that have not met
    /// that version.
    mutating func returnToAlert(
        ofVersionAt index: Int, stampSeconds: Int64, _ course: PassCourse, in table: borrowing MemberTable
    ) {
        let (position, until) = (course.position, course.targets[index].until)
        self.retries.returnToAlert { member, entry in
            let there = PassCourse.turned(table.position(of: member), from: position)
            return entry.alertsMissedSinceSeconds <= stampSeconds
                || (entry.isOwed ? there - PassCourse.circle : there) < until
        }
    }
    /// Begins the newest version's round, which reaches all that wait.
    /// - Parameter keepsOlder: whether a version that outlives the newest is kept.
    mutating func roundBegan(keepsOlder: Bool, in table: inout MemberTable) {
        self.retries.handOverToRound()
        if keepsOlder { self.retries.remember(self.late.members.sorted { $0.rawValue < $1.rawValue }) }
        self.forgetLate(in: &table)
    }
    /// Notes that the round has become shorter. Some members that it would have met are late now, or are owed what they
    /// waited for before.
    mutating func roundShortened(_ course: PassCourse, in table: borrowing MemberTable) {
        self.skipped = self.skipped.filter { course.isAhead(table.position(of: $0)) }
        self.lateCount = self.late.members.count { !course.isAhead(table.position(of: $0)) }
        for member in self.retries.members where !course.isAhead(table.position(of: member)) {
            self.retries.owe(member)
        }
    }
    /// Ends everything: nothing is owed to anybody now.
    mutating func end(in table: inout MemberTable) {
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
    /// Leaves the newest version to the channel. Nothing is owed, except for an alert that no broadcast brings.
    /// - Parameter sinceSeconds: members that wait for an alert, and joined then or later, go on waiting. `max`: none
    ///   do.
    mutating func leftToChannel(keepingAlertsSinceSeconds sinceSeconds: Int64, in table: inout MemberTable) {
        var owed: [(member: MemberID, entry: RetrySet.Entry)] = []
        if sinceSeconds < .max {
            for waiting in self.retries.alertEntries
            where Int64(table.joinedSeconds(of: waiting.member)) >= sinceSeconds { owed.append(waiting) }
        }
        self.end(in: &table)
        for (member, entry) in owed {
            // The member waited for a round that will not reach it.
            let isAnswerAwaited = table.flags(of: member).contains(.isInFlight)
            let notBefore = entry.notBeforeMillis == .max && !isAnswerAwaited ? .min : entry.notBeforeMillis
            self.retries.set(
                RetrySet.Entry(
                    notBeforeMillis: notBefore, attempt: entry.attempt, isOwed: true, owesAlert: true), for: member)
        }
        self.quiet = []
    }
    /// Serves a member by token, as it may miss the broadcast.
    /// - Parameters:
    ///   - notBeforeMillis: earliest time of a push to it, steady.
    ///   - distanceMillis: the least time between two pushes to a member.
    mutating func mayMissBroadcast(
        _ missing: Pass.Missing, notBeforeMillis: Int64, distanceMillis: Int64, nowMillis: Int64,
        _ course: PassCourse, in table: inout MemberTable
    ) {
        guard self.retries[missing.member] == nil else { return }
        guard self.retries.count >= (missing.owesAlert ? RetrySet.totalMax : RetrySet.countMax) else {
            return self.retries.set(
                RetrySet.Entry(notBeforeMillis: notBeforeMillis, isOwed: true, owesAlert: missing.owesAlert),
                for: missing.member)
        }
        // Progress has no room for all. A next owner takes every join for a late one.
        if notBeforeMillis > nowMillis {
            self.recent.note(missing.member, servedMillis: notBeforeMillis - distanceMillis)
        }
        self.wait(late: missing.member, isAhead: false, offset: 0, course, in: &table)
    }

    // MARK: Coming and going
    /// Takes a member into the ring. If it is served at once, it is served quietly: the alert that it missed was not
    /// for it.
    /// - Parameters:
    ///   - isAhead: whether the round reaches it.
    ///   - notBeforeMillis: earliest time of a push to it, steady; its phone may have got one shortly before.
    ///   - hasVersions: whether the audience has something to send.
    /// - Returns: its number among the late members; `nil`: it is not late.
    mutating func joined(
        _ member: MemberID, isAhead: Bool, notBeforeMillis: Int64, distanceMillis: Int64, nowMillis: Int64,
        hasVersions: Bool, _ course: PassCourse, in table: inout MemberTable
    ) -> UInt32? {
        let isRested = notBeforeMillis <= nowMillis
        if !isRested, isAhead || !hasVersions {
            self.recent.note(member, servedMillis: notBeforeMillis - distanceMillis)
        }
        guard hasVersions else { return nil }
        guard isRested || isAhead else {
            self.retries.set(RetrySet.Entry(notBeforeMillis: notBeforeMillis, isOwed: true), for: member)
            return nil
        }
        return self.wait(late: member, isAhead: isAhead, course, in: &table)
    }
    /// Takes a member into the ring that has what goes round there.
    /// - Parameters: as of `joined`.
    mutating func joinedServed(
        _ member: MemberID, isAhead: Bool, notBeforeMillis: Int64, distanceMillis: Int64, nowMillis: Int64,
        _ course: PassCourse, in table: borrowing MemberTable
    ) {
        if notBeforeMillis > nowMillis { self.recent.note(member, servedMillis: notBeforeMillis - distanceMillis) }
        if isAhead {
            self.skip(member)
            self.keepUnhurried(member, course)
        }
        if course.isAlertAhead(table.position(of: member)) { self.keepQuiet(member, course) }
    }
    /// Takes a member into the ring that is owed the newest version with the alert.
    mutating func joinedOwed(_ member: MemberID, isAhead: Bool, notBeforeMillis: Int64) {
        self.retries.set(
            RetrySet.Entry(notBeforeMillis: notBeforeMillis, isOwed: !isAhead, owesAlert: true), for: member)
    }
    /// Forgets a member that has left the ring: its number may be another's next.
    mutating func left(_ member: MemberID, isAhead: Bool, in table: inout MemberTable) {
        self.retries.remove(member)
        self.forgetSkip(member)
        guard table.flags(of: member).contains(.isLate) else { return }
        table.removeFlag(.isLate, of: member)
        self.late.forget(member)
        if !isAhead { self.lateCount -= 1 }
    }
    /// Lets the member wait behind the others that joined late.
    /// - Parameters:
    ///   - isAhead: whether the round reaches it.
    ///   - offset: offset of its join in `state`; -1: not known yet.
    /// - Returns: the number of its join.
    @discardableResult mutating func wait(
        late member: MemberID, isAhead: Bool, offset: Int64 = -1, _ course: PassCourse,
        in table: inout MemberTable
    ) -> UInt32 {
        table.insertFlag(.isLate, of: member)
        let number = self.late.joined(member, offset: offset)
        if isAhead {
            // A member that leaves stays in the set: the next member with its number is an even later one.
            self.keepQuiet(member, course)
            self.keepUnhurried(member, course)
        } else {
            self.lateCount += 1
        }
        return number
    }
    /// Notes the offset in `state` of the join of that number.
    mutating func lateJoinWritten(_ number: UInt32, at offset: Int64) { self.late.written(number, at: offset) }
    /// Notes a member that joined after the alert that goes round, if that round reaches it.
    mutating func keepQuiet(_ member: MemberID, _ course: PassCourse) {
        if course.owesAlert, self.quiet.count < Self.skippedMax { self.quiet.insert(member) }
    }
    /// Notes a member that joined after the version that has priority 10, if its round reaches the member or has done
    /// so.
    private mutating func keepUnhurried(_ member: MemberID, _ course: PassCourse) {
        if course.isHigh, self.unhurried.count < Self.skippedMax { self.unhurried.insert(member) }
    }
    /// Notes a member that was served before the round reached it.
    mutating func skip(_ member: MemberID) { self.skipped.insert(member) }
    /// Earliest time to meet the member as far as is known here, steady. It was served out of turn, or waits.
    mutating func restedMillis(_ member: MemberID, distanceMillis: Int64, nowMillis: Int64) -> Int64 {
        let served = self.servedMillis(member, distanceMillis: distanceMillis, nowMillis: nowMillis)
        let waits = self.retries[member].map { $0.notBeforeMillis == .max ? .min : $0.notBeforeMillis } ?? .min
        return max(served.map { $0 + distanceMillis } ?? .min, waits)
    }

    // MARK: Serving out of turn
    /// The next member that is tried again.
    /// - Parameters:
    ///   - hasAlert: whether an alert may be owed to some.
    ///   - alertGoesAlone: whether the alert does not fit beside the newest content.
    ///   - nowMillis: now, steady.
    @inline(never) mutating func nextRetry(
        hasAlert: Bool, alertGoesAlone: Bool, nowMillis: Int64, _ course: PassCourse,
        in table: borrowing MemberTable, effects: inout ServingEffects
    ) -> MemberServing? {
        while let member = self.retries.nextDue(nowMillis: nowMillis) {
            guard var entry = self.retries[member] else { continue }
            if table.flags(of: member).contains(.isInFlight) {
                entry.notBeforeMillis = .max
                self.retries.set(entry, for: member)
                continue
            }
            self.retries.remove(member)
            guard entry.isOwed else {
                // The round reaches the member, but brings no alert that was sent before, and may expire on its way.
                if entry.owesAlert || entry.mayBeHigh || course.keepsOlder {
                    entry.notBeforeMillis = .max
                    self.retries.set(entry, for: member)
                }
                continue
            }
            self.recent.note(member, servedMillis: nowMillis)
            let isAlone = entry.owesAlert && alertGoesAlone
            if isAlone {
                effects.isAloneReturned = true
                if !self.comesRound(to: member, course, in: table) {
                    // The newest content follows. It is owed as well, since no round brings it.
                    self.retries.set(RetrySet.Entry(notBeforeMillis: .max, isOwed: true), for: member)
                    effects.owesNewestBeside = true
                }
            }
            return MemberServing(
                member: member, hasAlert: entry.owesAlert && hasAlert, isAlone: isAlone, mayBeHigh: entry.mayBeHigh,
                attempt: entry.attempt, alertsMissedSinceSeconds: entry.alertsMissedSinceSeconds)
        }
        return nil
    }
    /// The next late member.
    @inline(never) mutating func nextLate(
        distanceMillis: Int64, nowMillis: Int64, _ course: PassCourse, in table: inout MemberTable
    ) -> MemberServing? {
        self.recent.forget(distanceMillis: distanceMillis, nowMillis: nowMillis)
        guard !self.recent.isFull, self.skipped.count < Self.skippedMax else { return nil }
        while let member = self.late.popWaiting() {
            let isAhead = course.isAhead(table.position(of: member))
            table.removeFlag(.isLate, of: member)
            if isAhead { self.skip(member) } else { self.lateCount -= 1 }
            let served = self.servedMillis(member, distanceMillis: distanceMillis, nowMillis: nowMillis)
            let isUnanswered = table.flags(of: member).contains(.isInFlight)
            guard isUnanswered || served != nil else {
                self.recent.note(member, servedMillis: nowMillis)
                return MemberServing(member: member)
            }
            self.retries.set(
                RetrySet.Entry(
                    notBeforeMillis: isUnanswered ? .max : served.map { $0 + distanceMillis } ?? .min, isOwed: true),
                for: member)
        }
        return nil
    }
    /// When the next member may be served out of turn, steady.
    func dueMillis(distanceMillis: Int64) -> Int64 {
        guard !self.late.queue.isEmpty, self.skipped.count < Self.skippedMax else { return self.retries.nextDueMillis }
        let late = self.recent.isFull ? self.recent.nextForgottenMillis(distanceMillis: distanceMillis) ?? .max : .min
        return min(self.retries.nextDueMillis, late)
    }

    // MARK: The round comes to a member
    /// When the member was served out of turn, steady; `nil`: longer ago than the distance, or in its turn.
    @inline(__always) mutating func servedMillis(
        _ member: MemberID, distanceMillis: Int64, nowMillis: Int64
    ) -> Int64? {
        self.recent.servedMillis(member, distanceMillis: distanceMillis, nowMillis: nowMillis)
    }
    /// Forgets that the round skips the member: it has done so, and does not reach the member again.
    @inline(__always) @discardableResult mutating func forgetSkip(_ member: MemberID) -> Bool {
        !self.skipped.isEmpty && self.skipped.remove(member) != nil
    }
    /// Whether the member joined after the alert that goes round. The round has reached it, and does not again.
    @inline(__always) mutating func forgetQuiet(_ member: MemberID) -> Bool {
        !self.quiet.isEmpty && self.quiet.remove(member) != nil
    }
    /// Whether the member joined after the version whose priority 10 goes round. The round has reached it, and does not
    /// again.
    @inline(__always) mutating func forgetUnhurried(_ member: MemberID) -> Bool {
        !self.unhurried.isEmpty && self.unhurried.remove(member) != nil
    }
    /// Notes that a member that joined after what goes round gets that now.
    mutating func metLate(_ member: MemberID, in table: inout MemberTable) {
        table.removeFlag(.isLate, of: member)
        self.late.forget(member)
    }
    /// Notes that a member has been met and cannot be served yet. It gets what is newest when its time comes.
    /// - Parameters:
    ///   - serving: what the round would have brought.
    ///   - untilMillis: end of the wait, steady; `Int64.max`: an answer comes first.
    /// - Returns: whether it waited for that already.
    mutating func metUnserved(_ serving: MemberServing, untilMillis: Int64) -> Bool {
        let waits = self.retries[serving.member]
        var entry = waits ?? RetrySet.Entry(notBeforeMillis: .min, isOwed: true)
        entry.isOwed = true
        if entry.notBeforeMillis == .max { entry.notBeforeMillis = .min }
        entry.notBeforeMillis = max(entry.notBeforeMillis, untilMillis)
        entry.owesAlert = entry.owesAlert || serving.hasAlert
        entry.mayBeHigh = entry.mayBeHigh || serving.mayBeHigh
        self.retries.set(entry, for: serving.member)
        return waits?.isOwed == true
    }

    // MARK: Answers
    /// Takes the failure of a push to the member. Its content is still owed, unless the round brings it, or something
    /// newer.
    /// - Returns: whether the member is owed something that was not counted before.
    mutating func failed(
        _ member: MemberID, _ failure: MemberFailure, _ course: PassCourse, in table: borrowing MemberTable
    ) -> Bool {
        let old = self.retries[member]
        let isAhead = !failure.isNewestAlone && self.comesRound(to: member, course, in: table)
        self.retries.set(
            RetrySet.Entry(
                notBeforeMillis: failure.notBeforeMillis, attempt: failure.attempt,
                // A newer alert that goes alone may have found the member unanswered. It is owed, and the round reaches
                // the member a turn later.
                isOwed: !isAhead || old?.isOwed == true, owesAlert: failure.owesAlert || old?.owesAlert ?? false,
                mayBeHigh: failure.mayBeHigh || old?.mayBeHigh ?? false,
                alertsMissedSinceSeconds: min(
                    failure.alertsMissedSinceSeconds, old?.alertsMissedSinceSeconds ?? .max)), for: member)
        // A newer version is due to it as well, and was counted.
        return !isAhead && old?.isOwed != true
    }
    /// Lets a failed push's alert go by token, although the newest version is left to the channel.
    mutating func failedBesideChannel(_ member: MemberID, notBeforeMillis: Int64) {
        self.retries.set(
            RetrySet.Entry(notBeforeMillis: notBeforeMillis, isOwed: true, owesAlert: true), for: member)
    }
    /// Notes that the newest alert has reached the member, and is no longer owed here.
    mutating func alertCame(to member: MemberID) {
        guard var entry = self.retries[member], entry.owesAlert else { return }
        entry.owesAlert = false
        self.retries.set(entry, for: member)
    }
    /// Takes an answer about the member.
    /// - Parameter restedMillis: earliest time of the next push to the member, steady.
    /// - Returns: whether the member has waited for the answer.
    @inline(__always) mutating func wake(_ member: MemberID, restedMillis: Int64) -> Bool {
        guard self.retries.count > 0, var entry = self.retries[member], entry.notBeforeMillis == .max else {
            return false
        }
        entry.notBeforeMillis = restedMillis
        self.retries.set(entry, for: member)
        return true
    }
    /// Restores a member that waits, or had no answer, as a record says.
    mutating func restoreWaiting(
        _ member: MemberID, isAhead: Bool, owesAlert: Bool, alertsMissedSinceSeconds: Int64
    ) {
        self.retries.set(
            RetrySet.Entry(
                notBeforeMillis: isAhead ? .max : .min, isOwed: !isAhead, owesAlert: owesAlert,
                alertsMissedSinceSeconds: alertsMissedSinceSeconds), for: member)
    }
}

import PushModel

/// Members of a ring that a pass does not simply meet at their positions. They wait to be tried again, have joined
/// late, are skipped by the round, or get less from it than others.
///
/// The caller passes the `PassCourse`, which knows what the round reaches. A member may wait here although the round
/// will reach it, too. It gets what is due only once.
struct MembersApart {
    /// Maximum number of members in `skipped`, in `quietStamps` and in `unhurried`. A record with more skipped members
    /// could not be read. While `skipped` is full, late members wait.
    static let skippedMax = 4_096

    private(set) var retries = RetrySet()
    /// Late members that have not been served yet.
    private(set) var late = LateJoins()
    /// Number of late members that still wait and that the round does not reach.
    private(set) var lateCount = 0
    /// Members that have been sent the newest version before the round reaches them. The round skips them.
    private(set) var skipped: Set<MemberID> = []
    /// Members that an alert's round reaches but must not bring the alert, with the alert's stamp. They joined after
    /// the alert, or have had it. Older alerts, which may be owed again when a newer one expires, are not for them
    /// either.
    private var quietStamps: [MemberID: Int64] = [:]
    /// Stamp of the alert that is owed, or was owed last; 0: none has been owed.
    private var alertStampSeconds: Int64 = 0
    /// Members that joined after a version got priority 10, and that the version's round reaches. They have no right to
    /// priority 10. The set is not in `state`, so a next owner may give these members priority 10.
    private var unhurried: Set<MemberID> = []
    /// Members that were lately served apart from the round, or before they joined, with the time of serving (steady
    /// clock).
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
        if version.hasAlert {
            self.alertStampSeconds = version.stampSeconds
            self.quietStamps = self.quietStamps.filter { $0.value < version.stampSeconds }
        }
        if version.withdrawsAlert { self.quietStamps = [:] }
        if version.withdrawsAlert, !version.hasAlert { self.retries.forgetAlerts() }
        guard !self.unhurried.isEmpty, version.isHigh || version.isFrequentHigh else { return }
        // The version's right to priority 10 is for all members with `frequent-updates`, for all others, or for both.
        // They have the right even if they joined after an earlier version with priority 10.
        let (isHigh, isFrequentHigh) = (version.isHigh, version.isFrequentHigh)
        var left: Set<MemberID> = []
        for member in self.unhurried
        where table.flags(of: member).contains(.isFrequent) ? !isFrequentHigh : !isHigh { left.insert(member) }
        self.unhurried = left
    }
    /// Marks an alert as missed by the members that wait for it, because a newer alert replaces it.
    /// - Parameter stampSeconds: stamp of the alert that is replaced.
    mutating func alertReplaced(stampSeconds: Int64) { self.retries.markMissed(alertStampSeconds: stampSeconds) }
    /// Drops the alert: nobody is owed it now.
    mutating func alertEnded() {
        self.quietStamps = [:]
        self.retries.forgetAlerts()
    }
    /// Returns to the alert of an older version, because the newest alert has expired. Members in the retry set wait
    /// for the older alert if they have missed it, or its version's round has not met them.
    mutating func returnToAlert(
        ofVersionAt index: Int, stampSeconds: Int64, _ course: PassCourse, in table: borrowing MemberTable
    ) {
        let (position, until, quietStamps) = (course.position, course.targets[index].until, self.quietStamps)
        self.alertStampSeconds = stampSeconds
        self.retries.returnToAlert { member, entry in
            guard quietStamps[member, default: .min] < stampSeconds else { return false }
            let there = PassCourse.turned(table.position(of: member), from: position)
            return entry.alertsMissedSinceSeconds <= stampSeconds
                || (entry.isOwed ? there - PassCourse.circle : there) < until
        }
    }
    /// Begins the newest version's round, which reaches all members that wait.
    /// - Parameter keepsOlder: whether a version is kept that expires later than the newest.
    mutating func roundBegan(keepsOlder: Bool, in table: inout MemberTable) {
        self.retries.handOverToRound()
        if keepsOlder {
            self.retries.remember(self.late.members.sorted { $0.rawValue < $1.rawValue })
        } else {
            self.forgetOlderQuiet()
        }
        self.forgetLate(in: &table)
    }
    /// Adapts to a round that has become shorter. Members that wait here, and that the round no longer reaches, now
    /// count as members that are owed something.
    mutating func roundShortened(_ course: PassCourse, in table: borrowing MemberTable) {
        self.skipped = self.skipped.filter { course.isAhead(table.position(of: $0)) }
        self.lateCount = self.late.members.count { !course.isAhead(table.position(of: $0)) }
        for member in self.retries.members where !course.isAhead(table.position(of: member)) {
            self.retries.owe(member)
        }
    }
    /// Ends all waits: nobody is owed anything now.
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
    /// - Parameter sinceSeconds: members that wait for an alert, and joined at this time or later, continue to wait;
    ///   `max`: none do.
    mutating func leftToChannel(keepingAlertsSinceSeconds sinceSeconds: Int64, in table: inout MemberTable) {
        var owed: [(member: MemberID, entry: RetrySet.Entry)] = []
        if sinceSeconds < .max {
            for waiting in self.retries.alertEntries
            where Int64(table.joinedSeconds(of: waiting.member)) >= sinceSeconds { owed.append(waiting) }
        }
        self.end(in: &table)
        for (member, entry) in owed {
            // A member that waited for the round is due at once, because the round will no longer reach it.
            let isAnswerAwaited = table.flags(of: member).contains(.isInFlight)
            let notBefore = entry.notBeforeMillis == .max && !isAnswerAwaited ? .min : entry.notBeforeMillis
            self.retries.set(
                RetrySet.Entry(
                    notBeforeMillis: notBefore, failures: entry.failures, isOwed: true, owesAlert: true), for: member)
        }
        self.quietStamps = [:]
    }
    /// Lets a member be served by token, because it may miss the broadcast.
    /// - Parameters:
    ///   - notBeforeMillis: earliest time of a push to the member (steady clock).
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
        // The retry set is full, so the member waits like a late one. Its offset is 0: while it is first in the queue,
        // no progress record covers any join. A next owner then treats the members as late.
        if notBeforeMillis > nowMillis {
            self.recent.remember(missing.member, servedMillis: notBeforeMillis - distanceMillis)
        }
        self.wait(late: missing.member, isAhead: false, offset: 0, course, in: &table)
    }

    // MARK: Joining and leaving
    /// Takes a member into the ring. The member gets no alert from before its join.
    /// - Parameters:
    ///   - isAhead: whether the round reaches the member.
    ///   - notBeforeMillis: earliest time of a push to the member (steady clock). The member's phone may have got a
    ///     push shortly before.
    ///   - hasVersions: whether the audience has versions.
    /// - Returns: the number of the member's late join; `nil`: the member is not late.
    mutating func joined(
        _ member: MemberID, isAhead: Bool, notBeforeMillis: Int64, distanceMillis: Int64, nowMillis: Int64,
        hasVersions: Bool, _ course: PassCourse, in table: inout MemberTable
    ) -> UInt32? {
        let isRested = notBeforeMillis <= nowMillis
        if !isRested, isAhead || !hasVersions {
            self.recent.remember(member, servedMillis: notBeforeMillis - distanceMillis)
        }
        guard hasVersions else { return nil }
        guard isRested || isAhead else {
            self.retries.set(RetrySet.Entry(notBeforeMillis: notBeforeMillis, isOwed: true), for: member)
            return nil
        }
        return self.wait(late: member, isAhead: isAhead, course, in: &table)
    }
    /// Takes in a member that already has the versions that go round in this ring.
    /// - Parameters: see `joined`.
    mutating func joinedServed(
        _ member: MemberID, isAhead: Bool, notBeforeMillis: Int64, distanceMillis: Int64, nowMillis: Int64,
        _ course: PassCourse, in table: borrowing MemberTable
    ) {
        if notBeforeMillis > nowMillis { self.recent.remember(member, servedMillis: notBeforeMillis - distanceMillis) }
        // If the set is full, the round brings the member the version a second time, without the alert.
        if isAhead, self.skipped.count < Self.skippedMax {
            self.skip(member)
            self.keepUnhurried(member, course)
        }
        if course.isAlertAhead(table.position(of: member)) { self.keepQuiet(member, course) }
    }
    /// Takes in a member that is owed the newest version with the alert.
    mutating func joinedOwed(_ member: MemberID, isAhead: Bool, notBeforeMillis: Int64) {
        self.retries.set(
            RetrySet.Entry(notBeforeMillis: notBeforeMillis, isOwed: !isAhead, owesAlert: true), for: member)
    }
    /// Forgets a member that has left the ring, because another member may get the same number.
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
    ///   - isAhead: whether the round reaches the member.
    ///   - offset: offset of its join in `state`; -1: not known yet.
    /// - Returns: the number of its join.
    @discardableResult mutating func wait(
        late member: MemberID, isAhead: Bool, offset: Int64 = -1, _ course: PassCourse,
        in table: inout MemberTable
    ) -> UInt32 {
        table.insertFlag(.isLate, of: member)
        let number = self.late.joined(member, offset: offset)
        if isAhead {
            // If the member leaves, its `MemberID` stays in `quietStamps` and `unhurried`. The next member with that id
            // will have joined even later, so both are right for that member, too.
            self.keepQuiet(member, course)
            self.keepUnhurried(member, course)
        } else {
            self.lateCount += 1
        }
        return number
    }
    /// Remembers the offset in `state` of the join with that number.
    mutating func lateJoinWritten(_ number: UInt32, at offset: Int64) { self.late.written(number, at: offset) }
    /// Remembers that the alert that goes round is not for the member, which joined after the alert or has had it.
    mutating func keepQuiet(_ member: MemberID, _ course: PassCourse) {
        guard course.owesAlert else { return }
        if self.quietStamps.count >= Self.skippedMax { self.forgetOlderQuiet() }
        if self.quietStamps.count < Self.skippedMax { self.quietStamps[member] = self.alertStampSeconds }
    }
    /// Forgets members that must not get an older alert, but may get the one that is owed.
    private mutating func forgetOlderQuiet() {
        self.quietStamps = self.quietStamps.filter { $0.value >= self.alertStampSeconds }
    }
    /// Sets the alert that is owed now.
    /// - Parameter stampSeconds: the alert's stamp.
    mutating func owesAlert(stampSeconds: Int64) { self.alertStampSeconds = stampSeconds }
    /// Members that the owed alert's round reaches but must not bring the alert: they joined after the alert, or have
    /// had it.
    var quiet: Set<MemberID> { Set(self.quietStamps.keys.filter { self.isQuiet($0) }) }
    /// Whether the owed alert is not for the member, because the member joined after the alert or has had it.
    func isQuiet(_ member: MemberID) -> Bool {
        self.quietStamps[member].map { $0 >= self.alertStampSeconds } ?? false
    }
    /// Remembers a member that joined after a version with priority 10, while the right to that priority goes round.
    /// The right may end before the round reaches the member.
    private mutating func keepUnhurried(_ member: MemberID, _ course: PassCourse) {
        if course.isHigh, self.unhurried.count < Self.skippedMax { self.unhurried.insert(member) }
    }
    /// Lets the round skip a member, which has been sent the newest version.
    mutating func skip(_ member: MemberID) { self.skipped.insert(member) }
    /// Earliest time to meet a member that waits, or that was served apart from the round (steady clock). `Int64.min`:
    /// nothing here delays it.
    mutating func restedMillis(_ member: MemberID, distanceMillis: Int64, nowMillis: Int64) -> Int64 {
        let served = self.servedMillis(member, distanceMillis: distanceMillis, nowMillis: nowMillis)
        let waits = self.retries[member].map { $0.notBeforeMillis == .max ? .min : $0.notBeforeMillis } ?? .min
        return max(served.map { $0 + distanceMillis } ?? .min, waits)
    }

    // MARK: Serving apart from the round
    /// The next member that is tried again; `nil`: none is due.
    /// - Parameters:
    ///   - hasAlert: whether some members may be owed an alert.
    ///   - alertGoesAlone: whether the alert does not fit beside the newest content.
    ///   - nowMillis: now (steady clock).
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
                // The round will reach the member. Its entry is kept only for what the round may not bring: an earlier
                // alert, priority 10, or an older version if the newest expires first.
                if entry.owesAlert || entry.mayBeHigh || course.keepsOlder {
                    entry.notBeforeMillis = .max
                    self.retries.set(entry, for: member)
                }
                continue
            }
            self.recent.remember(member, servedMillis: nowMillis)
            let isAlone = entry.owesAlert && alertGoesAlone
            if isAlone {
                effects.isAloneReturned = true
                if !self.comesRound(to: member, course, in: table) {
                    // The newest content follows the alert. It is still owed to the member, because no round will bring
                    // it.
                    self.retries.set(RetrySet.Entry(notBeforeMillis: .max, isOwed: true), for: member)
                    effects.owesNewestBeside = true
                }
            }
            return MemberServing(
                member: member, hasAlert: entry.owesAlert && hasAlert, isAlone: isAlone, mayBeHigh: entry.mayBeHigh,
                failures: entry.failures, alertsMissedSinceSeconds: entry.alertsMissedSinceSeconds)
        }
        return nil
    }
    /// The next late member that can be served; `nil`: there is none, or too many members were served apart from the
    /// round lately.
    @inline(never) mutating func nextLate(
        distanceMillis: Int64, nowMillis: Int64, _ course: PassCourse, in table: inout MemberTable
    ) -> MemberServing? {
        self.recent.forget(distanceMillis: distanceMillis, nowMillis: nowMillis)
        guard !self.recent.isFull else { return nil }
        while self.skipped.count < Self.skippedMax, let member = self.late.popWaiting() {
            let isAhead = course.isAhead(table.position(of: member))
            table.removeFlag(.isLate, of: member)
            if isAhead { self.skip(member) } else { self.lateCount -= 1 }
            let served = self.servedMillis(member, distanceMillis: distanceMillis, nowMillis: nowMillis)
            let isUnanswered = table.flags(of: member).contains(.isInFlight)
            guard isUnanswered || served != nil else {
                self.recent.remember(member, servedMillis: nowMillis)
                return MemberServing(member: member)
            }
            self.retries.set(
                RetrySet.Entry(
                    notBeforeMillis: isUnanswered ? .max : served.map { $0 + distanceMillis } ?? .min, isOwed: true),
                for: member)
        }
        return nil
    }
    /// When the next member may be served apart from the round (steady clock).
    func dueMillis(distanceMillis: Int64) -> Int64 {
        guard !self.late.queue.isEmpty, self.skipped.count < Self.skippedMax else { return self.retries.nextDueMillis }
        let late = self.recent.isFull ? self.recent.nextForgottenMillis(distanceMillis: distanceMillis) ?? .max : .min
        return min(self.retries.nextDueMillis, late)
    }

    // MARK: The round at a member
    /// When the member was served apart from the round (steady clock); `nil`: never, or longer ago than
    /// `distanceMillis`.
    @inline(__always) mutating func servedMillis(
        _ member: MemberID, distanceMillis: Int64, nowMillis: Int64
    ) -> Int64? {
        self.recent.servedMillis(member, distanceMillis: distanceMillis, nowMillis: nowMillis)
    }
    /// Whether the round skips the member. The mark is removed, because the round has reached the member, or the member
    /// leaves.
    @inline(__always) @discardableResult mutating func forgetSkip(_ member: MemberID) -> Bool {
        !self.skipped.isEmpty && self.skipped.remove(member) != nil
    }
    /// Whether the alert that goes round is not for the member. The mark is removed, because the round has reached the
    /// member. A mark about an older alert stays, because that alert may be owed again.
    @inline(__always) mutating func forgetQuiet(_ member: MemberID) -> Bool {
        guard !self.quietStamps.isEmpty, self.isQuiet(member) else { return false }
        self.quietStamps[member] = nil
        return true
    }
    /// Whether the member joined after the version whose priority 10 goes round. The mark is removed, because the round
    /// has reached the member.
    @inline(__always) mutating func forgetUnhurried(_ member: MemberID) -> Bool {
        !self.unhurried.isEmpty && self.unhurried.remove(member) != nil
    }
    /// Forgets a late member, because the round serves it now.
    mutating func metLate(_ member: MemberID, in table: inout MemberTable) {
        table.removeFlag(.isLate, of: member)
        self.late.forget(member)
    }
    /// Remembers a member that has been met but cannot be served yet. When its wait ends, it gets what is newest then.
    /// - Parameters:
    ///   - serving: what the round would have brought.
    ///   - untilMillis: end of the wait (steady clock); `Int64.max`: the wait ends with an answer.
    /// - Returns: whether the member already waited and was owed something that the round would not bring.
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
    /// Takes the failure of a push to the member, which now waits in the retry set. There it is owed the newest
    /// version, unless the round will bring that version.
    /// - Returns: whether the member is owed something that was not counted before.
    mutating func failed(
        _ member: MemberID, _ failure: MemberFailure, _ course: PassCourse, in table: borrowing MemberTable
    ) -> Bool {
        let old = self.retries[member]
        let isAhead = !failure.isNewestAlone && self.comesRound(to: member, course, in: table)
        self.retries.set(
            RetrySet.Entry(
                notBeforeMillis: failure.notBeforeMillis, failures: failure.failures,
                // The round of a newer alert may have met the member while this push was unanswered. That alert stays
                // owed, and the newest content follows with the next push.
                isOwed: !isAhead || old?.isOwed == true, owesAlert: failure.owesAlert || old?.owesAlert ?? false,
                mayBeHigh: failure.mayBeHigh || old?.mayBeHigh ?? false,
                alertsMissedSinceSeconds: min(
                    failure.alertsMissedSinceSeconds, old?.alertsMissedSinceSeconds ?? .max)), for: member)
        // A member with an owed entry has already been counted.
        return !isAhead && old?.isOwed != true
    }
    /// Lets the alert of a failed push still go by token, although the newest version is left to the channel.
    mutating func failedBesideChannel(_ member: MemberID, notBeforeMillis: Int64) {
        self.retries.set(
            RetrySet.Entry(notBeforeMillis: notBeforeMillis, isOwed: true, owesAlert: true), for: member)
    }
    /// Marks the newest alert as received by the member. The alert is no longer owed to the member here.
    mutating func alertCame(to member: MemberID) {
        guard var entry = self.retries[member], entry.owesAlert else { return }
        entry.owesAlert = false
        self.retries.set(entry, for: member)
    }
    /// Ends the member's wait for the answer to a push, if it waited for that.
    /// - Parameter restedMillis: earliest time of the next push to the member (steady clock).
    /// - Returns: whether the member was waiting for the answer.
    @inline(__always) mutating func wake(_ member: MemberID, restedMillis: Int64) -> Bool {
        guard self.retries.count > 0, var entry = self.retries[member], entry.notBeforeMillis == .max else {
            return false
        }
        entry.notBeforeMillis = restedMillis
        self.retries.set(entry, for: member)
        return true
    }
    /// Restores a member that waits, as a progress record or the member's own record says.
    mutating func restoreWaiting(
        _ member: MemberID, isAhead: Bool, owesAlert: Bool, alertsMissedSinceSeconds: Int64
    ) {
        self.retries.set(
            RetrySet.Entry(
                notBeforeMillis: isAhead ? .max : .min, isOwed: !isAhead, owesAlert: owesAlert,
                alertsMissedSinceSeconds: alertsMissedSinceSeconds), for: member)
    }
}

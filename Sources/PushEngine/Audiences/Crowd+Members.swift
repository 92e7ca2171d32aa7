/// Members of a crowd that join, are served and are answered. The crowd decides; the engine journals, sends and counts.
extension Crowd {
    /// What a member is when it enters a ring.
    enum Entrance {
        /// The member is owed what the round brings, or is late.
        case anew
        /// The member has got the newest version by token in another ring of the crowd.
        case served
        /// The member has not got the newest alert in another ring of the crowd, and gets it by token.
        case owedAlert
    }
    /// What becomes of the content of a push that has failed.
    enum FailedPush {
        /// A newer version replaces it.
        case superseded
        /// It is still owed to the member.
        case waits
        /// A newer version goes by broadcast, but the alert is still owed by token. The number is how many members are
        /// owed something they were not owed before.
        case owesAlertBeside(Int)
    }
    /// How a push has failed that is going to be tried again.
    struct Failure {
        /// The earliest time of the next attempt, steady.
        var notBeforeMillis: Int64
        var keepsPriority = true
        var dropsAlert = false
        /// See `MemberPush.attempt`.
        var isEarlierDeath = false
    }
    /// Stamp of the alert that is owed to some members; 0: none is.
    @inline(__always) var alertStampSeconds: Int64 { self.versions.alert?.stampSeconds ?? 0 }

    // MARK: Coming
    /// Takes a member into the ring of a pass.
    /// - Parameters: as of `Pass.joined`.
    /// - Returns: its number among the late members; `nil`: it is not late.
    mutating func entered(
        _ member: MemberID, as entrance: Entrance, pass: Int, notBeforeMillis: Int64, distanceMillis: Int64,
        nowMillis: Int64, in table: inout MemberTable
    ) -> UInt32? {
        switch entrance {
        case .anew:
            return self.passes[pass].joined(
                member, notBeforeMillis: notBeforeMillis, distanceMillis: distanceMillis, nowMillis: nowMillis,
                hasVersions: !self.versions.isEmpty, in: &table)
        case .served:
            self.passes[pass].joinedServed(
                member, notBeforeMillis: notBeforeMillis, distanceMillis: distanceMillis, nowMillis: nowMillis,
                in: table)
        case .owedAlert: self.passes[pass].joinedOwed(member, notBeforeMillis: notBeforeMillis, in: table)
        }
        // The member's record does not say so.
        self.progressed()
        return nil
    }
    /// Stamp of the alert that the member is owed in a pass, whether or not a record of progress covers it; 0: it is
    /// owed none.
    @inline(__always) func owedAlertStampSeconds(_ member: MemberID, pass: Int) -> Int64 {
        self.passes[pass].awaitsAlert(member) ? self.alertStampSeconds : 0
    }

    // MARK: Serving
    /// See `Pass.nextServing`.
    @inline(__always) mutating func nextServing(
        pass: Int, distanceMillis: Int64, nowMillis: Int64, in table: inout MemberTable, effects: inout ServingEffects
    ) -> MemberServing? {
        let alertGoesAlone = self.passes[pass].hasDueRetry(nowMillis: nowMillis) && self.versions.alertGoesAlone
        return self.passes[pass].nextServing(
            hasAlert: self.versions.alert != nil, alertGoesAlone: alertGoesAlone, distanceMillis: distanceMillis,
            nowMillis: nowMillis, in: &table, effects: &effects)
    }
    /// Notes that a push to a member has left.
    @inline(__always) mutating func pushLeft(isHigh: Bool, nowMillis: Int64) {
        if isHigh { self.sentHigh(nowMillis: nowMillis) }
        self.met()
    }

    // MARK: Answers
    /// Takes the failure of a push to a member of the crowd. Its content is still owed, unless the member gets a newer
    /// version.
    mutating func failed(_ push: MemberPush, _ failure: Failure, in table: borrowing MemberTable) -> FailedPush {
        guard self.passes[push.pass].ring == table.ring(of: push.member), !self.versions.isEmpty else {
            // The version is sent to other members of the audience now.
            return .superseded
        }
        if self.isLeftToChannel(push), !self.passes[push.pass].awaitsAlert(push.member) {
            guard !failure.dropsAlert, self.owesAlertBesideChannel(push, in: table) else { return .superseded }
            let before = self.passes[push.pass].waitingCount
            self.passes[push.pass].failedBesideChannel(push.member, notBeforeMillis: failure.notBeforeMillis)
            return .owesAlertBeside(self.passes[push.pass].waitingCount - before)
        }
        // A newer alert has a round of its own, which reaches the member or has found it unanswered.
        let isNewestAlert = push.hasAlert && self.alertStampSeconds == push.alertStampSeconds
        let owesAlert = (isNewestAlert || self.owesReturned(push, in: table)) && !failure.dropsAlert
        let waits = self.passes[push.pass].failed(
            push.member,
            MemberFailure(
                notBeforeMillis: failure.notBeforeMillis,
                attempt: push.nextAttempt(isEarlierDeath: failure.isEarlierDeath),
                isNewestAlone: push.isAlone && isNewestAlert, owesAlert: owesAlert,
                alertsMissedSinceSeconds: min(
                    push.alertsMissedSinceSeconds, push.hasAlert && !failure.dropsAlert ? push.alertStampSeconds : .max),
                mayBeHigh: failure.keepsPriority && push.mayBeHigh
                    && self.mayBeHigh(stampSeconds: push.stampSeconds)), in: table)
        return waits ? .waits : .superseded
    }
    /// Whether a push brings an older version while the newest comes to its member by broadcast: nothing but its alert is owed by token then.
    @inline(__always) func isLeftToChannel(_ push: MemberPush) -> Bool {
        self.passes[push.pass].isServedByChannel && push.stampSeconds != self.versions.stampSeconds
    }
    /// Whether the alert of such a push is owed by token all the same: it is the newest, and a broadcast may not bring
    /// it there.
    @inline(__always) func owesAlertBesideChannel(_ push: MemberPush, in table: borrowing MemberTable) -> Bool {
        guard push.hasAlert, push.alertStampSeconds == self.alertStampSeconds else { return false }
        return Int64(table.joinedSeconds(of: push.member))
            >= self.keepsAlertsSinceSeconds(pass: push.pass, wentBothWays: true)
            || self.passes[push.pass].apart.retries[push.member]?.isOwed == true
    }
    /// Whether the alert of an older version has replaced that of the push, which expired on its way. The member has
    /// not had the older one either.
    @inline(__always) private func owesReturned(_ push: MemberPush, in table: borrowing MemberTable) -> Bool {
        guard push.hasAlert, self.versions.alert != nil, self.alertStampSeconds < push.alertStampSeconds else {
            return false
        }
        if push.alertsMissedSinceSeconds <= self.alertStampSeconds { return true }
        for index in self.versions.kept.indices where self.versions.kept[index].stampSeconds == self.alertStampSeconds {
            return self.passes[push.pass].course.hadNotMet(table.position(of: push.member), versionAt: index)
        }
        return false
    }
    /// Notes that an alert has reached a member that moved to another ring of the crowd before the answer.
    @inline(__always) mutating func alertCame(stampSeconds: Int64, to member: MemberID, in ring: RingID) {
        guard let pass = self.passIndex(of: ring), self.alertStampSeconds == stampSeconds else { return }
        self.passes[pass].alertCame(to: member)
    }
    /// Takes an answer about a member.
    /// - Parameter restedMillis: earliest time of the next push to the member, steady.
    /// - Returns: whether the member has waited for the answer.
    @inline(__always) mutating func wake(_ member: MemberID, in ring: RingID, restedMillis: Int64) -> Bool {
        guard let pass = self.passIndex(of: ring) else { return false }
        return self.passes[pass].wake(member, restedMillis: restedMillis)
    }
}

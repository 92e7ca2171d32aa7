import PushModel

/// How members of a crowd join, leave and are served, and how answers to their pushes are taken. The crowd decides; the
/// engine journals, sends and counts.
extension Crowd {
    /// How a member enters a ring.
    enum Entrance {
        /// The member joins late. It is owed the newest version, if there is one, without the alert.
        case anew
        /// The member has got the newest version by token in another ring of the crowd.
        case served
        /// The member comes from another ring of the crowd, where it has not got the newest alert. It is owed the alert
        /// by token here.
        case owedAlert
    }
    /// What becomes of the content of a push that has failed.
    enum FailedPush {
        /// The failure makes nothing owed: the member has left the ring, gets something newer, or was already counted
        /// as owed something.
        case superseded
        /// The member is owed something again, and waits for another attempt.
        case waits
        /// A newer version goes by broadcast, but the alert is still owed by token. The number is 1, or 0 if the member
        /// was already counted as owed something.
        case owesAlertBeside(Int)
    }
    /// A failure of a push that will be tried again.
    struct Failure {
        /// The earliest time of the next attempt (steady clock).
        var notBeforeMillis: Int64
        var keepsPriority = true
        var dropsAlert = false
        /// Whether APNs said that the token died before the member joined: see `FailureStreak`.
        var isEarlierDeath = false
    }
    /// Stamp of the alert that is still owed to some members; 0: none is.
    @inline(__always) var alertStampSeconds: Int64 { self.versions.alert?.stampSeconds ?? 0 }

    // MARK: Joining
    /// Takes a member into the ring of a pass.
    /// - Parameters: see `Pass.joined`.
    /// - Returns: the member's number among the late members, and what the pass owes in addition. The number is `nil`
    ///   if the member is not late.
    mutating func entered(
        _ member: MemberID, as entrance: Entrance, pass: Int, notBeforeMillis: Int64, distanceMillis: Int64,
        nowMillis: Int64, in table: inout MemberTable
    ) -> (lateNumber: UInt32?, due: Pass.Owed) {
        let before = self.passes[pass].owed
        var lateNumber: UInt32?
        switch entrance {
        case .anew:
            lateNumber = self.passes[pass].joined(
                member, notBeforeMillis: notBeforeMillis, distanceMillis: distanceMillis, nowMillis: nowMillis,
                hasVersions: !self.versions.isEmpty, in: &table)
        case .served:
            self.passes[pass].joinedServed(
                member, notBeforeMillis: notBeforeMillis, distanceMillis: distanceMillis, nowMillis: nowMillis,
                in: table)
        case .owedAlert: self.passes[pass].joinedOwed(member, notBeforeMillis: notBeforeMillis, in: table)
        }
        // A progress record has to say that the round skips the member, or that the member waits.
        if entrance != .anew { self.progressed() }
        return (lateNumber, self.passes[pass].owed - before)
    }
    /// Takes a member out of its ring's pass, because it is about to leave the ring.
    /// - Returns: when the member's phone may get another push (steady clock), and what the member is no longer owed;
    ///   `nil`: its ring has no pass.
    mutating func left(
        _ member: MemberID, distanceMillis: Int64, nowMillis: Int64, in table: inout MemberTable
    ) -> (notBeforeMillis: Int64, settled: Settled)? {
        guard let pass = self.passIndex(of: table.ring(of: member)) else { return nil }
        let before = self.passes[pass].owed
        let notBeforeMillis = self.passes[pass].left(
            member, distanceMillis: distanceMillis, nowMillis: nowMillis, in: &table)
        return (
            notBeforeMillis, self.settled(pass: pass, since: before, alertStampSeconds: self.alertStampSeconds)
        )
    }
    /// Sends nothing to members of a pass before that time, because a former owner may have pushed to them recently.
    mutating func rests(pass: Int, untilMillis millis: Int64) { self.passes[pass].rests(untilMillis: millis) }
    /// Remembers the offset in `state` of a late join's record.
    mutating func lateJoinWritten(_ number: UInt32, pass: Int, at offset: Int64) {
        if pass < self.passes.count { self.passes[pass].lateJoinWritten(number, at: offset) }
    }
    /// Whether the crowd has a pass over members in that environment.
    func hasPass(in environment: PushEnvironment) -> Bool { self.passes.contains { $0.environment == environment } }
    /// At most `limit` members of the first ring that has any.
    func someMembers(limit: Int, in table: borrowing MemberTable) -> [RingEntry] {
        var some: [RingEntry] = []
        for pass in self.passes.indices where some.isEmpty {
            _ = table.fill(self.passes[pass].ring, from: 0, limit: limit, into: &some)
        }
        return some
    }
    /// The key under which a member is remembered when it has left the crowd, and found when it joins again.
    func departedKey(_ member: MemberID, in table: borrowing MemberTable) -> FanOut.DepartedKey {
        FanOut.DepartedKey(partition: self.partition, position: table.position(of: member))
    }
    /// The unanswered push to a member; `nil`: there is none. All pushes are searched, so callers look at the member's
    /// flag `isInFlight` first.
    func pushInFlight(to member: MemberID, in pushes: borrowing MemberPushStore) -> MemberPushID? {
        pushes.identifier(of: member, partition: self.partition)
    }
    /// Whether a push to an update member is unanswered.
    var hasPushInFlight: Bool { self.passes.contains { $0.inFlight.count > 0 } }
    /// Removes the crowd's rings, which have no members.
    mutating func removeRings(from table: inout MemberTable) {
        for pass in self.passes.indices { table.removeRing(self.passes[pass].ring) }
        self.starts.removeRings(in: &table)
    }
    /// Stamp of the alert that the member waits for in a pass's retry set; 0: it waits for none. The stamp is written
    /// in the member's record, because the progress record with the waiting member may not have been written yet.
    @inline(__always) func owedAlertStampSeconds(_ member: MemberID, pass: Int) -> Int64 {
        self.passes[pass].awaitsAlert(member) ? self.alertStampSeconds : 0
    }

    // MARK: Serving
    /// Finds the next member to serve: see `Pass.nextServing`.
    @inline(__always) mutating func nextServing(
        pass: Int, distanceMillis: Int64, nowMillis: Int64, in table: inout MemberTable, effects: inout ServingEffects
    ) -> MemberServing? {
        let alertGoesAlone = self.passes[pass].hasDueRetry(nowMillis: nowMillis) && self.versions.alertGoesAlone
        return self.passes[pass].nextServing(
            hasAlert: self.versions.alert != nil, alertGoesAlone: alertGoesAlone, distanceMillis: distanceMillis,
            nowMillis: nowMillis, in: &table, effects: &effects)
    }
    /// Whether a progress record has to be written now, so that a pass at priority 10 need not stop at its horizon. It
    /// has to be if Kafka has the last one, and at least half of `CrowdRecords.horizonCount` members have been sent a
    /// push since.
    @inline(__always) func needsHorizon(pass: Int) -> Bool {
        self.records.isHorizonNear && self.passes[pass].course.isHigh && !self.records.isProgressUnderWay
    }
    /// Sets the fields of a push that say whom it is for, by which lane it leaves, and when.
    @inline(__always) func begin(
        _ push: inout MemberPush, to member: MemberID, of id: CrowdID, pass: Int, lane: LaneIndex,
        failures: FailureStreak,
        nowMillis: Int64
    ) {
        push.crowd = id
        push.crowdGeneration = self.generation
        push.pass = pass
        push.member = member
        push.partition = self.partition
        push.app = self.app
        push.lane = lane
        push.failures = failures
        push.sentMillis = nowMillis
    }
    /// What a push needs of its version besides the body.
    @inline(__always) func facts(of serving: MemberServing) -> VersionFacts {
        self.versions.facts(isAlone: serving.isAlone)
    }
    /// Counts a push to a member as sent, and sets its fields.
    /// - Parameters:
    ///   - push: an empty push, in its store.
    ///   - id: the crowd's id.
    @inline(__always) mutating func pushLeft(
        _ push: MemberPushID, serving: MemberServing, of id: CrowdID, pass: Int, isHigh: Bool,
        version: borrowing VersionFacts, joinedSeconds: UInt32, nowMillis: Int64, in store: inout MemberPushStore
    ) {
        self.begin(
            &store[push], to: serving.member, of: id, pass: pass, lane: self.passes[pass].lane,
            failures: serving.failures, nowMillis: nowMillis)
        store[push].stampSeconds = version.stampSeconds
        // A member that joined after the version's event has only waited since its join.
        store[push].recordMillis = max(version.recordMillis, Int64(joinedSeconds) * 1_000)
        store[push].priority = isHigh ? .high : .low
        store[push].alertStampSeconds = serving.hasAlert ? self.alertStampSeconds : 0
        store[push].alertsMissedSinceSeconds = serving.alertsMissedSinceSeconds
        store[push].mayBeHigh = serving.mayBeHigh
        store[push].isAlone = serving.isAlone
        if isHigh { self.sentHigh(nowMillis: nowMillis) }
        self.met()
        self.passes[pass].pushLeft(push, in: &store)
    }
    /// Counts a push as answered. The last progress record may list the push's member as waiting, so another record
    /// becomes due.
    @inline(__always) mutating func pushAnswered(_ push: MemberPushID, in store: inout MemberPushStore) {
        self.passes[store[push].pass].pushAnswered(push, in: &store)
        self.progressed()
    }
    /// The crowd needs no rescheduling after an answer if its deadline is at or before this time (steady clock).
    /// `Int64.max`: it needs none, even without a deadline; `nil`: it must be rescheduled.
    ///
    /// After an answer, members or a progress record may be due. Due members need no rescheduling while the crowd's
    /// only pass is in its lane's queue: the crowd is scheduled when the pass leaves the queue. A due progress record
    /// needs no rescheduling if the crowd's deadline is early enough, or an earlier record is under way. Answers do not
    /// change when versions expire.
    @inline(__always) var deadlineMaxAfterAnswer: Int64? {
        guard self.passes.count == 1, self.passes[0].isQueued else { return nil }
        return self.records.isProgressUnderWay ? .max : self.records.nextProgressMillis
    }
    /// Puts passes that have members to serve into their lanes' queues.
    /// - Parameter id: the crowd's id.
    /// - Returns: when the other passes have members to serve (steady clock); `Int64.max`: not before an event, an
    ///   answer or an acknowledgement.
    @inline(__always) mutating func queuePasses(
        as id: CrowdID, distanceMillis: Int64, nowMillis: Int64, in lanes: inout NumberedArray<LaneIndex, Lane>
    ) -> Int64 {
        guard self.mayServe else { return .max }
        var next = Int64.max
        for pass in self.passes.indices {
            let due = self.passes[pass].dueMillis(distanceMillis: distanceMillis, nowMillis: nowMillis)
            let lane = self.passes[pass].lane
            if due > nowMillis {
                next = min(next, due)
            } else if !self.passes[pass].isQueued, lane.isSome, lanes[lane].route != nil {
                self.passes[pass].queued()
                lanes[lane].passes.append(
                    PassReference(crowd: id, generation: self.generation, pass: pass),
                    hasAlert: self.passes[pass].course.owesAlert)
            }
        }
        return next
    }
    /// Marks a pass, or a start round, as out of its lane's queue.
    @inline(__always) mutating func dequeued(_ reference: PassReference) {
        if reference.isStart {
            self.starts.dequeued(reference.pass)
        } else {
            self.passes[reference.pass].dequeued()
        }
    }

    // MARK: Answers
    /// Takes the failure of a push to a member of the crowd. The push's content is still owed, unless the member has
    /// left the ring or gets a newer version.
    mutating func failed(_ push: MemberPush, _ failure: Failure, in table: borrowing MemberTable) -> FailedPush {
        guard self.passes[push.pass].ring == table.ring(of: push.member), !self.versions.isEmpty else {
            // The member has left this ring, or no version is owed now.
            return .superseded
        }
        if self.isLeftToChannel(push), !self.passes[push.pass].awaitsAlert(push.member) {
            guard !failure.dropsAlert, self.owesAlertBesideChannel(push, in: table) else { return .superseded }
            let before = self.passes[push.pass].waitingCount
            self.passes[push.pass].failedBesideChannel(push.member, notBeforeMillis: failure.notBeforeMillis)
            return .owesAlertBeside(self.passes[push.pass].waitingCount - before)
        }
        // A newer alert has its own round. That round will reach the member, or has met the member while this push was
        // unanswered.
        let isNewestAlert = push.hasAlert && self.alertStampSeconds == push.alertStampSeconds
        let owesAlert = (isNewestAlert || self.owesReturned(push, in: table)) && !failure.dropsAlert
        let waits = self.passes[push.pass].failed(
            push.member,
            MemberFailure(
                notBeforeMillis: failure.notBeforeMillis,
                failures: push.failures.next(isEarlierDeath: failure.isEarlierDeath),
                isNewestAlone: push.isAlone && isNewestAlert, owesAlert: owesAlert,
                alertsMissedSinceSeconds: min(
                    push.alertsMissedSinceSeconds, push.hasAlert && !failure.dropsAlert ? push.alertStampSeconds : .max),
                mayBeHigh: failure.keepsPriority && push.mayBeHigh
                    && self.mayBeHigh(stampSeconds: push.stampSeconds)), in: table)
        return waits ? .waits : .superseded
    }
    /// Whether a push brings an older version, while a broadcast brings the newest one to the push's member. If so,
    /// only the push's alert may still be owed by token.
    @inline(__always) func isLeftToChannel(_ push: MemberPush) -> Bool {
        self.passes[push.pass].isServedByChannel && push.stampSeconds != self.versions.stampSeconds
    }
    /// Whether the member is still owed this push's alert through its own token, although a broadcast brings the newest
    /// version (`isLeftToChannel`). The alert must be the newest one. The member must also be owed something in the
    /// retry set, or must have joined at or after the time from `keepsAlertsSinceSeconds`.
    @inline(__always) func owesAlertBesideChannel(_ push: MemberPush, in table: borrowing MemberTable) -> Bool {
        guard push.hasAlert, push.alertStampSeconds == self.alertStampSeconds else { return false }
        return Int64(table.joinedSeconds(of: push.member))
            >= self.keepsAlertsSinceSeconds(pass: push.pass, wentBothWays: true)
            || self.passes[push.pass].apart.retries[push.member]?.isOwed == true
    }
    /// Whether an older version's alert is owed instead of the push's alert, which expired while the push was in
    /// flight. The member must not have had that older alert.
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
    /// Marks an alert as received by a member. The member moved to another ring of the crowd before its push was
    /// answered.
    @inline(__always) mutating func alertCame(stampSeconds: Int64, to member: MemberID, in ring: RingID) {
        guard let pass = self.passIndex(of: ring), self.alertStampSeconds == stampSeconds else { return }
        self.passes[pass].alertCame(to: member)
    }
    /// Ends a member's wait for the answer to a push, if the member waited for it.
    /// - Parameter restedMillis: earliest time of the next push to the member (steady clock).
    /// - Returns: whether the member waited for the answer.
    @inline(__always) mutating func wake(_ member: MemberID, in ring: RingID, restedMillis: Int64) -> Bool {
        guard let pass = self.passIndex(of: ring) else { return false }
        return self.passes[pass].wake(member, restedMillis: restedMillis)
    }
}

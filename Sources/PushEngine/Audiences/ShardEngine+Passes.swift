import APNSProtocol
import PushModel

/// Members that are served (fan-out contract: Passes).
extension ShardEngine {
    /// What a member is sent.
    private struct Serving {
        var member: MemberID
        var hasAlert = false
        var isAlone = false
        var mayBeHigh = false
        var attempt: UInt8 = 0
        var alertsMissedSinceSeconds: Int64 = .max
    }

    /// Fills `request` with a push to the next member whose turn it is on this lane; false: none is.
    mutating func nextMemberPush(lane: LaneIndex, into request: inout PushRequest, now: EngineTime) -> Bool {
        while let reference = self.dispatch.lanes[lane].passes.first {
            let crowd = reference.crowd
            if reference.isStart {
                if self.sendNextStart(reference, into: &request, now: now) {
                    self.dispatch.lanes[lane].passes.served()
                    return true
                }
                self.dispatch.lanes[lane].passes.removeFirst()
                self.startTurnOver(reference, now: now)
                continue
            }
            let isThere =
                self.audiences.crowds[crowd].generation == reference.generation
                && self.audiences.crowds[crowd].standing == .living
            let members = isThere ? self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition) : nil
            if let members, let serving = self.nextServing(crowd, pass: reference.pass, members: members, now: now) {
                self.send(serving, of: crowd, pass: reference.pass, members: members, into: &request, now: now)
                self.dispatch.lanes[lane].passes.served()
                if self.audiences.crowds[crowd].records.isHorizonNear,
                    self.audiences.crowds[crowd].passes[reference.pass].isHigh
                {
                    self.extendHorizon(crowd, now: now)
                }
                return true
            }
            self.dispatch.lanes[lane].passes.removeFirst()
            guard isThere else { continue }
            self.audiences.crowds[crowd].passes[reference.pass].dequeued()
            self.schedule(crowd, now: now)
        }
        return false
    }
    /// Whether members of the crowd may be served at all.
    private func mayServe(_ crowd: CrowdID) -> Bool {
        let partition = self.audiences.crowds[crowd].partition
        return self.memory.partitions[partition].sends && self.memory.partitions[partition].mayPush
            && self.audiences.crowds[crowd].records.isDurable && !self.audiences.crowds[crowd].versions.isEmpty
            && !self.audiences.crowds[crowd].isPaused
    }
    /// Who is next, and with what; it counts as met from here on.
    private mutating func nextServing(
        _ crowd: CrowdID, pass: Int, members: CrowdTable.Members, now: EngineTime
    ) -> Serving? {
        self.expireVersions(crowd, now: now)
        guard self.mayServe(crowd), self.audiences.crowds[crowd].passes[pass].notBeforeMillis <= now.steadyMillis
        else { return nil }
        return self.nextRetry(crowd, pass: pass, members: members, now: now)
            ?? self.nextLate(crowd, pass: pass, members: members, now: now)
            ?? self.nextOfRound(crowd, pass: pass, members: members, now: now)
    }
    private mutating func nextRetry(
        _ crowd: CrowdID, pass: Int, members: CrowdTable.Members, now: EngineTime
    ) -> Serving? {
        guard self.audiences.crowds[crowd].passes[pass].retries.nextDueMillis <= now.steadyMillis else { return nil }
        while let member = self.audiences.crowds[crowd].passes[pass].retries.nextDue(nowMillis: now.steadyMillis) {
            guard var entry = self.audiences.crowds[crowd].passes[pass].retries[member] else { continue }
            if members.table.flags(of: member).contains(.isInFlight) {
                entry.notBeforeMillis = .max
                self.audiences.crowds[crowd].passes[pass].retries.set(entry, for: member)
                continue
            }
            self.audiences.crowds[crowd].passes[pass].retries.remove(member)
            guard entry.isOwed else {
                // The round comes to it, but it brings no alert that was sent before, and may expire on its way.
                if entry.owesAlert || entry.mayBeHigh || self.audiences.crowds[crowd].passes[pass].keepsOlder {
                    entry.notBeforeMillis = .max
                    self.audiences.crowds[crowd].passes[pass].retries.set(entry, for: member)
                }
                continue
            }
            self.audiences.crowds[crowd].passes[pass].recent.note(member, servedMillis: now.steadyMillis)
            self.audiences.crowds[crowd].passes[pass].noteServedLate(member)
            let isAlone = entry.owesAlert && self.audiences.crowds[crowd].alertGoesAlone
            let serving = Serving(
                member: member, hasAlert: entry.owesAlert && self.audiences.crowds[crowd].alert != nil,
                isAlone: isAlone, mayBeHigh: entry.mayBeHigh, attempt: entry.attempt,
                alertsMissedSinceSeconds: entry.alertsMissedSinceSeconds)
            if isAlone {
                self.noteAloneReturned(crowd)
                guard !self.comesRound(to: member, of: crowd, pass: pass, members: members) else { return serving }
                // The newest content follows, and no round brings it: that is owed beside.
                entry = RetrySet.Entry(notBeforeMillis: .max, isOwed: true)
                self.audiences.crowds[crowd].passes[pass].retries.set(entry, for: member)
                self.memory.counters.members.due += 1
                // A round that has met it since may have left it to what it waited for.
                self.audiences.crowds[crowd].report.note(-1, into: .superseded)
                self.noteWaiting(1)
            }
            return serving
        }
        return nil
    }
    private mutating func nextLate(
        _ crowd: CrowdID, pass: Int, members: CrowdTable.Members, now: EngineTime
    ) -> Serving? {
        guard !self.audiences.crowds[crowd].passes[pass].late.queue.isEmpty else { return nil }
        let distance = self.distanceMillis(crowd)
        self.audiences.crowds[crowd].passes[pass].recent.forget(distanceMillis: distance, nowMillis: now.steadyMillis)
        guard !self.audiences.crowds[crowd].passes[pass].recent.isFull,
            self.audiences.crowds[crowd].passes[pass].skipped.count < Pass.skippedMax
        else { return nil }
        while let member = self.audiences.crowds[crowd].passes[pass].popLate() {
            let isAhead = self.audiences.crowds[crowd].passes[pass].isAhead(members.table.position(of: member))
            members.table.removeFlag(.isLate, of: member)
            if isAhead {
                self.audiences.crowds[crowd].passes[pass].skip(member)
            } else {
                self.audiences.crowds[crowd].passes[pass].lateCount -= 1
            }
            let recent = self.audiences.crowds[crowd].passes[pass].recent.servedMillis(
                member, distanceMillis: distance, nowMillis: now.steadyMillis)
            let isUnanswered = members.table.flags(of: member).contains(.isInFlight)
            if isUnanswered || recent != nil {
                self.audiences.crowds[crowd].passes[pass].retries.set(
                    RetrySet.Entry(
                        notBeforeMillis: isUnanswered ? .max : recent.map { $0 + distance } ?? .min, isOwed: true),
                    for: member)
                continue
            }
            self.audiences.crowds[crowd].passes[pass].recent.note(member, servedMillis: now.steadyMillis)
            self.audiences.crowds[crowd].passes[pass].noteServedLate(member)
            return Serving(member: member)
        }
        return nil
    }
    private mutating func nextOfRound(
        _ crowd: CrowdID, pass: Int, members: CrowdTable.Members, now: EngineTime
    ) -> Serving? {
        let distance = self.distanceMillis(crowd)
        while !self.audiences.crowds[crowd].passes[pass].retries.isFull,
            let member = self.audiences.crowds[crowd].passes[pass].next(in: members.table)
        {
            let isHigh = self.audiences.crowds[crowd].passes[pass].isHigh
            if isHigh, self.audiences.crowds[crowd].passes[pass].isBeyondHorizon { return nil }
            guard
                self.audiences.crowds[crowd].passes[pass].nextNotBeforeMillis(distanceMillis: distance)
                    <= now.steadyMillis
            else { return nil }
            let isQuiet = self.audiences.crowds[crowd].passes[pass].forgetQuiet(member)
            let isUnhurried = self.audiences.crowds[crowd].passes[pass].forgetUnhurried(member)
            let flags = members.table.flags(of: member)
            let isAlone = self.audiences.crowds[crowd].passes[pass].isAlone
            if isAlone,
                isQuiet || flags.contains(.isLate) || self.audiences.crowds[crowd].passes[pass].skipped.contains(member)
            {
                // It came after an alert that goes alone. The newest content comes a turn later, unless it has that already.
                let before = self.owed(crowd, pass: pass, alert: self.audiences.crowds[crowd].alert)
                self.audiences.crowds[crowd].passes[pass].met(
                    isServed: false, distanceMillis: distance, nowMillis: now.steadyMillis)
                self.settleMembers(crowd, pass: pass, before: before, into: .superseded)
                continue
            }
            if self.audiences.crowds[crowd].passes[pass].forgetSkip(member) {
                self.audiences.crowds[crowd].passes[pass].met(
                    isServed: false, distanceMillis: distance, nowMillis: now.steadyMillis)
                continue
            }
            var serving = Serving(member: member)
            if flags.contains(.isLate) {
                // It joined after what goes round here.
                members.table.removeFlag(.isLate, of: member)
                self.audiences.crowds[crowd].passes[pass].forgetLate(member)
            } else {
                serving.isAlone = isAlone
                serving.hasAlert =
                    self.audiences.crowds[crowd].passes[pass].owesAlert && self.audiences.crowds[crowd].alert != nil
                    && !isQuiet
                serving.mayBeHigh = !isUnhurried && self.audiences.crowds[crowd].passes[pass].mayBeHigh(flags)
            }
            let recent = self.audiences.crowds[crowd].passes[pass].recent.servedMillis(
                member, distanceMillis: distance, nowMillis: now.steadyMillis)
            let waits = self.audiences.crowds[crowd].passes[pass].retries[member]
            let isUnanswered = flags.contains(.isInFlight)
            guard isUnanswered || recent != nil || waits != nil else {
                self.audiences.crowds[crowd].passes[pass].met(
                    isServed: true, distanceMillis: distance, nowMillis: now.steadyMillis)
                return serving
            }
            // It waits, and gets what is newest then.
            var entry = waits ?? RetrySet.Entry(notBeforeMillis: .min, isOwed: true)
            entry.isOwed = true
            if entry.notBeforeMillis == .max { entry.notBeforeMillis = .min }
            entry.notBeforeMillis = max(entry.notBeforeMillis, recent.map { $0 + distance } ?? .min)
            if isUnanswered { entry.notBeforeMillis = .max }
            entry.owesAlert = entry.owesAlert || serving.hasAlert
            entry.mayBeHigh = entry.mayBeHigh || serving.mayBeHigh
            var before = self.owed(crowd, pass: pass, alert: self.audiences.crowds[crowd].alert)
            self.audiences.crowds[crowd].passes[pass].met(
                isServed: false, distanceMillis: distance, nowMillis: now.steadyMillis)
            self.audiences.crowds[crowd].passes[pass].retries.set(entry, for: member)
            if isAlone, waits?.isOwed != true {
                self.noteAloneDeferred(crowd)
                before.alone -= 1
            }
            // What it was owed already goes with this.
            self.settleMembers(crowd, pass: pass, before: before, into: .superseded)
        }
        return nil
    }
    /// Whether the newest version's round comes to the member, and does not pass over it.
    func comesRound(to member: MemberID, of crowd: CrowdID, pass: Int, members: CrowdTable.Members) -> Bool {
        !self.audiences.crowds[crowd].passes[pass].skipped.contains(member)
            && self.audiences.crowds[crowd].passes[pass].isAhead(members.table.position(of: member))
    }

    private mutating func send(
        _ serving: Serving, of crowd: CrowdID, pass: Int, members: CrowdTable.Members,
        into request: inout PushRequest, now: EngineTime
    ) {
        let partition = self.audiences.crowds[crowd].partition
        let member = serving.member
        members.table.insertFlag(.isInFlight, of: member)
        let isHigh = serving.mayBeHigh && !self.hasMoved(member, to: crowd, members: members, now: now)
        if isHigh { self.audiences.crowds[crowd].lastHighMillis = now.steadyMillis }
        let id = self.audiences.pushes.make()
        let version = self.audiences.crowds[crowd].facts(isAlone: serving.isAlone)
        self.audiences.pushes[id].crowd = crowd
        self.audiences.pushes[id].crowdGeneration = self.audiences.crowds[crowd].generation
        self.audiences.pushes[id].pass = pass
        self.audiences.pushes[id].member = member
        self.audiences.pushes[id].partition = partition
        self.audiences.pushes[id].partitionGeneration = self.memory.partitions[partition].generation
        self.audiences.pushes[id].stampSeconds = version.stampSeconds
        // Whoever joined later has waited since.
        self.audiences.pushes[id].recordMillis = max(
            version.recordMillis, Int64(members.table.joinedSeconds(of: member)) * 1_000)
        self.audiences.pushes[id].sentMillis = now.steadyMillis
        self.audiences.pushes[id].priority = isHigh ? .high : .low
        self.audiences.pushes[id].alertStampSeconds =
            serving.hasAlert ? self.audiences.crowds[crowd].alert?.stampSeconds ?? 0 : 0
        self.audiences.pushes[id].alertsMissedSinceSeconds = serving.alertsMissedSinceSeconds
        self.audiences.pushes[id].mayBeHigh = serving.mayBeHigh
        self.audiences.pushes[id].isAlone = serving.isAlone
        self.audiences.pushes[id].app = self.audiences.crowds[crowd].app
        self.audiences.pushes[id].lane = self.audiences.crowds[crowd].passes[pass].lane
        self.audiences.pushes[id].attempt = serving.attempt
        self.audiences.pushes[id].apnsID = self.dispatch.makeUUID()
        self.audiences.pushLeft(id, crowd: crowd, pass: pass)
        self.memory.requestLeft(partition)
        self.memory.counters.pushesSent += 1
        self.memory.counters.memberPushesSent += 1
        if isHigh { self.memory.counters.pushesHighPriority += 1 }
        if serving.attempt > 0 { self.memory.counters.members.repeated += 1 }
        self.audiences.crowds[crowd].records.met()

        request.fill(
            .device, id: self.audiences.pushes.pushID(of: id), app: self.audiences.crowds[crowd].app,
            priority: isHigh ? .high : .low,
            expirationSeconds: version.expirationHeaderSeconds ?? now.wallSeconds
                + EventRules.expirationSeconds(of: version.kind),
            apnsID: self.audiences.pushes[id].apnsID
        ) {
            // The member's bytes stay while they are copied.
            let token = unsafe members.table.tokenBytes(member)
            Hex.append(unsafe Span(_unsafeElements: token), to: &$0)
        } body: {
            self.audiences.crowds[crowd].appendBody(
                hasAlert: serving.hasAlert, isAlone: serving.isAlone, to: &$0)
        }
    }
}

extension Crowd {
    /// What members get that are owed an alert or not. Made once for all.
    mutating func appendBody(hasAlert: Bool, isAlone: Bool, to body: inout [UInt8]) {
        if isAlone {
            if self.aloneBody.isEmpty { self.alert?.appendBody(alertOf: self.alert, to: &self.aloneBody) }
            body.append(contentsOf: self.aloneBody)
        } else if hasAlert {
            if self.alertBody.isEmpty { self.newest?.appendBody(alertOf: self.alert, to: &self.alertBody) }
            body.append(contentsOf: self.alertBody)
        } else {
            if self.plainBody.isEmpty { self.newest?.appendBody(alertOf: nil, to: &self.plainBody) }
            body.append(contentsOf: self.plainBody)
        }
    }
}

extension Pass {
    /// The next member may have priority 10 by some version.
    @inline(__always) func mayBeHigh(_ flags: MemberFlags) -> Bool {
        guard self.position >= self.highFrom else { return false }
        return self.position < (flags.contains(.isFrequent) ? self.frequentHighUntil : self.highUntil)
    }
    /// What `state` says of the pass does not hold here any more.
    @inline(__always) var isBeyondHorizon: Bool { self.position >= self.horizon }
}

import APNSProtocol
import PushModel

/// Members that are served (fan-out contract: Passes).
extension ShardEngine {
    /// Fills `request` with a push to the next member whose turn it is on this lane; `false`: there is none.
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
                    self.audiences.crowds[crowd].passes[reference.pass].course.isHigh
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
    private mutating func mayServe(_ crowd: CrowdID) -> Bool {
        let partition = self.audiences.crowds[crowd].partition
        return self.memory.partitions[partition].sends && self.memory.partitions[partition].mayPush
            && self.audiences.crowds[crowd].mayServe
    }
    /// The next member and what it is sent. It counts as met from now on.
    private mutating func nextServing(
        _ crowd: CrowdID, pass: Int, members: CrowdTable.Members, now: EngineTime
    ) -> MemberServing? {
        self.expireVersions(crowd, now: now)
        guard self.mayServe(crowd) else { return nil }
        var effects = ServingEffects()
        let serving = self.audiences.crowds[crowd].nextServing(
            pass: pass, distanceMillis: self.distanceMillis(crowd), nowMillis: now.steadyMillis, in: &members.table,
            effects: &effects)
        if !effects.isEmpty { self.count(effects, of: crowd) }
        return serving
    }
    /// Counts what became of members while the next was looked for.
    @inline(never) private mutating func count(_ effects: ServingEffects, of crowd: CrowdID) {
        if effects.isAloneReturned { self.carryOut(self.audiences.crowds[crowd].aloneReturned(), of: crowd) }
        if effects.owesNewestBeside {
            self.memory.counters.members.due += 1
            // A round that has met the member since may have left the version to what it waited for.
            self.audiences.crowds[crowd].returned()
            self.noteWaiting(1)
        }
        for _ in 0..<effects.aloneDeferredCount {
            self.carryOut(self.audiences.crowds[crowd].aloneDeferred(), of: crowd)
        }
        self.settle(
            effects.superseded, of: crowd, alertStampSeconds: self.audiences.crowds[crowd].alertStampSeconds,
            into: .superseded)
    }

    private mutating func send(
        _ serving: MemberServing, of crowd: CrowdID, pass: Int, members: CrowdTable.Members,
        into request: inout PushRequest, now: EngineTime
    ) {
        let partition = self.audiences.crowds[crowd].partition
        let member = serving.member
        members.table.insertFlag(.isInFlight, of: member)
        let isHigh = serving.mayBeHigh && !self.hasMoved(member, to: crowd, members: members, now: now)
        self.audiences.crowds[crowd].pushLeft(isHigh: isHigh, nowMillis: now.steadyMillis)
        let id = self.audiences.pushes.make()
        let version = self.audiences.crowds[crowd].versions.facts(isAlone: serving.isAlone)
        self.audiences.pushes[id].crowd = crowd
        self.audiences.pushes[id].crowdGeneration = self.audiences.crowds[crowd].generation
        self.audiences.pushes[id].pass = pass
        self.audiences.pushes[id].member = member
        self.audiences.pushes[id].partition = partition
        self.audiences.pushes[id].partitionGeneration = self.memory.partitions[partition].generation
        self.audiences.pushes[id].stampSeconds = version.stampSeconds
        // A member that joined later has waited since.
        self.audiences.pushes[id].recordMillis = max(
            version.recordMillis, Int64(members.table.joinedSeconds(of: member)) * 1_000)
        self.audiences.pushes[id].sentMillis = now.steadyMillis
        self.audiences.pushes[id].priority = isHigh ? .high : .low
        self.audiences.pushes[id].alertStampSeconds =
            serving.hasAlert ? self.audiences.crowds[crowd].alertStampSeconds : 0
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

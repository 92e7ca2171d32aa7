import APNSProtocol
import PushModel

/// How members are served (fan-out contract: Passes).
extension FanOut {
    /// Fills `request` with a push to the next member of this lane.
    /// - Returns: `false`: there is none.
    mutating func nextMemberPush(
        lane: LaneIndex, into request: inout PushRequest, in core: inout ShardCore, now: EngineTime
    ) -> Bool {
        while let reference = core.dispatch.lanes[lane].passes.first {
            let crowd = reference.crowd
            let isThere = self.crowds.isStanding(reference)
            if isThere, self.sendNext(reference, into: &request, in: &core, now: now) {
                core.dispatch.lanes[lane].passes.served()
                return true
            }
            core.dispatch.lanes[lane].passes.removeFirst()
            guard isThere else { continue }
            self.crowds[crowd].dequeued(reference)
            self.schedule(crowd, in: &core, now: now)
        }
        return false
    }
    /// Fills `request` with a push to the next member of a pass. The member counts as served from now on.
    /// - Returns: `false`: nobody can be served now.
    @inline(__always) private mutating func sendNext(
        _ reference: PassReference, into request: inout PushRequest, in core: inout ShardCore, now: EngineTime
    ) -> Bool {
        if reference.isStart { return self.sendNextStart(reference, into: &request, in: &core, now: now) }
        let (crowd, pass) = (reference.crowd, reference.pass)
        self.expireVersions(crowd, in: &core, now: now)
        guard self.crowds[crowd].mayServe, core.memory.mayPush(self.crowds[crowd]) else { return false }
        let members = self.crowds.members(of: crowd)
        var effects = ServingEffects()
        let serving = self.crowds[crowd].nextServing(
            pass: pass, distanceMillis: core.memory.distanceMillis(self.crowds[crowd]), nowMillis: now.steadyMillis,
            in: &members.table, effects: &effects)
        if !effects.isEmpty { self.count(effects, of: crowd, in: &core) }
        guard let serving else { return false }
        self.send(serving, of: crowd, pass: pass, members: members, into: &request, in: &core, now: now)
        if self.crowds[crowd].needsHorizon(pass: pass) {
            self.writeProgress(crowd, in: &core, now: now)
            core.journal.batch.isUrgent = true
        }
        return true
    }
    /// Counts changes in what members are owed. The search for the next member to serve found these changes.
    @inline(never) private mutating func count(_ effects: ServingEffects, of crowd: CrowdID, in core: inout ShardCore) {
        if effects.isAloneReturned { self.carryOut(self.crowds[crowd].aloneReturned(), of: crowd, in: &core) }
        if effects.owesNewestBeside {
            core.memory.counters.members.due += 1
            // While the member waited, the round may have met it and counted the newest version as superseded. That
            // count is taken back.
            self.crowds[crowd].returned()
            self.countWaiting(1, in: &core)
        }
        for _ in 0..<effects.aloneDeferredCount {
            self.carryOut(self.crowds[crowd].aloneDeferred(), of: crowd, in: &core)
        }
        self.settle(
            Crowd.Settled(
                members: effects.superseded, alertStampSeconds: self.crowds[crowd].alertStampSeconds),
            of: crowd, into: .superseded, in: &core)
    }

    private mutating func send(
        _ serving: MemberServing, of crowd: CrowdID, pass: Int, members: CrowdTable.Members,
        into request: inout PushRequest, in core: inout ShardCore, now: EngineTime
    ) {
        let member = serving.member
        members.table.insertFlag(.isInFlight, of: member)
        let isHigh = serving.mayBeHigh && !self.hasMoved(member, to: crowd, members: members, now: now)
        let id = self.pushes.make()
        let version = self.crowds[crowd].facts(of: serving)
        self.crowds[crowd].pushLeft(
            id, serving: serving, of: crowd, pass: pass, isHigh: isHigh, version: version,
            joinedSeconds: members.table.joinedSeconds(of: member), nowMillis: now.steadyMillis, in: &self.pushes)
        self.pushLeaves(id, in: &core)
        if !serving.failures.isNone { core.memory.counters.members.repeated += 1 }

        request.fill(
            .device, id: self.pushes.pushID(of: id), app: self.pushes[id].app, priority: self.pushes[id].priority,
            expirationSeconds: version.expirationHeaderSeconds ?? now.wallSeconds
                + EventRules.expirationSeconds(of: version.kind),
            apnsID: self.pushes[id].apnsID
        ) {
            // The token's bytes stay valid while they are copied.
            let token = unsafe members.table.tokenBytes(member)
            Hex.append(unsafe Span(_unsafeElements: token), to: &$0)
        } body: {
            self.crowds[crowd].appendBody(hasAlert: serving.hasAlert, isAlone: serving.isAlone, to: &$0)
        }
    }
    /// Counts a push of a version or a start, which leaves now. Gives the push its `apns-id`.
    @inline(__always) mutating func pushLeaves(_ id: MemberPushID, in core: inout ShardCore) {
        let partition = self.pushes[id].partition
        self.pushes[id].partitionGeneration = core.memory.partitions[partition].generation
        self.pushes[id].apnsID = core.dispatch.makeUUID()
        core.memory.requestLeft(partition)
        core.memory.counters.pushesSent += 1
        core.memory.counters.memberPushesSent += 1
        if self.pushes[id].priority == .high { core.memory.counters.pushesHighPriority += 1 }
    }
}

public import APNSProtocol
public import PushModel

/// Takes pushes that are ready to leave.
extension ShardEngine {
    /// Whether something may be sent on this route.
    public func hasReady(route: UInt16) -> Bool {
        self.core.journal.acknowledgements.openCount < self.core.memory.configuration.settings.unacknowledgedMax
            && (self.core.dispatch.hasReady(route: route) || self.core.errands.hasWaiting(route: route))
    }

    /// Takes the next request of a route, and fills `request` with it. Requests about channels go first, then lanes
    /// alternate. A lane sends what its slots have ready (`ReadyQueue`). Pushes to members leave now and then in
    /// between, and when no slot is ready. Returns `false` if nothing is ready.
    ///
    /// The request is in flight until `answered`. A slot's push that leaves with high priority takes a unit of the
    /// slot's budget.
    public mutating func nextPush(route: UInt16, into request: inout PushRequest, now: EngineTime) -> Bool {
        guard self.hasReady(route: route) else { return false }
        if self.core.errands.waitingCount > 0, self.nextChannelErrand(route: route, into: &request, now: now) {
            return true
        }
        for _ in 0..<self.core.dispatch.laneCount(route: route) {
            let lane = self.core.dispatch.nextLane(route: route)
            if self.core.dispatch.isPassNext(lane: lane),
                self.fanOut.nextMemberPush(lane: lane, into: &request, in: &self.core, now: now)
            {
                self.core.dispatch.topicProbeLeft(lane: lane, in: &self.core.memory, now: now)
                return true
            }
            while let slot = self.core.dispatch.popReady(lane: lane, in: &self.core.memory) {
                self.core.expire(slot, now: now)
                guard self.core.dispatch.readiness(slot, in: &self.core.memory, now: now) == .ready else {
                    self.core.dispatch.reschedule(slot, in: &self.core.memory, now: now)
                    continue
                }
                if self.announcesStart(slot, now: now) { continue }
                if self.core.memory.slots[slot].errand == .question {
                    self.ask(slot, request: &request, now: now)
                    self.core.dispatch.topicProbeLeft(lane: lane, in: &self.core.memory, now: now)
                    return true
                }
                self.send(slot, route: route, request: &request, now: now)
                self.core.dispatch.topicProbeLeft(lane: lane, in: &self.core.memory, now: now)
                self.core.dispatch.singleLeft(lane: lane)
                return true
            }
            if self.core.dispatch.hasPass(lane: lane),
                self.fanOut.nextMemberPush(lane: lane, into: &request, in: &self.core, now: now)
            {
                self.core.dispatch.topicProbeLeft(lane: lane, in: &self.core.memory, now: now)
                return true
            }
        }
        return false
    }

    /// Announces a start that has to be in `state` before it leaves.
    /// - Returns: whether the start has to wait for the record that announces it.
    private mutating func announcesStart(_ slot: SlotID, now: EngineTime) -> Bool {
        let update = self.core.memory.slots[slot].pending
        guard self.core.memory.updates[update].isStart, !self.core.memory.updates[update].isAnnounced,
            self.core.memory.app(of: slot).startOnUnknown == .drop
        else { return false }
        self.core.memory.announceStart(update, of: slot)
        self.core.journal.requireStateRecord(slot, in: &self.core.memory, now: now)
        self.core.journal.flushNow(now: now)
        self.core.dispatch.reschedule(slot, in: &self.core.memory, now: now)
        return true
    }

    private mutating func send(_ slot: SlotID, route: UInt16, request: inout PushRequest, now: EngineTime) {
        let update = self.core.memory.slots[slot].pending
        self.core.memory.giveStampForAttempt(update, of: slot)
        self.core.dispatch.departed(update, in: &self.core.memory, now: now)
        self.core.coalescer.putInFlight(slot, in: &self.core.memory)
        PushComposer.fill(&request, update: update, in: &self.core.memory, now: now)
        if self.core.memory.updates[update].top.isTraced { self.core.memory.addSent(update, request, route: route) }
        if request.kind == .broadcast { self.core.dispatch.broadcastDeparted(slot, in: &self.core.memory, now: now) }
        self.core.dispatch.reschedule(slot, in: &self.core.memory, now: now)
    }

    // MARK: Versions

    /// Whether an audience's slot waits to make a version.
    public var hasVersionsReady: Bool { self.core.dispatch.readyVersionCount > 0 }
    /// Makes the versions that are ready. Each version is sent to partitions only after `state` has it.
    public mutating func publishVersions(now: EngineTime) {
        self.publisher.publishVersions(in: &self.core, now: now)
    }
}

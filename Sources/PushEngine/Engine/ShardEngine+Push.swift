public import APNSProtocol
public import PushModel

/// Takes pushes that are ready to leave.
extension ShardEngine {
    /// Whether something may be sent on this route.
    public func hasReady(route: UInt16) -> Bool {
        self.journal.acknowledgements.openCount < self.memory.configuration.settings.unacknowledgedMax
            && (self.dispatch.hasReady(route: route) || self.errands.hasWaiting(route: route))
    }

    /// Takes the next push of a route: apps in turn, high before low, oldest first. Fills `request`; `false`: nothing
    /// is ready.
    ///
    /// From here until `answered` the push is in flight. A budget unit is taken if it leaves with high priority.
    public mutating func nextPush(route: UInt16, into request: inout PushRequest, now: EngineTime) -> Bool {
        guard self.hasReady(route: route) else { return false }
        if self.errands.waitingCount > 0, self.nextChannelErrand(route: route, into: &request, now: now) { return true }
        for _ in 0..<self.dispatch.laneCount(route: route) {
            let lane = self.dispatch.nextLane(route: route)
            if self.dispatch.isPassNext(lane: lane), self.nextMemberPush(lane: lane, into: &request, now: now) {
                self.dispatch.topicProbeLeft(lane: lane, in: &self.memory, now: now)
                return true
            }
            while let slot = self.dispatch.popReady(lane: lane, in: &self.memory) {
                self.expire(slot, now: now)
                guard self.dispatch.readiness(slot, in: &self.memory, now: now) == .ready else {
                    self.dispatch.reschedule(slot, in: &self.memory, now: now)
                    continue
                }
                if self.announcesStart(slot, now: now) { continue }
                if self.memory.slots[slot].errand == .question {
                    self.ask(slot, request: &request, now: now)
                    self.dispatch.topicProbeLeft(lane: lane, in: &self.memory, now: now)
                    return true
                }
                self.send(slot, route: route, request: &request, now: now)
                self.dispatch.topicProbeLeft(lane: lane, in: &self.memory, now: now)
                self.dispatch.singleLeft(lane: lane)
                return true
            }
            if self.dispatch.hasPass(lane: lane), self.nextMemberPush(lane: lane, into: &request, now: now) {
                self.dispatch.topicProbeLeft(lane: lane, in: &self.memory, now: now)
                return true
            }
        }
        return false
    }

    /// Announces a start that has to be in `state` before it leaves.
    /// - Returns: whether that record is written first.
    private mutating func announcesStart(_ slot: SlotID, now: EngineTime) -> Bool {
        let update = self.memory.slots[slot].pending
        guard self.memory.updates[update].isStart, !self.memory.updates[update].isAnnounced,
            self.memory.app(of: slot).startOnUnknown == .drop
        else { return false }
        self.memory.announceStart(update, of: slot)
        self.journal.requireStateRecord(slot, in: &self.memory, now: now)
        self.journal.flushNow(now: now)
        self.dispatch.reschedule(slot, in: &self.memory, now: now)
        return true
    }

    private mutating func send(_ slot: SlotID, route: UInt16, request: inout PushRequest, now: EngineTime) {
        let update = self.memory.slots[slot].pending
        self.memory.giveStampForAttempt(update, of: slot)
        self.dispatch.departed(update, in: &self.memory, now: now)
        self.coalescer.putInFlight(slot, in: &self.memory)
        PushComposer.fill(&request, update: update, in: &self.memory, now: now)
        if self.memory.updates[update].top.isTraced { self.noteSent(update, request, route: route) }
        if request.kind == .broadcast { self.dispatch.broadcastDeparted(slot, in: &self.memory, now: now) }
        self.dispatch.reschedule(slot, in: &self.memory, now: now)
    }
}

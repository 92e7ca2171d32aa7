public import APNSProtocol
public import PushModel

extension ShardEngine {
    /// Something may be sent on this route.
    public func hasReady(route: UInt16) -> Bool {
        guard Int(route) < self.routes.count, self.acknowledgements.openCount < self.configuration.unacknowledgedMax
        else { return false }
        for lane in self.routes[Int(route)].lanes {
            if self.lanes[lane].readyCount > 0, !self.lanes[lane].gate.isClosed { return true }
        }
        return false
    }

    /// Takes the next push of a route: apps in turn, high before low, oldest first. Fills `request`; false: nothing is ready.
    ///
    /// From here until `answered` the push is in flight; a budget unit is taken if it leaves with high priority.
    public mutating func nextPush(route: UInt16, into request: inout PushRequest, now: EngineTime) -> Bool {
        guard self.hasReady(route: route) else { return false }
        let count = self.routes[Int(route)].lanes.count
        for _ in 0..<count {
            let turn = self.routes[Int(route)].turn
            self.routes[Int(route)].turn = turn + 1 == count ? 0 : turn + 1
            let lane = self.routes[Int(route)].lanes[turn]
            while self.lanes[lane].readyCount > 0, !self.lanes[lane].gate.isClosed {
                guard
                    let entry = self.lanes[lane].ready.popFirst(
                        agingMillis: self.configuration.agingMillis, slots: self.slots)
                else { break }
                self.leaveReadyQueue(entry.slot)
                self.expireContent(entry.slot, now: now)
                guard self.readiness(entry.slot, now: now) == .ready else {
                    self.reschedule(entry.slot, now: now)
                    continue
                }
                if self.announcesStart(entry.slot, now: now) { continue }
                self.send(entry.slot, request: &request, now: now)
                if self.lanes[lane].gate.isWatching { self.topicProbeLeft(lane: lane, now: now) }
                return true
            }
        }
        return false
    }

    /// A second card is worse than none (contract §4): before a start leaves, `state` says that it may have, and with which stamp.
    /// True: that record comes first.
    private mutating func announcesStart(_ slot: SlotID, now: EngineTime) -> Bool {
        let update = self.slots[slot].pending
        guard self.updates[update].isStart, !self.updates[update].isAnnounced,
            self.app(of: slot).startOnUnknown == .drop
        else { return false }
        self.giveStamp(update, of: slot)
        self.updates[update].isAnnounced = true
        self.requireStateRecord(slot, now: now)
        self.stateFlushAtMillis = now.steadyMillis
        self.reschedule(slot, now: now)
        return true
    }

    private mutating func giveStamp(_ update: UpdateID, of slot: SlotID) {
        // The device drops what is not newer than what it has.
        var stamp = max(self.updates[update].top.stampFloorSeconds, self.slots[slot].lastStampSeconds + 1)
        if self.updates[update].containsReplay {
            stamp = self.stampPastUnrecorded(slot, floorSeconds: self.updates[update].top.stampFloorSeconds)
        }
        self.updates[update].stampSeconds = stamp
        self.slots[slot].lastStampSeconds = stamp
    }

    /// Past the one push of each owner before that may have gone unrecorded: of several that died one after the other each has gone
    /// one further. The time of the assignment helps where their markers are gone.
    private func stampPastUnrecorded(_ slot: SlotID, floorSeconds: Int64) -> Int64 {
        let partition = self.slots[slot].partition
        let assigned = max(self.partitions[partition].assignedWallMillis, self.partitions[partition].stampBaseMillis)
        let further = max(1, self.partitions[partition].takeoversRead)
        return max(
            floorSeconds + further, self.slots[slot].lastStampSeconds + 1 + further, assigned / 1_000 + 2)
    }

    /// An event that an owner before may have sent ends without being sent again. No record tells of the stamp it may have left with:
    /// whatever comes next is stamped past it, by the next owner too.
    mutating func passUnrecordedStamp(_ slot: SlotID, floorSeconds: Int64, now: EngineTime) {
        self.slots[slot].lastStampSeconds = self.stampPastUnrecorded(slot, floorSeconds: floorSeconds)
        self.markDirty(slot, now: now)
    }

    private mutating func send(_ slot: SlotID, request: inout PushRequest, now: EngineTime) {
        let update = self.slots[slot].pending
        let isStart = self.updates[update].isStart
        let isEnd = self.updates[update].isEnd
        var priority = self.updates[update].priority
        if priority == .high {
            let limit = self.budgetLimit(slot, update: update)
            if self.budgets.spent(&self.slots[slot].budget, nowMillis: now.steadyMillis) < limit {
                self.budgets.take(&self.slots[slot].budget)
                self.counters.pushesHighPriority += 1
            } else {
                priority = .low
                self.counters.pushesDowngraded += 1
            }
        }
        self.updates[update].stampBeforeSeconds = nil
        if self.updates[update].stampSeconds == nil {
            self.updates[update].stampBeforeSeconds = self.slots[slot].lastStampSeconds
            self.giveStamp(update, of: slot)
        }
        self.updates[update].sequence &+= 1
        self.updates[update].sentMillis = now.steadyMillis
        self.updates[update].sentPriority = priority
        self.updates[update].tokenGeneration = self.slots[slot].tokenGeneration
        self.updates[update].apnsID = self.makeUUID()
        self.updates[update].notBeforeOfPrevious = self.slots[slot].notBeforeMillis
        self.slots[slot].notBeforeMillis =
            now.steadyMillis + self.configuration.apps[Int(self.slots[slot].app)].minimumDistanceMillis
        self.changeWork(slot) {
            $0.inFlight = update
            $0.pending = $0.behind
            $0.behind = .none
        }
        self.partitions[self.slots[slot].partition].inFlightCount += 1
        self.counters.inFlight += 1
        self.counters.pushesSent += 1
        self.fill(&request, slot: slot, update: update, kind: isStart ? .start : isEnd ? .end : .update, now: now)
        self.reschedule(slot, now: now)
    }

    private mutating func fill(
        _ request: inout PushRequest, slot: SlotID, update: UpdateID, kind: EventKind, now: EngineTime
    ) {
        request.id = self.updates.pushID(of: update)
        request.app = self.slots[slot].app
        request.priority = self.updates[update].sentPriority
        request.apnsID = self.updates[update].apnsID
        request.expirationSeconds =
            self.updates[update].start.first?.expiresSeconds ?? self.updates[update].top.expirationHeaderSeconds
            ?? now.wallSeconds + EventRules.expirationSeconds(of: kind)
        request.tokenHex.removeAll(keepingCapacity: true)
        request.body.removeAll(keepingCapacity: true)
        let stamp = self.updates[update].stampSeconds ?? 0
        if let start = self.updates[update].start.first {
            self.updates[update].tokenHash = Self.tokenHash(start.token.span)
            Hex.append(start.token.span, to: &request.tokenHex)
            let (blob, content) = Self.combine(self.updates[update].top, start)
            PayloadWriter.append(
                kind: .start, stampSeconds: stamp, content: content, source: blob.span,
                alert: blob.span.extracting(self.updates[update].top.alert.range), to: &request.body)
        } else {
            // Nothing here changes the slot's token.
            let tokenBytes = unsafe self.tokenBytes(slot)
            let token = unsafe Span(_unsafeElements: tokenBytes)
            self.updates[update].tokenHash = Self.tokenHash(token)
            Hex.append(token, to: &request.tokenHex)
            let content = self.updates[update].top.content
            let alert = self.updates[update].top.alert.range
            PayloadWriter.append(
                kind: kind, stampSeconds: stamp, content: content, source: self.updates[update].top.blob.span,
                alert: self.updates[update].top.blob.span.extracting(alert), to: &request.body)
        }
    }

    /// A random UUID (RFC 9562 §5.4, version 4).
    private mutating func makeUUID() -> (UInt64, UInt64) {
        let high = (self.random.next() & 0xffff_ffff_ffff_0fff) | 0x0000_0000_0000_4000
        let low = (self.random.next() & 0x3fff_ffff_ffff_ffff) | 0x8000_0000_0000_0000
        return (high, low)
    }
}

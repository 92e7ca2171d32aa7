import PushModel

/// Takes the starts of an audience at its owner (fan-out contract: Starts of an audience). For update members, a
/// start is an update without an alert, and its content is merged like that of any other update. The start itself waits
/// unmerged for the next version. The start does not take over an earlier alert, and does not pass on its own alert.
extension AudiencePublisher {
    /// Checks a start. An earlier start that has expired unsent makes room for the new one.
    /// - Returns: why nobody can be started with the event; `nil`: the event can be taken.
    mutating func startRefusal(_ slot: SlotID, in core: inout ShardCore, now: EngineTime) -> OutcomeDetails.Cause? {
        self.dropExpiredStart(of: slot, in: &core, now: now)
        if core.intake.startExpiresSeconds(now: now) <= now.wallSeconds { return .startExpired }
        return core.intake.event.staleDateSeconds ?? .max <= now.wallSeconds ? .startStale : nil
    }
    /// Publishes the end of the former life, if one waits when a start arrives. This happens when a log that has an end
    /// and a start was not read for a while. The end becomes a version at once, and the start begins a new life.
    /// Otherwise the start would be a `duplicate` in a life that is about to end.
    ///
    /// The version need not wait until the partition has caught up. Versions leave only after `state` has them, so a
    /// version that a former owner sent would be known here. The start gets its entry in the ledger later, because the
    /// `state` record with this version does not contain the start.
    mutating func publishWaitingEnd(_ slot: SlotID, in core: inout ShardCore, now: EngineTime) {
        guard core.memory.slots[slot].life == .ending else { return }
        core.expire(slot, now: now)
        let update = core.memory.slots[slot].pending
        guard core.memory.slots[slot].life == .ending, update.isSome, core.memory.updates[update].isEnd,
            core.memory.owners[slot].openCount
                < AudienceOwner.publicationsMax + AudienceOwner.endsBeforeStartsMax
        else { return }
        self.publish(slot, in: &core, now: now)
    }
    /// Keeps the start, whose content is in `scratchLayer`, for the next version. After the call, `scratchLayer` has
    /// what update members get.
    mutating func keepStart(_ part: StartPart, of slot: SlotID, in core: inout ShardCore) {
        var order = StartOrder()
        order.expiresSeconds = part.expiresSeconds
        order.isHigh = core.intake.event.priority == .high
        order.layer = core.coalescer.scratchLayer
        (order.layer.blob, order.layer.content) = core.coalescer.scratchLayer.combined(with: part)
        core.memory.owners[slot].startCame(order)
        core.coalescer.scratchLayer.alert = ByteRange()
        let accepted = core.memory.slots[slot].lastAcceptedSeconds
        if core.coalescer.scratchLayer.timestampSeconds < accepted, let newest = core.memory.owners[slot].newestVersion,
            !newest.isEnd
        {
            // The start's content is older than what update members were sent, so they keep the newer content.
            core.coalescer.scratchLayer.show(newest.layer.content, of: newest.layer.blob.span)
            core.coalescer.scratchLayer.timestampSeconds = accepted
        }
        core.coalescer.scratchLayer.dropUncoveredBytes()
    }
    private mutating func dropExpiredStart(of slot: SlotID, in core: inout ShardCore, now: EngineTime) {
        let pending = core.memory.slots[slot].pending
        let staleSeconds = pending.isSome ? core.memory.updates[pending].staleSeconds : .max
        guard core.memory.owners[slot].dropExpiredStart(staleSeconds: staleSeconds, now: now) else { return }
        core.memory.rememberFailedStart(slot, outcome: .expired, timestampSeconds: 0)
    }
}

extension Layer {
    /// Replaces the layer's content-state, relevance score and stale date with those of other content.
    fileprivate mutating func show(_ other: PayloadContent, of source: Span<UInt8>) {
        self.content.contentState = self.append(source.extracting(other.contentState.range))
        self.content.relevanceScore = self.append(source.extracting(other.relevanceScore.range))
        self.content.staleDateSeconds = other.staleDateSeconds
    }
}

import PushModel

/// Starts at the owner of their audience (fan-out, "`start` to start members"). For update members a start's content is
/// an update without an alert, and is merged like one. The start itself waits beside it, whole, for the next version.
/// It neither takes over an alert nor gives its own away.
extension ShardEngine {
    /// Checks a start. An earlier one that has not gone out in time makes room for it.
    /// - Returns: why nobody can be started with the event; `nil`: it is in time.
    mutating func startRefusal(_ slot: SlotID, now: EngineTime) -> OutcomeDetails.Cause? {
        self.dropExpiredStart(of: slot, now: now)
        if self.intake.startExpiresSeconds(now: now) <= now.wallSeconds { return .startExpired }
        return self.intake.event.staleDateSeconds ?? .max <= now.wallSeconds ? .startStale : nil
    }
    /// Publishes the end of the former life, if one waits when a start arrives. Both can be in a log that was not read
    /// for a while. The end becomes a version at once, and the start begins a new life. Otherwise the start would be a
    /// `duplicate` of a life that is about to be over.
    ///
    /// It does not wait until the partition has caught up: a version leaves only after `state` has it, so no former
    /// owner has sent another. The start has no place in the ledger yet: the record that the version asks for does not
    /// mention the start.
    mutating func publishWaitingEnd(_ slot: SlotID, now: EngineTime) {
        guard self.memory.slots[slot].life == .ending else { return }
        self.expire(slot, now: now)
        let update = self.memory.slots[slot].pending
        guard self.memory.slots[slot].life == .ending, update.isSome, self.memory.updates[update].isEnd,
            self.memory.owners[slot].openCount
                < AudienceOwner.publicationsMax + AudienceOwner.endsBeforeStartsMax
        else { return }
        self.publish(slot, now: now)
    }
    /// Keeps the start in `scratchLayer` for the next version. What stays in `scratchLayer` is for update members.
    mutating func keepStart(_ part: StartPart, of slot: SlotID) {
        var order = StartOrder()
        order.expiresSeconds = part.expiresSeconds
        order.isHigh = self.intake.event.priority == .high
        order.layer = self.coalescer.scratchLayer
        (order.layer.blob, order.layer.content) = self.coalescer.scratchLayer.combined(with: part)
        self.memory.owners[slot].startCame(order)
        self.coalescer.scratchLayer.alert = ByteRange()
        let accepted = self.memory.slots[slot].lastAcceptedSeconds
        if self.coalescer.scratchLayer.timestampSeconds < accepted, let newest = self.memory.owners[slot].newestVersion,
            !newest.isEnd
        {
            // Its content is older than what update members were sent, which they keep.
            self.coalescer.scratchLayer.show(newest.layer.content, of: newest.layer.blob.span)
            self.coalescer.scratchLayer.timestampSeconds = accepted
        }
        self.coalescer.scratchLayer.dropUncoveredBytes()
    }
    private mutating func dropExpiredStart(of slot: SlotID, now: EngineTime) {
        let pending = self.memory.slots[slot].pending
        let staleSeconds = pending.isSome ? self.memory.updates[pending].staleSeconds : .max
        guard self.memory.owners[slot].dropExpiredStart(staleSeconds: staleSeconds, now: now) else { return }
        self.memory.noteFailedStart(slot, outcome: .expired, timestampSeconds: 0)
    }
}

extension Layer {
    /// Replaces the layer's content by another.
    fileprivate mutating func show(_ other: PayloadContent, of source: Span<UInt8>) {
        self.content.contentState = self.append(source.extracting(other.contentState.range))
        self.content.relevanceScore = self.append(source.extracting(other.relevanceScore.range))
        self.content.staleDateSeconds = other.staleDateSeconds
    }
}

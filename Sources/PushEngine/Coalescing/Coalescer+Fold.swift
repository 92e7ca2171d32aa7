import PushModel

/// Merges one event into an update that has not left.
extension Coalescer {
    /// Merges the event in `scratchLayer`, which arrived later, into an update.
    /// - Returns: `false` if nothing was changed, because the event is too large with what it has to carry. It carries
    ///   the older alert, and an `end` without content also carries the older content.
    /// - Parameter carries: if `false`, the event carries nothing, and always fits.
    /// - Parameter carried: the layer to carry from; `nil`: the newest event of the update.
    mutating func fold(
        into update: UpdateID, mergedCount: UInt32, priority: PushPriority, isReplay: Bool, carries: Bool,
        from carried: Layer? = nil, in memory: inout ShardMemory
    ) -> Bool {
        let slot = memory.updates[update].slot
        if !self.scratchLayer.isEnd, self.scratchLayer.timestampSeconds < memory.updates[update].top.timestampSeconds {
            self.foldOlder(into: update, priority: priority, in: &memory)
            memory.updates[update].containsReplay = memory.updates[update].containsReplay || isReplay
            memory.updates[update].mergedCount += mergedCount
            return true
        }
        if carried == nil, self.replaces(update, in: memory) {
            self.replaceTop(of: update, mergedCount: mergedCount, priority: priority, isReplay: isReplay, in: &memory)
            return true
        }
        let top = memory.updates[update].top
        self.scratchLayer.dropUncoveredBytes()
        let own = self.scratchLayer.parts
        // Parts that the event took over earlier may be older than the event that it replaces now.
        self.scratchLayer.dropInherited(olderThan: (carried ?? top).timestampSeconds)
        let hadAlert = !self.scratchLayer.alert.isEmpty
        if carries { self.scratchLayer.inherit(from: carried ?? top) }
        let inherits = !hadAlert && !self.scratchLayer.alert.isEmpty
        guard
            self.scratchLayer.payloadByteCount(start: memory.updates[update].start.first)
                <= memory.payloadByteCountMax(of: slot)
        else {
            self.scratchLayer.parts = own
            return false
        }
        self.scratchLayer.stampFloorSeconds = max(self.scratchLayer.stampFloorSeconds, top.stampFloorSeconds)
        let expires = self.scratchLayer.expiresSeconds
        let into = self.scratchLayer.source
        self.dropUnder(of: update, notOutliving: expires, into: into, in: &memory)
        if top.expiresSeconds > expires {
            if self.keepBeneath(top, of: update, into: into, in: &memory) { self.scratchLayer.mayBeSent = true }
        } else {
            // If the replaced event may be on the phone already, the event that replaces it counts as perhaps there,
            // too.
            if top.mayBeSent { self.scratchLayer.mayBeSent = true }
            self.supersede(
                top, of: slot, into: into, keepsAlert: inherits,
                keepsPriority: memory.updates[update].priority > priority, in: &memory)
        }
        swap(&memory.updates[update].top, &self.scratchLayer)
        memory.updates[update].mergedCount += mergedCount
        memory.updates[update].priority = max(memory.updates[update].priority, priority)
        memory.updates[update].containsReplay = memory.updates[update].containsReplay || isReplay
        memory.updates[update].stampSeconds = nil
        return true
    }

    /// Whether the short way of `fold` is enough: the event replaces the newest one as a whole, and no outcome record
    /// of the replaced event is wanted. The event fits, because that was checked when it was taken.
    private func replaces(_ update: UpdateID, in memory: borrowing ShardMemory) -> Bool {
        guard memory.updates[update].under.isEmpty, memory.updates[update].start.isEmpty,
            memory.updates[update].top.expiresSeconds <= self.scratchLayer.expiresSeconds,
            !self.scratchLayer.hasInherited
        else { return false }
        let carriesAlert = self.scratchLayer.alert.isEmpty && !memory.updates[update].top.alert.isEmpty
        let carriesContent = self.scratchLayer.isEnd && self.scratchLayer.content.contentState.isEmpty
        return !carriesAlert && !carriesContent && self.takesShorterWays
    }

    private mutating func replaceTop(
        of update: UpdateID, mergedCount: UInt32, priority: PushPriority, isReplay: Bool, in memory: inout ShardMemory
    ) {
        memory.counters.eventsMerged += 1
        memory.counters.pending -= 1
        memory.counters.outcomes[Int(Outcome.superseded.rawValue)] += 1
        if memory.updates[update].top.mayBeSent { self.scratchLayer.mayBeSent = true }
        self.scratchLayer.stampFloorSeconds = max(
            self.scratchLayer.stampFloorSeconds, memory.updates[update].top.stampFloorSeconds)
        if memory.updates[update].top.isTraced { self.markReplaced(update, by: self.scratchLayer.source, in: &memory) }
        swap(&memory.updates[update].top, &self.scratchLayer)
        memory.updates[update].mergedCount += mergedCount
        memory.updates[update].priority = max(memory.updates[update].priority, priority)
        if isReplay { memory.updates[update].containsReplay = true }
        memory.updates[update].stampSeconds = nil
    }

    /// Merges an event that is older than the newest event of the update. The device would ignore the older event,
    /// unless everything newer expires unsent.
    private mutating func foldOlder(into update: UpdateID, priority: PushPriority, in memory: inout ShardMemory) {
        let slot = memory.updates[update].slot
        var layer = self.scratchLayer
        memory.updates[update].priority = max(memory.updates[update].priority, priority)
        var index = memory.updates[update].under.count
        while index > 0, memory.updates[update].under[index - 1].timestampSeconds > layer.timestampSeconds {
            index -= 1
        }
        let alert = layer.alert.isEmpty ? self.alertBeneath(layer, below: index, in: update, in: memory) : nil
        if let alert {
            // As in `fold`, this event takes over an alert from an event beneath it, if alert and content fit together.
            layer.dropUncoveredBytes()
            let own = layer.parts
            layer.inherit(from: memory.updates[update].under[alert])
            if layer.payloadByteCount(start: memory.updates[update].start.first) > memory.payloadByteCountMax(of: slot)
            {
                layer.parts = own
            }
        }
        var outlives = layer.expiresSeconds > memory.updates[update].top.expiresSeconds
        for newer in index..<memory.updates[update].under.count
        where memory.updates[update].under[newer].expiresSeconds >= layer.expiresSeconds {
            outlives = false
        }
        guard outlives, memory.updates[update].under.count < Update.underMax else {
            let into = memory.updates[update].top.source
            if layer.mayBeSent { memory.updates[update].top.mayBeSent = true }
            return self.supersede(
                layer, of: slot, into: into, keepsAlert: false, keepsPriority: priority == .high, in: &memory)
        }
        memory.updates[update].under.insert(layer, at: index)
        // An event beneath `layer` can never be shown if it does not expire later than `layer`. One such event is kept
        // if its alert does not fit beside the content of `layer`. One is also kept if a start can leave with it, but
        // not with `layer`.
        var kept: Int?
        if memory.updates[update].isStart {
            kept = self.startable(below: index, beneath: layer, in: update, in: memory)
        } else if layer.alert.isEmpty {
            kept = alert
        }
        var below = index - 1
        while below >= 0 {
            if below != kept, memory.updates[update].under[below].expiresSeconds <= layer.expiresSeconds {
                let dropped = memory.updates[update].under.remove(at: below)
                // Removing the event has moved `layer` down by one.
                if dropped.mayBeSent { memory.updates[update].under[index - 1].mayBeSent = true }
                index -= 1
                self.supersede(
                    dropped, of: slot, into: layer.source, keepsAlert: false, keepsPriority: false, in: &memory)
            }
            below -= 1
        }
    }

    /// Index of the newest event beneath `index` whose alert a device would show before the content of `layer`. An
    /// event does not count if it arrived out of order: after `layer`, or after an event between the two.
    private func alertBeneath(_ layer: Layer, below index: Int, in update: UpdateID, in memory: borrowing ShardMemory)
        -> Int?
    {
        var earliest = layer.arrival
        for below in (0..<index).reversed() where memory.updates[update].under[below].arrival <= earliest {
            if !memory.updates[update].under[below].alert.isEmpty { return below }
            earliest = memory.updates[update].under[below].arrival
        }
        return nil
    }

    /// Whether a start may leave with the event: it has an alert, and fits beside the start's attributes.
    private func isStartable(_ layer: Layer, in update: UpdateID, in memory: borrowing ShardMemory) -> Bool {
        !layer.alert.isEmpty
            && layer.payloadByteCount(start: memory.updates[update].start.first)
                <= memory.payloadByteCountMax(of: memory.updates[update].slot)
    }

    /// Index of the newest event below `index` with which a start can leave, if it cannot leave with `layer`. `nil`:
    /// the start leaves with `layer`, or has no event to leave with.
    private func startable(
        below index: Int, beneath layer: Layer, in update: UpdateID, in memory: borrowing ShardMemory
    ) -> Int? {
        guard !self.isStartable(layer, in: update, in: memory) else { return nil }
        return (0..<index).last { self.isStartable(memory.updates[update].under[$0], in: update, in: memory) }
    }

    /// Lets an older event go first if its alert does not fit beside the newest content, or beside the attributes of a
    /// start. The method is called after an event beneath has become the newest of the update. The older event goes
    /// first with its own content, and the newest content follows.
    mutating func letOlderGoFirst(_ update: UpdateID, of slot: SlotID, in memory: inout ShardMemory) {
        let top = memory.updates[update].top
        let end = memory.updates[update].under.count
        let older =
            memory.updates[update].isStart
            ? self.startable(below: end, beneath: top, in: update, in: memory)
            : top.alert.isEmpty ? self.alertBeneath(top, below: end, in: update, in: memory) : nil
        guard let index = older else { return }
        let priority = memory.updates[update].priority
        let isReplay = memory.updates[update].containsReplay
        let newer = memory.updates[update].under[(index + 1)...] + [memory.updates[update].top]
        memory.updates[update].top = memory.updates[update].under[index]
        memory.updates[update].under.removeSubrange(index...)
        for layer in newer {
            self.scratchLayer = layer
            if memory.slots[slot].behind.isNone {
                let behind = memory.updates.make(slot: slot)
                swap(&memory.updates[behind].top, &self.scratchLayer)
                memory.updates[behind].priority = priority
                memory.updates[behind].firstUnsentMillis = memory.updates[update].firstUnsentMillis
                memory.updates[behind].mergedCount = 1
                memory.updates[behind].containsReplay = isReplay
                memory.slots[slot].behind = behind
                continue
            }
            // An event that follows a start may carry the alert of an earlier event. Behind other updates there is no
            // alert to carry, and every event fits.
            for carries in memory.updates[update].isStart ? [true, false] : [false] {
                let fits = self.fold(
                    into: memory.slots[slot].behind, mergedCount: 1, priority: priority, isReplay: isReplay,
                    carries: carries, in: &memory)
                if fits { break }
            }
        }
    }

    /// Keeps an event beneath the newest event of an update. If there is no room, the oldest event beneath ends. The
    /// event that starts a card never ends in this way, because no card would appear if everything newer expired.
    /// - Parameter into: the record of the update's newest event.
    /// - Returns: whether the event that ended may be on the phone. The newest event then counts as perhaps there, too.
    mutating func keepBeneath(
        _ layer: Layer, of update: UpdateID, into: SourcePosition, in memory: inout ShardMemory
    ) -> Bool {
        var oldestMayBeSent = false
        if memory.updates[update].under.count == Update.underMax {
            let startsCard = memory.updates[update].isStart && memory.updates[update].under[0].isStart
            let oldest = memory.updates[update].under.remove(at: startsCard ? 1 : 0)
            oldestMayBeSent = oldest.mayBeSent
            self.supersede(
                oldest, of: memory.updates[update].slot, into: into, keepsAlert: false, keepsPriority: false,
                in: &memory)
        }
        memory.updates[update].under.append(layer)
        return oldestMayBeSent
    }

    private mutating func dropUnder(
        of update: UpdateID, notOutliving expires: Int64, into: SourcePosition, in memory: inout ShardMemory
    ) {
        guard !memory.updates[update].under.isEmpty else { return }
        let slot = memory.updates[update].slot
        var index = 0
        while index < memory.updates[update].under.count {
            if memory.updates[update].under[index].expiresSeconds <= expires {
                let dropped = memory.updates[update].under.remove(at: index)
                // If the dropped event may be on the phone already, the event that replaces it counts as perhaps there,
                // too.
                if dropped.mayBeSent { self.scratchLayer.mayBeSent = true }
                self.supersede(dropped, of: slot, into: into, keepsAlert: false, keepsPriority: false, in: &memory)
            } else {
                index += 1
            }
        }
    }
}

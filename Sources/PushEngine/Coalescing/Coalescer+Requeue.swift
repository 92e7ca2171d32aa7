import PushModel

/// Sorts a slot's updates after an attempt. Events that did not reach the device wait again. Events end if they are
/// older than what the device has.
extension Coalescer {
    /// Moves the pending update into flight.
    @inline(__always) mutating func putInFlight(_ slot: SlotID, in memory: inout ShardMemory) {
        memory.slots[slot].inFlight = memory.slots[slot].pending
        memory.slots[slot].pending = memory.slots[slot].behind
        memory.slots[slot].behind = .none
    }

    /// Puts the update that was in flight back. Events that arrived during the flight come after it.
    mutating func requeueInFlight(_ slot: SlotID, in memory: inout ShardMemory) {
        let failed = memory.slots[slot].inFlight
        let pending = memory.slots[slot].pending
        memory.slots[slot].inFlight = .none
        if memory.updates[failed].isChangedInFlight {
            memory.updates[failed].isChangedInFlight = false
            memory.updates[failed].stampSeconds = nil
        }
        guard pending.isSome else {
            memory.slots[slot].pending = failed
            return
        }
        if memory.updates[pending].isStart, !memory.updates[failed].isStart {
            // The failed update was meant for a card whose token has since been unregistered. The start makes another
            // card, so it supersedes the failed update.
            memory.updates[pending].mergedCount += memory.updates[failed].mergedCount
            self.supersedeAll(of: failed, into: memory.updates[pending].top.source, in: &memory)
            return memory.updates.release(failed)
        }
        self.putFirst(failed, of: slot, in: &memory)
    }

    /// Puts an update before the pending one. Merges the two as far as they fit together.
    mutating func putFirst(_ first: UpdateID, of slot: SlotID, in memory: inout ShardMemory) {
        let pending = memory.slots[slot].pending
        memory.slots[slot].pending = first
        let startGoesFirst = memory.updates[first].isStart && memory.updates[pending].isEnd
        let wasBehind = memory.slots[slot].behind
        if startGoesFirst {
            if wasBehind.isSome {
                // Nothing should follow an end. If something does, the state record was damaged.
                self.supersedeAll(of: wasBehind, intoNewestOf: pending, in: &memory)
                memory.updates.release(wasBehind)
            }
            memory.slots[slot].behind = pending
            return
        }
        // Each event of the pending update is merged into the update `first`, because the pending update is later.
        let priority = memory.updates[pending].priority
        let isReplay = memory.updates[pending].containsReplay
        let merged = memory.updates[pending].mergedCount
        // Events that arrived before the newest event are merged first, then the newest event. Events that arrived
        // after it are merged last, because the device would have ignored them as too old.
        let newestArrival = memory.updates[pending].top.arrival
        let under = memory.updates[pending].under
        let later = under.filter { $0.arrival > newestArrival }
        let earlier = under.indices.filter { under[$0].arrival <= newestArrival }
        memory.updates[pending].under = later
        // The pending update's newest event already carries what it needs from the earlier events beneath it. So it
        // takes over parts only from the first update's newest event.
        let carried = earlier.isEmpty ? nil : memory.updates[first].top
        for (count, index) in earlier.enumerated() {
            let layer = under[index]
            self.scratchLayer = layer
            if self.fold(
                into: first, mergedCount: 0, priority: priority, isReplay: isReplay, carries: true, in: &memory)
            {
                continue
            }
            if wasBehind.isNone, layer.expiresSeconds > memory.updates[pending].top.expiresSeconds {
                // The layer expires later than the newest event, but does not fit beside the first update's alert.
                // That alert goes first, and both events follow.
                let gone = earlier[..<count]
                memory.updates[pending].under = under.indices.filter { !gone.contains($0) }.map { under[$0] }
                memory.slots[slot].behind = pending
                return
            }
            if layer.mayBeSent { memory.updates[pending].top.mayBeSent = true }
            self.supersede(
                self.scratchLayer, of: slot, into: memory.updates[pending].top.source, keepsAlert: false,
                keepsPriority: false, in: &memory)
        }
        swap(&self.scratchLayer, &memory.updates[pending].top)
        if self.fold(
            into: first, mergedCount: merged, priority: priority, isReplay: isReplay, carries: true, from: carried,
            in: &memory)
        {
            for layer in later {
                self.scratchLayer = layer
                _ = self.fold(
                    into: first, mergedCount: 0, priority: priority, isReplay: isReplay, carries: true, in: &memory)
            }
            memory.updates.release(pending)
            self.foldOlderBehind(slot, into: first, in: &memory)
        } else {
            // The event is too large to go together with the first update's alert or attributes.
            swap(&self.scratchLayer, &memory.updates[pending].top)
            if wasBehind.isNone {
                memory.slots[slot].behind = pending
            } else if memory.updates[first].isStart {
                // Only two updates may wait, so `pending` ends. The update behind it has the newest content. The alert
                // of `pending` is dropped for lack of room.
                self.supersedeAll(of: pending, intoNewestOf: wasBehind, in: &memory)
                memory.updates.release(pending)
            } else {
                // Only two updates may wait, so `first` ends. `pending` and the update behind it have the newest alert
                // and the newest content.
                self.supersedeAll(of: first, intoNewestOf: pending, in: &memory)
                memory.updates.release(first)
                memory.slots[slot].pending = pending
            }
        }
    }

    /// Merges the two waiting updates of a slot where they fit together. A former owner may have sent both as one,
    /// without a record. If only the first were sent now, the phone would go back to older content.
    mutating func putTogether(_ slot: SlotID, in memory: inout ShardMemory) {
        self.putInFlight(slot, in: &memory)
        self.requeueInFlight(slot, in: &memory)
    }

    /// Merges `behind` into the failed update if the newest event of `behind` is older than the failed update's newest
    /// event. The device would ignore `behind` after the failed update.
    private mutating func foldOlderBehind(_ slot: SlotID, into failed: UpdateID, in memory: inout ShardMemory) {
        let behind = memory.slots[slot].behind
        guard behind.isSome, !memory.updates[failed].isStart, !memory.updates[behind].isEnd,
            memory.updates[behind].top.timestampSeconds < memory.updates[failed].top.timestampSeconds
        else { return }
        self.foldBehind(slot, into: failed, in: &memory)
    }

    /// Merges the update `behind` into the update that goes first. The two must fit together.
    mutating func foldBehind(_ slot: SlotID, into first: UpdateID, in memory: inout ShardMemory) {
        let behind = memory.slots[slot].behind
        let (priority, isReplay) = (memory.updates[behind].priority, memory.updates[behind].containsReplay)
        memory.slots[slot].behind = .none
        let (top, under) = (memory.updates[behind].top, memory.updates[behind].under)
        // Events that arrived before the newest event are merged first, then the newest event. Events that arrived
        // after it are merged last, because the device would have ignored them as too old.
        let layers = under.filter { $0.arrival <= top.arrival } + [top] + under.filter { $0.arrival > top.arrival }
        for (index, layer) in layers.enumerated() {
            self.scratchLayer = layer
            let mergedCount = index == 0 ? memory.updates[behind].mergedCount : 0
            let fits = self.fold(
                into: first, mergedCount: mergedCount, priority: priority, isReplay: isReplay, carries: true,
                in: &memory)
            if fits { continue }
            // Without an alert to carry, the event always fits.
            _ = self.fold(
                into: first, mergedCount: mergedCount, priority: priority, isReplay: isReplay, carries: false,
                in: &memory)
        }
        memory.updates.release(behind)
    }

    /// Drops waiting events that are older than the newest event that APNs has accepted, because the device would
    /// ignore them. An `end`, and a start with its events, stay.
    @inline(__always) mutating func dropOlderThanAccepted(_ slot: SlotID, in memory: inout ShardMemory) {
        let accepted = memory.slots[slot].lastAcceptedSeconds
        if memory.slots[slot].pending.isSome { self.dropPending(slot, olderThan: accepted, in: &memory) }
    }

    private mutating func dropPending(_ slot: SlotID, olderThan accepted: Int64, in memory: inout ShardMemory) {
        for update in [memory.slots[slot].pending, memory.slots[slot].behind] where update.isSome {
            guard !memory.updates[update].isStart else { continue }
            while let first = memory.updates[update].under.first, first.timestampSeconds < accepted, !first.isEnd {
                memory.updates[update].under.removeFirst()
                self.supersede(first, of: slot, into: nil, keepsAlert: false, keepsPriority: false, in: &memory)
            }
            for layer in memory.updates[update].under.indices {
                memory.updates[update].under[layer].dropInherited(olderThan: accepted)
            }
            memory.updates[update].top.dropInherited(olderThan: accepted)
            guard !memory.updates[update].top.isEnd, memory.updates[update].top.timestampSeconds < accepted else {
                continue
            }
            self.supersedeAll(of: update, into: nil, in: &memory)
            self.dropUpdate(update, of: slot, in: &memory)
        }
    }

    /// Marks the attempt to send an update as unanswered: the update's newest event may be on the phone.
    /// - Parameter dropsAlert: whether the update's alert must not sound a second time.
    mutating func markUnknown(_ update: UpdateID, dropsAlert: Bool, in memory: inout ShardMemory) {
        memory.updates[update].countUnansweredAttempt()
        if dropsAlert { memory.updates[update].dropAlert() }
    }

    /// Sets for all events of the update whether a former owner may have sent them.
    func mark(_ update: UpdateID, mayBeSent: Bool, in memory: inout ShardMemory) {
        memory.updates[update].top.mayBeSent = mayBeSent
        for layer in memory.updates[update].under.indices { memory.updates[update].under[layer].mayBeSent = mayBeSent }
    }

    // MARK: From `state`

    /// Takes over the updates of a record of `state`, in the order of sending, at most three.
    mutating func adopt(
        _ held: consuming [Update], isFirstInFlight: Bool, of slot: SlotID, in memory: inout ShardMemory
    ) {
        for (index, update) in held.enumerated() {
            let id = memory.updates.adopt(update, slot: slot)
            switch isFirstInFlight ? index : index + 1 {
            case 0: memory.slots[slot].inFlight = id
            case 1: memory.slots[slot].pending = id
            default: memory.slots[slot].behind = id
            }
        }
    }
}

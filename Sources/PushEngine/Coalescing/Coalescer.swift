import PushModel

/// Decides what a slot will send next (contract: Merging). It merges an event into the updates that wait, and says
/// which events have ended.
///
/// The coalescer keeps what the device would show. The device would ignore an event that is older than the one before
/// it, and would not show that event's alert. A newer event replaces the content, and carries the newest alert that the
/// device has not shown.
///
/// Only the coalescer writes which updates a slot has (`Slot.pending`, `behind` and `inFlight`), and what an update
/// says. Others only record in an update what they did with it, as `Update` lists. The coalescer does not know about
/// Kafka, time-outs, or when something may leave. The engine settles `endings`, and lets `Dispatch` look at the slot
/// again.
struct Coalescer: ~Copyable {
    /// The event that is being merged. It has just arrived, or has waited before.
    var scratchLayer = Layer()
    /// Events that have ended since the engine last settled them, in order. Empty between two calls of the engine.
    private(set) var endings: [Ending] = []
    /// Whether events may be replaced in the short ways, which write no outcome record. It is `false` if outcomes
    /// `superseded` are published. A test also sets it to `false`, to compare the short ways with the long one.
    var takesShorterWays: Bool
    private let addressOnly = AddressOnly()

    init(takesShorterWays: Bool) { self.takesShorterWays = takesShorterWays }

    /// An event that waited and will not be sent, with what its outcome record says. It still counts as pending.
    struct Ending {
        var slot: SlotID
        var outcome: Outcome
        var cause: OutcomeDetails.Cause
        /// The event that superseded this one; `nil` for other outcomes.
        var into: SourcePosition?
        var keepsAlert = false
        var keepsPriority = false

        /// The time that decides which event is newest.
        var timestampSeconds: Int64
        var source: SourcePosition
        var isWritten: Bool
        var isTraced: Bool
        var eventID: ByteRange
        var traceparent: ByteRange
        /// The bytes that the ranges above refer to.
        var blob: [UInt8]

        init(_ layer: borrowing Layer, slot: SlotID, outcome: Outcome, cause: OutcomeDetails.Cause) {
            self.slot = slot
            self.outcome = outcome
            self.cause = cause
            self.timestampSeconds = layer.timestampSeconds
            self.source = layer.source
            self.isWritten = layer.isWritten
            self.isTraced = layer.isTraced
            self.eventID = layer.eventID
            self.traceparent = layer.traceparent
            self.blob = layer.blob
        }
    }

    /// Forgets all endings: the engine has settled them.
    @inline(__always) mutating func forgetEndings() { self.endings.removeAll(keepingCapacity: true) }

    /// Adds an ending that needs an outcome record.
    mutating func append(_ ending: Ending) { self.endings.append(ending) }

    // MARK: Taking an event

    /// Merges the event in `scratchLayer` into what the slot will send next. The event already counts as pending.
    mutating func merge(
        into slot: SlotID, start: StartPart?, priority: PushPriority, isReplay: Bool, in memory: inout ShardMemory,
        now: EngineTime
    ) {
        let pending = memory.slots[slot].pending
        let behind = memory.slots[slot].behind
        guard pending.isSome else {
            let update = self.makeUpdate(
                slot: slot, start: start, priority: priority, isReplay: isReplay, in: &memory, now: now)
            memory.slots[slot].pending = update
            return
        }
        if let start {
            return self.mergeStart(start, into: slot, priority: priority, isReplay: isReplay, in: &memory, now: now)
        }
        if behind.isNone, memory.updates[pending].isStart, self.scratchLayer.isEnd {
            // A start cannot also end: the card appears first, then the end follows.
            memory.slots[slot].behind = self.makeUpdate(
                slot: slot, start: nil, priority: priority, isReplay: isReplay, in: &memory, now: now)
            return
        }
        let target = behind.isSome ? behind : pending
        if self.fold(into: target, mergedCount: 1, priority: priority, isReplay: isReplay, carries: true, in: &memory) {
            if behind.isSome, !memory.updates[pending].isStart, !memory.updates[behind].top.alert.isEmpty {
                // `pending` had to go first only because of its alert, and `behind` now has a newer one.
                self.replacePendingByBehind(slot, in: &memory)
            }
            return
        }
        // The event and the older update do not fit into one push. The older content goes first with its alert, and
        // this event follows.
        if behind.isNone {
            memory.slots[slot].behind = self.makeUpdate(
                slot: slot, start: nil, priority: priority, isReplay: isReplay, in: &memory, now: now)
        } else if !memory.updates[pending].isStart {
            self.replacePendingByBehind(slot, in: &memory)
            memory.slots[slot].behind = self.makeUpdate(
                slot: slot, start: nil, priority: priority, isReplay: isReplay, in: &memory, now: now)
        } else {
            // The start, the alert and the content are too large for two pushes. The alert does not fit into the start,
            // and the content does not fit beside the alert. The alert is dropped.
            _ = self.fold(
                into: behind, mergedCount: 1, priority: priority, isReplay: isReplay, carries: false, in: &memory)
        }
    }

    /// Replaces `pending` with `behind`, because `pending` no longer has to go first. The alert of `behind` is newer
    /// than the alert of `pending`, or the arriving event brings a newer one.
    private mutating func replacePendingByBehind(_ slot: SlotID, in memory: inout ShardMemory) {
        let pending = memory.slots[slot].pending
        let behind = memory.slots[slot].behind
        memory.updates[behind].priority = max(memory.updates[behind].priority, memory.updates[pending].priority)
        if memory.updates[pending].containsReplay { memory.updates[behind].containsReplay = true }
        memory.updates[behind].firstUnsentMillis = min(
            memory.updates[behind].firstUnsentMillis, memory.updates[pending].firstUnsentMillis)
        self.giveWay(pending, to: behind, in: &memory)
        memory.slots[slot].pending = behind
        memory.slots[slot].behind = .none
        memory.updates.release(pending)
    }

    /// Merges a start that arrives while updates wait for a token. The result is one start with the newest content. If
    /// that content does not fit into an older start, or is an `end`, it follows the start.
    private mutating func mergeStart(
        _ start: StartPart, into slot: SlotID, priority: PushPriority, isReplay: Bool, in memory: inout ShardMemory,
        now: EngineTime
    ) {
        // The two updates were kept apart because of an alert. The start's alert is newer than that alert.
        if memory.slots[slot].behind.isSome { self.replacePendingByBehind(slot, in: &memory) }
        let pending = memory.slots[slot].pending
        guard self.scratchLayer.timestampSeconds < memory.updates[pending].top.timestampSeconds else {
            memory.updates[pending].start = [start]
            _ = self.fold(
                into: pending, mergedCount: 1, priority: priority, isReplay: isReplay, carries: true, in: &memory)
            return
        }
        self.dropUnder(of: pending, notNewerThanStart: self.scratchLayer.timestampSeconds, in: &memory)
        // The card appears before any update, so the start's alert stays with the content that the card shows first.
        // With arrival 0 the start counts as the first event.
        self.scratchLayer.arrival = 0
        let update = self.makeUpdate(
            slot: slot, start: start, priority: priority, isReplay: isReplay, in: &memory, now: now)
        memory.updates[update].firstUnsentMillis = memory.updates[pending].firstUnsentMillis
        self.putFirst(update, of: slot, in: &memory)
    }

    /// Ends the events that are beneath the update's newest event and not newer than `seconds`. The start in
    /// `scratchLayer` supersedes these events.
    private mutating func dropUnder(
        of update: UpdateID, notNewerThanStart seconds: Int64, in memory: inout ShardMemory
    ) {
        let into = self.scratchLayer.source
        while let oldest = memory.updates[update].under.first, oldest.timestampSeconds <= seconds {
            memory.updates[update].under.removeFirst()
            if oldest.mayBeSent { self.scratchLayer.mayBeSent = true }
            self.supersede(
                oldest, of: memory.updates[update].slot, into: into, keepsAlert: false, keepsPriority: false,
                in: &memory)
        }
    }

    /// Makes an update whose newest event is `scratchLayer`.
    private mutating func makeUpdate(
        slot: SlotID, start: StartPart?, priority: PushPriority, isReplay: Bool, in memory: inout ShardMemory,
        now: EngineTime
    ) -> UpdateID {
        let update = memory.updates.make(slot: slot)
        swap(&memory.updates[update].top, &self.scratchLayer)
        memory.updates[update].start = start.map { [$0] } ?? []
        memory.updates[update].priority = priority
        memory.updates[update].firstUnsentMillis = now.steadyMillis
        memory.updates[update].mergedCount = 1
        memory.updates[update].containsReplay = isReplay
        return update
    }

    // MARK: Ended events

    /// Ends a pending event that a newer one supersedes. `into` is `nil` if the newer one was already accepted.
    mutating func supersede(
        _ layer: Layer, of slot: SlotID, into: SourcePosition?, keepsAlert: Bool, keepsPriority: Bool,
        in memory: inout ShardMemory
    ) {
        memory.counters.eventsMerged += 1
        guard memory.configuration.settings.outcomePublication.includes(.superseded) else {
            // The common case makes no copy for an outcome record.
            memory.counters.pending -= 1
            memory.counters.outcomes[Int(Outcome.superseded.rawValue)] += 1
            if layer.isTraced {
                memory.traceNotices.append(.ended(.superseded, reason: "", into: into), of: layer.source)
            }
            return
        }
        let unsaid: OutcomeDetails.Cause = layer.alertIsWithdrawn ? .alertWithdrawn : .none
        let cause: OutcomeDetails.Cause = layer.mayBeSent ? .mayBeSentBefore : into == nil ? .older : unsaid
        var ending = Ending(layer, slot: slot, outcome: .superseded, cause: cause)
        ending.into = into
        ending.keepsAlert = keepsAlert
        ending.keepsPriority = keepsPriority
        self.endings.append(ending)
    }

    /// Adds to the trace that an event gave way to another before it was sent. No record says so.
    @inline(never) func markReplaced(_ update: UpdateID, by source: SourcePosition, in memory: inout ShardMemory) {
        memory.traceNotices.append(
            .ended(.superseded, reason: "", into: source), of: memory.updates[update].top.source)
    }

    /// Ends every event of an update as superseded by the event at `into`.
    mutating func supersedeAll(of update: UpdateID, into: SourcePosition?, in memory: inout ShardMemory) {
        let slot = memory.updates[update].slot
        for layer in memory.updates[update].under {
            self.supersede(layer, of: slot, into: into, keepsAlert: false, keepsPriority: false, in: &memory)
        }
        self.supersede(
            memory.updates[update].top, of: slot, into: into, keepsAlert: false, keepsPriority: false, in: &memory)
    }

    /// Ends every event of an update as superseded by the newest event of another update. If a superseded event may be
    /// on the phone, the newest event counts as perhaps there, too.
    mutating func supersedeAll(of update: UpdateID, intoNewestOf other: UpdateID, in memory: inout ShardMemory) {
        if memory.updates[update].top.mayBeSent || memory.updates[update].under.contains(where: { $0.mayBeSent }) {
            memory.updates[other].top.mayBeSent = true
        }
        memory.updates[other].mergedCount += memory.updates[update].mergedCount
        self.supersedeAll(of: update, into: memory.updates[other].top.source, in: &memory)
    }

    /// Takes every update out of the slot. The caller counts their events.
    mutating func letGo(_ slot: SlotID, in memory: inout ShardMemory) {
        if memory.slots[slot].pending.isSome { memory.updates.release(memory.slots[slot].pending) }
        if memory.slots[slot].behind.isSome { memory.updates.release(memory.slots[slot].behind) }
        if memory.slots[slot].inFlight.isSome { memory.updates.release(memory.slots[slot].inFlight) }
        memory.slots[slot].pending = .none
        memory.slots[slot].behind = .none
        memory.slots[slot].inFlight = .none
    }

    /// Takes out of the slot an update whose events all have their outcome.
    @inline(__always) mutating func dropUpdate(_ update: UpdateID, of slot: SlotID, in memory: inout ShardMemory) {
        if memory.slots[slot].inFlight == update {
            memory.slots[slot].inFlight = .none
        } else if memory.slots[slot].pending == update {
            memory.slots[slot].pending = memory.slots[slot].behind
            memory.slots[slot].behind = .none
        } else if memory.slots[slot].behind == update {
            memory.slots[slot].behind = .none
        }
        memory.updates.release(update)
    }
}

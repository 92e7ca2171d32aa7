import PushModel

/// Coalescing (contract §4). What is kept follows from device equivalence: an event older than what already stands would be ignored by
/// the device, its alert with it; a newer one replaces content, and brings along the newest alert the device has not been shown.
extension ShardEngine {
    /// Takes the event in `scratchLayer` into what the slot will send next. It already counts as pending.
    mutating func merge(into slot: SlotID, start: StartPart?, priority: PushPriority, isReplay: Bool, now: EngineTime) {
        let pending = self.slots[slot].pending
        let behind = self.slots[slot].behind
        guard pending.isSome else {
            let update = self.makeUpdate(slot: slot, start: start, priority: priority, isReplay: isReplay, now: now)
            return self.changeWork(slot) { $0.pending = update }
        }
        if let start {
            return self.mergeStart(start, into: slot, priority: priority, isReplay: isReplay, now: now)
        }
        if behind.isNone, self.updates[pending].isStart, self.scratchLayer.isEnd {
            // A start cannot also end: the card appears first, then the end follows.
            self.slots[slot].behind = self.makeUpdate(
                slot: slot, start: nil, priority: priority, isReplay: isReplay, now: now)
            return
        }
        let target = behind.isSome ? behind : pending
        if self.fold(into: target, mergedCount: 1, priority: priority, isReplay: isReplay, carries: true) {
            if behind.isSome, !self.updates[pending].isStart, !self.updates[behind].top.alert.isEmpty {
                // It was for its alert alone that `pending` was to go first.
                self.replacePendingByBehind(slot)
            }
            return
        }
        // Too large together: the older content goes first with its alert, this one follows.
        if behind.isNone {
            self.slots[slot].behind = self.makeUpdate(
                slot: slot, start: nil, priority: priority, isReplay: isReplay, now: now)
        } else if !self.updates[pending].isStart {
            self.replacePendingByBehind(slot)
            self.slots[slot].behind = self.makeUpdate(
                slot: slot, start: nil, priority: priority, isReplay: isReplay, now: now)
        } else {
            // A start, an alert too large for it and a content too large for the alert: the alert gives way.
            _ = self.fold(into: behind, mergedCount: 1, priority: priority, isReplay: isReplay, carries: false)
        }
    }

    /// `behind` has a newer alert than `pending`, or will have: nothing of `pending` lives on.
    private mutating func replacePendingByBehind(_ slot: SlotID) {
        let pending = self.slots[slot].pending
        let behind = self.slots[slot].behind
        if self.updates[pending].priority == .high { self.updates[behind].priority = .high }
        if self.updates[pending].containsReplay { self.updates[behind].containsReplay = true }
        self.updates[behind].firstUnsentMillis = min(
            self.updates[behind].firstUnsentMillis, self.updates[pending].firstUnsentMillis)
        self.supersedeAll(of: pending, intoNewestOf: behind)
        self.slots[slot].pending = behind
        self.slots[slot].behind = .none
        self.updates.release(pending)
    }

    /// A start comes while updates wait for a token: one start with the newest content.
    private mutating func mergeStart(
        _ start: StartPart, into slot: SlotID, priority: PushPriority, isReplay: Bool, now: EngineTime
    ) {
        // The start's alert is newer than the one that kept the two apart.
        if self.slots[slot].behind.isSome { self.replacePendingByBehind(slot) }
        let pending = self.slots[slot].pending
        let isNewer = self.scratchLayer.timestampSeconds >= self.updates[pending].top.timestampSeconds
        // Whichever content wins, the start must have an alert and fit.
        var content = isNewer ? self.scratchLayer : self.updates[pending].top
        if content.alert.isEmpty {
            content.inherit(from: self.scratchLayer)
        }
        guard self.byteCount(of: content, start: start) <= PayloadWriter.payloadByteCountMax else {
            let update = self.makeUpdate(slot: slot, start: start, priority: priority, isReplay: isReplay, now: now)
            self.slots[slot].behind = pending
            self.slots[slot].pending = update
            return
        }
        self.updates[pending].start = [start]
        if isNewer {
            _ = self.fold(into: pending, mergedCount: 1, priority: priority, isReplay: isReplay, carries: true)
        } else {
            if content.expiresSeconds == .max {
                if self.scratchLayer.mayBeSent { content.mayBeSent = true }
                self.supersede(
                    self.scratchLayer, of: slot, into: content.source, keepsAlert: content.alertIsInherited,
                    keepsPriority: false)
            } else {
                // Should the newer content expire unsent, the start still has its own.
                self.updates[pending].under.append(self.scratchLayer)
            }
            self.updates[pending].top = content
            self.updates[pending].mergedCount += 1
            if priority == .high { self.updates[pending].priority = .high }
            self.updates[pending].containsReplay = self.updates[pending].containsReplay || isReplay
            self.updates[pending].stampSeconds = nil
        }
    }

    /// A new update whose newest event is `scratchLayer`.
    private mutating func makeUpdate(
        slot: SlotID, start: StartPart?, priority: PushPriority, isReplay: Bool, now: EngineTime
    ) -> UpdateID {
        let update = self.updates.make(slot: slot)
        swap(&self.updates[update].top, &self.scratchLayer)
        self.updates[update].start = start.map { [$0] } ?? []
        self.updates[update].priority = priority
        self.updates[update].firstUnsentMillis = now.steadyMillis
        self.updates[update].mergedCount = 1
        self.updates[update].containsReplay = isReplay
        return update
    }

    /// Merges the event in `scratchLayer`, which arrived later, into an update. False, and nothing changed: together with the alert, or
    /// the content of an `end` that has none, that must be carried along it would be too large. Without `carries` an update always fits.
    /// - Parameter carried: what is carried along comes from this one; `nil`: from the newest event of the update.
    private mutating func fold(
        into update: UpdateID, mergedCount: UInt32, priority: PushPriority, isReplay: Bool, carries: Bool,
        from carried: Layer? = nil
    ) -> Bool {
        let slot = self.updates[update].slot
        if !self.scratchLayer.isEnd, self.scratchLayer.timestampSeconds < self.updates[update].top.timestampSeconds {
            self.foldOlder(into: update, priority: priority)
            self.updates[update].containsReplay = self.updates[update].containsReplay || isReplay
            self.updates[update].mergedCount += mergedCount
            return true
        }
        if carried == nil, self.replaces(update) {
            self.replaceTop(of: update, mergedCount: mergedCount, priority: priority, isReplay: isReplay)
            return true
        }
        let top = self.updates[update].top
        self.scratchLayer.dropUncoveredBytes()
        let own = self.scratchLayer.parts
        // Of what was put back, something may have come from an event that was older than this one's predecessor.
        self.scratchLayer.dropInherited(olderThan: (carried ?? top).timestampSeconds)
        let hadAlert = !self.scratchLayer.alert.isEmpty
        if carries { self.scratchLayer.inherit(from: carried ?? top) }
        let inherits = !hadAlert && !self.scratchLayer.alert.isEmpty
        guard
            self.byteCount(of: self.scratchLayer, start: self.updates[update].start.first)
                <= PayloadWriter.payloadByteCountMax
        else {
            self.scratchLayer.parts = own
            return false
        }
        self.scratchLayer.stampFloorSeconds = max(self.scratchLayer.stampFloorSeconds, top.stampFloorSeconds)
        let expires = self.scratchLayer.expiresSeconds
        let into = self.scratchLayer.source
        self.dropUnder(of: update, notOutliving: expires, into: into)
        if top.expiresSeconds > expires {
            if self.updates[update].under.count == Update.underMax {
                let oldest = self.updates[update].under.removeFirst()
                if oldest.mayBeSent { self.scratchLayer.mayBeSent = true }
                self.supersede(oldest, of: slot, into: into, keepsAlert: false, keepsPriority: false)
            }
            self.updates[update].under.append(top)
        } else {
            // One that lives on beneath keeps that to itself.
            if top.mayBeSent { self.scratchLayer.mayBeSent = true }
            self.supersede(
                top, of: slot, into: into, keepsAlert: inherits,
                keepsPriority: self.updates[update].priority == .high && priority == .low)
        }
        swap(&self.updates[update].top, &self.scratchLayer)
        self.updates[update].mergedCount += mergedCount
        if priority == .high { self.updates[update].priority = .high }
        self.updates[update].containsReplay = self.updates[update].containsReplay || isReplay
        self.updates[update].stampSeconds = nil
        return true
    }

    /// The common case of `fold`: the event takes the place of the newest one, nothing of which lives on, and nobody wants a record of
    /// that. It fits, as it did when it was taken.
    private func replaces(_ update: UpdateID) -> Bool {
        guard self.updates[update].under.isEmpty, self.updates[update].start.isEmpty,
            self.updates[update].top.expiresSeconds <= self.scratchLayer.expiresSeconds,
            !self.scratchLayer.hasInherited
        else { return false }
        let carriesAlert = self.scratchLayer.alert.isEmpty && !self.updates[update].top.alert.isEmpty
        let carriesContent = self.scratchLayer.isEnd && self.scratchLayer.content.contentState.isEmpty
        return !carriesAlert && !carriesContent && !self.publishesSuperseded
    }

    private mutating func replaceTop(of update: UpdateID, mergedCount: UInt32, priority: PushPriority, isReplay: Bool) {
        self.counters.eventsMerged += 1
        self.counters.pending -= 1
        self.counters.outcomes[Int(Outcome.superseded.rawValue)] += 1
        if self.updates[update].top.mayBeSent { self.scratchLayer.mayBeSent = true }
        self.scratchLayer.stampFloorSeconds = max(
            self.scratchLayer.stampFloorSeconds, self.updates[update].top.stampFloorSeconds)
        swap(&self.updates[update].top, &self.scratchLayer)
        self.updates[update].mergedCount += mergedCount
        if priority == .high { self.updates[update].priority = .high }
        if isReplay { self.updates[update].containsReplay = true }
        self.updates[update].stampSeconds = nil
    }

    /// An event older than the newest one of the update: the device would ignore it, unless everything newer expires unsent.
    private mutating func foldOlder(into update: UpdateID, priority: PushPriority) {
        let slot = self.updates[update].slot
        var layer = self.scratchLayer
        if priority == .high { self.updates[update].priority = .high }
        var place = self.updates[update].under.count
        while place > 0, self.updates[update].under[place - 1].timestampSeconds > layer.timestampSeconds { place -= 1 }
        let alert = layer.alert.isEmpty ? self.alertBeneath(layer, place: place, in: update) : nil
        if let alert {
            // Among those below it is the newest: it brings their alert along, as `fold` does, where both fit.
            layer.dropUncoveredBytes()
            let own = layer.parts
            layer.inherit(from: self.updates[update].under[alert])
            if self.byteCount(of: layer, start: self.updates[update].start.first) > PayloadWriter.payloadByteCountMax {
                layer.parts = own
            }
        }
        var outlives = layer.expiresSeconds > self.updates[update].top.expiresSeconds
        for newer in place..<self.updates[update].under.count
        where self.updates[update].under[newer].expiresSeconds >= layer.expiresSeconds {
            outlives = false
        }
        guard outlives, self.updates[update].under.count < Update.underMax else {
            let into = self.updates[update].top.source
            if layer.mayBeSent { self.updates[update].top.mayBeSent = true }
            return self.supersede(layer, of: slot, into: into, keepsAlert: false, keepsPriority: priority == .high)
        }
        self.updates[update].under.insert(layer, at: place)
        // Older ones below it that do not outlive it can never be shown, but for an alert that does not fit beside its content.
        let kept = layer.alert.isEmpty ? alert : nil
        var below = place - 1
        while below >= 0 {
            if below != kept, self.updates[update].under[below].expiresSeconds <= layer.expiresSeconds {
                let dropped = self.updates[update].under.remove(at: below)
                // `layer` has moved down by one.
                if dropped.mayBeSent { self.updates[update].under[place - 1].mayBeSent = true }
                place -= 1
                self.supersede(dropped, of: slot, into: layer.source, keepsAlert: false, keepsPriority: false)
            }
            below -= 1
        }
    }

    /// Which of those beneath `place` has the alert that a device would show before the content of `layer`: the newest that did not come
    /// after something newer than itself.
    private func alertBeneath(_ layer: Layer, place: Int, in update: UpdateID) -> Int? {
        var earliest = layer.arrival
        for below in (0..<place).reversed() where self.updates[update].under[below].arrival < earliest {
            if !self.updates[update].under[below].alert.isEmpty { return below }
            earliest = self.updates[update].under[below].arrival
        }
        return nil
    }

    /// What was beneath is the newest of the update now. An alert still further beneath did not fit beside its content: it goes first, with
    /// its own, and the newer content follows.
    mutating func letAlertGoFirst(_ update: UpdateID, of slot: SlotID) {
        guard !self.updates[update].isStart, self.updates[update].top.alert.isEmpty,
            let place = self.alertBeneath(
                self.updates[update].top, place: self.updates[update].under.count, in: update)
        else { return }
        let priority = self.updates[update].priority
        let isReplay = self.updates[update].containsReplay
        let newer = self.updates[update].under[(place + 1)...] + [self.updates[update].top]
        self.updates[update].top = self.updates[update].under[place]
        self.updates[update].under.removeSubrange(place...)
        for layer in newer {
            self.scratchLayer = layer
            if self.slots[slot].behind.isNone {
                let behind = self.updates.make(slot: slot)
                swap(&self.updates[behind].top, &self.scratchLayer)
                self.updates[behind].priority = priority
                self.updates[behind].firstUnsentMillis = self.updates[update].firstUnsentMillis
                self.updates[behind].mergedCount = 1
                self.updates[behind].containsReplay = isReplay
                self.slots[slot].behind = behind
            } else {
                // Without an alert to carry along it always fits.
                _ = self.fold(
                    into: self.slots[slot].behind, mergedCount: 1, priority: priority, isReplay: isReplay,
                    carries: false)
            }
        }
    }

    private mutating func dropUnder(of update: UpdateID, notOutliving expires: Int64, into: SourcePosition) {
        guard !self.updates[update].under.isEmpty else { return }
        let slot = self.updates[update].slot
        var place = 0
        while place < self.updates[update].under.count {
            if self.updates[update].under[place].expiresSeconds <= expires {
                let dropped = self.updates[update].under.remove(at: place)
                // Of what takes its place it is not known any more that the phone has not got it.
                if dropped.mayBeSent { self.scratchLayer.mayBeSent = true }
                self.supersede(dropped, of: slot, into: into, keepsAlert: false, keepsPriority: false)
            } else {
                place += 1
            }
        }
    }

    /// Everything of an update gives way to `into`.
    mutating func supersedeAll(of update: UpdateID, into: SourcePosition?) {
        let slot = self.updates[update].slot
        for layer in self.updates[update].under {
            self.supersede(layer, of: slot, into: into, keepsAlert: false, keepsPriority: false)
        }
        self.supersede(self.updates[update].top, of: slot, into: into, keepsAlert: false, keepsPriority: false)
    }

    /// The same to the newest event of another update: of that it is not known any more that the phone has not got it.
    private mutating func supersedeAll(of update: UpdateID, intoNewestOf other: UpdateID) {
        if self.updates[update].top.mayBeSent || self.updates[update].under.contains(where: { $0.mayBeSent }) {
            self.updates[other].top.mayBeSent = true
        }
        self.supersedeAll(of: update, into: self.updates[other].top.source)
    }

    // MARK: After an attempt that did not reach the device

    /// Puts what was in flight back, under what came meanwhile.
    mutating func requeueInFlight(_ slot: SlotID, now: EngineTime) {
        let failed = self.slots[slot].inFlight
        let pending = self.slots[slot].pending
        self.changeWork(slot) { $0.inFlight = .none }
        guard pending.isSome else {
            return self.changeWork(slot) { $0.pending = failed }
        }
        if self.updates[pending].isStart, !self.updates[failed].isStart {
            // What failed was meant for a card that has been unregistered since; the start makes another.
            self.supersedeAll(of: failed, into: self.updates[pending].top.source)
            return self.updates.release(failed)
        }
        self.changeWork(slot) { $0.pending = failed }
        let startGoesFirst = self.updates[failed].isStart && self.updates[pending].isEnd
        let wasBehind = self.slots[slot].behind
        if startGoesFirst {
            if wasBehind.isSome {
                // Nothing follows an end; only a damaged state record says so.
                self.supersedeAll(of: wasBehind, intoNewestOf: pending)
                self.updates.release(wasBehind)
            }
            self.slots[slot].behind = pending
            return
        }
        // What came meanwhile arrived later: oldest first, each into what failed.
        let priority = self.updates[pending].priority
        let isReplay = self.updates[pending].containsReplay
        let merged = self.updates[pending].mergedCount
        // Those under the newest that arrived after it come after it: the device would have ignored them.
        let newestArrival = self.updates[pending].top.arrival
        let later = self.updates[pending].under.filter { $0.arrival > newestArrival }
        let earlier = self.updates[pending].under.filter { $0.arrival <= newestArrival }
        self.updates[pending].under = later
        // The newest has taken along already what it had to of those beneath it: what came after something newer was ignored.
        let carried = earlier.isEmpty ? nil : self.updates[failed].top
        for layer in earlier {
            self.scratchLayer = layer
            if !self.fold(into: failed, mergedCount: 0, priority: priority, isReplay: isReplay, carries: true) {
                if layer.mayBeSent { self.updates[pending].top.mayBeSent = true }
                self.supersede(
                    self.scratchLayer, of: slot, into: self.updates[pending].top.source, keepsAlert: false,
                    keepsPriority: false)
            }
        }
        swap(&self.scratchLayer, &self.updates[pending].top)
        if self.fold(
            into: failed, mergedCount: merged, priority: priority, isReplay: isReplay, carries: true, from: carried)
        {
            for layer in later {
                self.scratchLayer = layer
                _ = self.fold(into: failed, mergedCount: 0, priority: priority, isReplay: isReplay, carries: true)
            }
            self.updates.release(pending)
            self.foldOlderBehind(slot, into: failed)
        } else {
            // Too large beside the alert, or the attributes, of what failed.
            swap(&self.scratchLayer, &self.updates[pending].top)
            if wasBehind.isNone {
                self.slots[slot].behind = pending
            } else if self.updates[failed].isStart {
                // A third one: its content is the newest, and there is no place for the alert that kept the two apart.
                self.supersedeAll(of: pending, intoNewestOf: wasBehind)
                self.updates.release(pending)
            } else {
                // A third one: of the two that came meanwhile one has the newest content, the other the newest alert.
                self.supersedeAll(of: failed, intoNewestOf: pending)
                self.updates.release(failed)
                self.slots[slot].pending = pending
            }
        }
    }

    /// What followed what came meanwhile may be older than what failed: a device would ignore it behind that.
    private mutating func foldOlderBehind(_ slot: SlotID, into failed: UpdateID) {
        let behind = self.slots[slot].behind
        guard behind.isSome, !self.updates[failed].isStart, !self.updates[behind].isEnd,
            self.updates[behind].top.timestampSeconds < self.updates[failed].top.timestampSeconds
        else { return }
        let (priority, isReplay) = (self.updates[behind].priority, self.updates[behind].containsReplay)
        self.slots[slot].behind = .none
        let layers = self.updates[behind].under + [self.updates[behind].top]
        for (index, layer) in layers.enumerated() {
            self.scratchLayer = layer
            let mergedCount = index == 0 ? self.updates[behind].mergedCount : 0
            _ = self.fold(into: failed, mergedCount: mergedCount, priority: priority, isReplay: isReplay, carries: true)
        }
        self.updates.release(behind)
    }

    // MARK: Size

    /// Ten digits: a wire stamp may be later than its event's time, and must not make the payload longer than was checked.
    static var longStampSeconds: Int64 { 1_000_000_000 }

    func byteCount(of layer: Layer, start: StartPart?) -> Int {
        guard let start else {
            return PayloadWriter.byteCount(
                kind: layer.isEnd ? .end : .update, stampSeconds: max(layer.timestampSeconds, Self.longStampSeconds),
                content: layer.content,
                source: layer.blob.span, alert: layer.blob.span.extracting(layer.alert.range))
        }
        let (blob, content) = Self.combine(layer, start)
        return PayloadWriter.byteCount(
            kind: .start, stampSeconds: max(layer.timestampSeconds, Self.longStampSeconds), content: content,
            source: blob.span,
            alert: blob.span.extracting(layer.alert.range))
    }

    /// The bytes of a start: the newest content in front, the start's own parts behind.
    static func combine(_ layer: Layer, _ start: StartPart) -> (blob: [UInt8], content: PayloadContent) {
        var content = layer.content
        let base = layer.blob.count
        func moved(_ range: ByteRange) -> ByteRange {
            range.isEmpty ? range : ByteRange(start: Int(range.start) + base, count: Int(range.count))
        }
        content.attributesType = moved(start.content.attributesType)
        content.attributes = moved(start.content.attributes)
        content.inputPushChannel = moved(start.content.inputPushChannel)
        content.inputPushToken = start.content.inputPushToken
        return (layer.blob + start.blob, content)
    }
}

public import PushModel

/// Another configuration for an engine that runs.
extension ShardEngine {
    /// What of another configuration this engine cannot take while it runs, in the order of the settings; empty: `reconfigure` takes it.
    public func reconfigurationFaults(_ new: EngineConfiguration) -> [ReconfigurationFault] {
        let old = self.memory.configuration
        var faults = ReconfigurationFault.all(from: old, to: new)
        for app in new.apps.dropFirst(old.apps.count) where self.memory.passedOver.contains(app.bundleID) {
            faults.append(ReconfigurationFault(app: app.bundleID, cause: .passedOver))
        }
        return faults
    }

    /// Goes on by another configuration: whatever is decided from here on is decided by it. What was spent of budgets, what waits and what is in
    /// flight stays as it is, and updates that wait are looked at again, some of them in each `advance`. A push that has left keeps the distance
    /// that held when it left.
    ///
    /// - Parameters:
    ///   - new: its first apps are those there are, in their order; more may follow.
    ///   - now: from when on it holds.
    /// - Throws: what cannot be taken. Nothing has changed then.
    public mutating func reconfigure(
        _ new: EngineConfiguration, now: EngineTime
    ) throws(ReconfigurationRefusal) {
        let faults = self.reconfigurationFaults(new)
        guard faults.isEmpty else { throw ReconfigurationRefusal(faults: faults) }
        let appCountBefore = self.memory.configuration.apps.count
        self.memory.configuration = new
        self.coalescer.takesShorterWays = !new.settings.outcomePublication.includes(.superseded)
        self.dispatch.follow(new)
        self.shares.follow(new)
        if new.apps.count > appCountBefore {
            self.memory.counters.holdApps(new.apps.count)
            self.intake.follow(new)
            self.journal.follow(new)
            for partition in self.memory.partitions.identifiers
            where self.memory.partitions[partition].phase == .running {
                self.beginKeepers(of: partition, apps: appCountBefore..<new.apps.count, now: now)
            }
        }
        self.review = ConfigurationReview(dueMillis: now.steadyMillis)
    }

    /// Puts some of what waits where it belongs by the configuration that holds now: first slots, then crowds.
    mutating func goOnReviewing(now: EngineTime) {
        guard var review = self.review else { return }
        let slotCount = self.memory.slots.placeCount
        if review.nextSlot < slotCount {
            let end = min(review.nextSlot + ConfigurationReview.placesMax, slotCount)
            for index in review.nextSlot..<end { self.review(SlotID(index: index), now: now) }
            review.nextSlot = end
            self.review = review
            return
        }
        let crowdCount = self.audiences.crowds.placeCount
        let end = min(review.nextCrowd + ConfigurationReview.placesMax, crowdCount)
        for index in review.nextCrowd..<end { self.schedule(CrowdID(index: index), now: now) }
        review.nextCrowd = end
        self.review = end < crowdCount ? review : nil
    }

    private mutating func review(_ slot: SlotID, now: EngineTime) {
        guard self.memory.slots[slot].isLive, self.memory.partitions[self.memory.slots[slot].partition].sends else {
            return
        }
        if self.memory.slots[slot].pending.isSome { self.dispatch.reschedule(slot, in: &self.memory, now: now) }
        self.advanceChannels(slot, now: now)
    }

    /// A record of `state` that means nothing here: perhaps it is about an app that is not configured.
    mutating func notePassedOver(_ key: Span<UInt8>) {
        guard let bundleID = PassedOverApps.bundleID(ofState: key),
            !self.memory.configuration.apps.contains(where: { $0.bundleID.utf8.elementsEqual(bundleID) })
        else { return }
        self.memory.passedOver.note(bundleID)
    }
}

/// How far slots and crowds have been looked at since the configuration changed. A shard may have millions: a turn looks at some.
struct ConfigurationReview {
    /// Slots, or crowds, looked at in one turn.
    static let placesMax = 16_384

    var nextSlot = 0
    var nextCrowd = 0
    /// Steady: at once.
    let dueMillis: Int64
}

public import PushModel

/// Gives a running engine another configuration.
extension ShardEngine {
    /// What prevents a running engine from taking the configuration, in the order of the settings. Empty: `reconfigure`
    /// takes it.
    public func reconfigurationFaults(_ new: EngineConfiguration) -> [ReconfigurationFault] {
        let old = self.memory.configuration
        var faults = ReconfigurationFault.all(from: old, to: new)
        for app in new.apps.dropFirst(old.apps.count) where self.memory.passedOver.contains(app.bundleID) {
            faults.append(ReconfigurationFault(app: app.bundleID, cause: .passedOver))
        }
        return faults
    }

    /// Continues with another configuration, which decides everything from here on. Spent budgets, waiting updates and
    /// pushes in flight stay as they are. Waiting updates are looked at again, some of them in each `advance`. A push
    /// that has left keeps the distance that held when it left.
    ///
    /// - Parameters:
    ///   - new: its first apps are the present ones, in their order; more may follow.
    ///   - now: the time from which it holds.
    /// - Throws: why the configuration is refused. Nothing has changed then.
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

    /// Reschedules some of what waits by the present configuration: first slots, then crowds.
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

    /// Notes a record of `state` that means nothing here. It may be about an app that is not configured.
    mutating func notePassedOver(_ key: Span<UInt8>) {
        guard let bundleID = PassedOverApps.bundleID(ofState: key),
            !self.memory.configuration.apps.contains(where: { $0.bundleID.utf8.elementsEqual(bundleID) })
        else { return }
        self.memory.passedOver.note(bundleID)
    }
}

/// How far slots and crowds have been looked at since the configuration changed. A shard may have millions, so a turn
/// looks at some.
struct ConfigurationReview {
    /// Number of slots, or crowds, looked at in one turn.
    static let placesMax = 16_384

    var nextSlot = 0
    var nextCrowd = 0
    /// When the next part is due, steady: at once.
    let dueMillis: Int64
}

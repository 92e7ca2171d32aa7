public import PushModel

/// Gives a running engine another configuration.
extension ShardEngine {
    /// What prevents a running engine from taking the configuration: first what concerns no app, then each app in
    /// order. Empty: `reconfigure` will take it.
    public func reconfigurationFaults(_ new: EngineConfiguration) -> [ReconfigurationFault] {
        let old = self.core.memory.configuration
        var faults = ReconfigurationFault.all(from: old, to: new)
        for app in new.apps.dropFirst(old.apps.count) where self.core.memory.passedOver.contains(app.bundleID) {
            faults.append(ReconfigurationFault(app: app.bundleID, cause: .passedOver))
        }
        return faults
    }

    /// Continues with another configuration, which decides everything from here on. Spent budgets, waiting updates and
    /// pushes in flight stay as they are. Waiting updates are looked at again, some of them in each `advance`. After a
    /// push in flight, the slot keeps the minimum distance that was configured when the push left.
    ///
    /// - Parameters:
    ///   - new: its first apps are the present ones, in their order; more may follow.
    ///   - now: the time from which the configuration applies.
    /// - Throws: why the configuration is refused. Nothing has changed then.
    public mutating func reconfigure(
        _ new: EngineConfiguration, now: EngineTime
    ) throws(ReconfigurationRefusal) {
        let faults = self.reconfigurationFaults(new)
        guard faults.isEmpty else { throw ReconfigurationRefusal(faults: faults) }
        let appCountBefore = self.core.memory.configuration.apps.count
        self.core.memory.configuration = new
        self.core.coalescer.takesShorterWays = !new.settings.outcomePublication.includes(.superseded)
        self.core.dispatch.follow(new)
        self.shares.follow(new)
        if new.apps.count > appCountBefore {
            self.core.memory.counters.holdApps(new.apps.count)
            self.core.intake.follow(new)
            self.core.journal.follow(new)
            for partition in self.core.memory.partitions.identifiers
            where self.core.memory.partitions[partition].phase == .running {
                self.keeperHost.beginKeepers(
                    of: partition, apps: appCountBefore..<new.apps.count, in: &self.core, now: now)
            }
        }
        self.review = ConfigurationReview(dueMillis: now.steadyMillis)
    }

    /// Reschedules some of the slots and crowds under the present configuration: first slots, then crowds.
    mutating func goOnReviewing(now: EngineTime) {
        guard var review = self.review else { return }
        let slotCount = self.core.memory.slots.indexCount
        if review.nextSlot < slotCount {
            let end = min(review.nextSlot + ConfigurationReview.visitsMax, slotCount)
            for index in review.nextSlot..<end { self.review(SlotID(index: index), now: now) }
            review.nextSlot = end
            self.review = review
            return
        }
        let crowdCount = self.fanOut.crowds.indexCount
        let end = min(review.nextCrowd + ConfigurationReview.visitsMax, crowdCount)
        for index in review.nextCrowd..<end { self.fanOut.schedule(CrowdID(index: index), in: &self.core, now: now) }
        review.nextCrowd = end
        self.review = end < crowdCount ? review : nil
    }

    private mutating func review(_ slot: SlotID, now: EngineTime) {
        guard self.core.memory.slots[slot].isLive,
            self.core.memory.partitions[self.core.memory.slots[slot].partition].sends
        else {
            return
        }
        if self.core.memory.slots[slot].pending.isSome {
            self.core.dispatch.reschedule(slot, in: &self.core.memory, now: now)
        }
        self.publisher.advanceChannels(slot, in: &self.core, now: now)
    }

    /// Remembers the app of a skipped record of `state`, if the app is not configured.
    mutating func rememberPassedOver(_ key: Span<UInt8>) {
        guard let bundleID = PassedOverApps.bundleID(ofState: key),
            !self.core.memory.configuration.apps.contains(where: { $0.bundleID.utf8.elementsEqual(bundleID) })
        else { return }
        self.core.memory.passedOver.add(bundleID)
    }
}

/// How far slots and crowds have been looked at since the configuration changed. A shard may have millions of them, so
/// each turn looks at some.
struct ConfigurationReview {
    /// Maximum number of slots or crowds looked at in one turn.
    static let visitsMax = 16_384

    var nextSlot = 0
    var nextCrowd = 0
    /// When the configuration changed (steady clock). Each part of the review is due from then on.
    let dueMillis: Int64
}

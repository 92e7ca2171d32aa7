public import PushModel

/// Shows what the engine holds, so that it can be checked against the promises. Nothing here changes what the engine
/// does.
extension ShardEngine {
    /// Number of units of an activity's or channel's budget that are out, including the one in flight (contract: The
    /// budget). `nil`: the activity or channel is not in memory.
    /// - Parameter isChannel: whether the id is a channel's.
    /// - Parameter app: index into `EngineConfiguration.apps`.
    /// - Parameter id: the activity or channel, as the record's key names it.
    /// - Parameter now: units that have returned by then are not counted.
    public func budgetUnitsOut(isChannel: Bool = false, app: UInt16, id: Span<UInt8>, now: EngineTime) -> Int? {
        let key = SlotKey(kind: isChannel ? .channel : .activity, app: app, id: id)
        for partition in self.core.memory.partitions.identifiers {
            guard let slot = self.core.memory.slots.find(key, partition: partition) else { continue }
            return self.core.dispatch.budgets.unitsOut(self.core.memory.slots[slot].budget, nowMillis: now.steadyMillis)
        }
        return nil
    }

    /// Number of updates in memory, waiting or in flight: at most three per slot.
    public var updatesHeld: Int { self.core.memory.updates.liveCount }

    /// Number of open ledger entries (contract: Outcome and offset). It is bounded by the slots, the unacknowledged
    /// records, and the wishes that keepers have not resolved.
    public var ledgerEntriesOpen: Int { self.core.journal.ledger.openCount }

    /// Pairs of app and environment that are stopped because APNs refuses the app's `apns-topic`.
    public var appsHeldBack: [(app: UInt16, environment: PushEnvironment)] {
        self.core.dispatch.appsHeldBack(in: self.core.memory)
    }

    /// Counts the events without an outcome by walking every slot. `counters.pending` must equal the result.
    public func countPendingEvents() -> UInt64 {
        var count = 0
        for slot in self.core.memory.slots.identifiers where self.core.memory.slots[slot].isLive {
            count += self.core.memory.eventCount(of: slot)
        }
        return UInt64(count)
    }

    /// Counts the members that are owed something by walking every crowd. `counters.members.waiting` must equal the
    /// result.
    public func countWaitingMembers() -> Int {
        self.core.memory.partitions.identifiers.reduce(0) { $0 + self.fanOut.crowds.waitingCount(of: $1) }
    }

    /// Counts the start members that are owed a start by walking every crowd. `counters.startMembers.waiting` must
    /// equal the result.
    public func countWaitingStartMembers() -> Int {
        self.core.memory.partitions.identifiers.reduce(0) { $0 + self.fanOut.crowds.startsWaitingCount(of: $1) }
    }

    /// How many channels Apple lists, for each keeper of this shard that has read its list.
    public var channelListings: [ChannelListing] { self.keeperHost.channelListings(in: self.core.memory) }
}

public import PushModel

/// Shows what the engine holds, so that it can be checked against the promises. Nothing here changes what the engine
/// does.
extension ShardEngine {
    /// Units of the activity's budget that are out (contract: The budget), the one in flight included; `nil`: the
    /// activity is not in memory.
    /// - Parameter isChannel: whether the id is a channel's.
    /// - Parameter app: index into `EngineConfiguration.apps`.
    /// - Parameter id: the activity or channel, as the record's key names it.
    /// - Parameter now: units that have returned by then are not counted.
    public func budgetUnitsOut(isChannel: Bool = false, app: UInt16, id: Span<UInt8>, now: EngineTime) -> Int? {
        let key = SlotKey(kind: isChannel ? .channel : .activity, app: app, id: id)
        for partition in self.memory.partitions.identifiers {
            guard let slot = self.memory.slots.find(key, partition: partition) else { continue }
            return self.dispatch.budgets.unitsOut(self.memory.slots[slot].budget, nowMillis: now.steadyMillis)
        }
        return nil
    }

    /// Number of updates in memory, waiting or in flight: at most three per slot.
    public var updatesHeld: Int { self.memory.updates.liveCount }

    /// Number of open ledger entries (contract: Outcome and offset): at most two per slot, and two per record that
    /// Kafka has not acknowledged.
    public var ledgerEntriesOpen: Int { self.journal.ledger.openCount }

    /// Apps and environments that are stopped because APNs refuses their topic.
    public var appsHeldBack: [(app: UInt16, environment: PushEnvironment)] {
        self.dispatch.appsHeldBack(in: self.memory)
    }

    /// Counts the events without an outcome by walking every slot: what `counters.pending` must equal.
    public func countPendingEvents() -> UInt64 {
        var count = 0
        for slot in self.memory.slots.identifiers where self.memory.slots[slot].isLive {
            count += self.memory.eventCount(of: slot)
        }
        return UInt64(count)
    }

    /// Counts the members that are owed something by walking every crowd: what `counters.members.waiting` must equal.
    public func countWaitingMembers() -> Int {
        var count = 0
        for partition in self.memory.partitions.identifiers {
            for crowd in self.audiences.crowds.crowds(of: partition) {
                for pass in self.audiences.crowds[crowd].passes { count += pass.waitingCount }
            }
        }
        return count
    }

    /// Counts the start members that are owed a start by walking every crowd: what `counters.startMembers.waiting` must
    /// equal.
    public func countWaitingStartMembers() -> Int {
        var count = 0
        for partition in self.memory.partitions.identifiers {
            for crowd in self.audiences.crowds.crowds(of: partition) {
                count += self.audiences.crowds[crowd].starts.waitingCount
            }
        }
        return count
    }
}

public import PushModel

/// What the engine holds, for whoever checks it against the promises. Nothing here changes what it does.
extension ShardEngine {
    /// Units of the activity's budget that are out (contract: The budget), the one in flight included; `nil`: the activity is not in memory.
    /// - Parameter isChannel: the id is a channel's.
    /// - Parameter app: index into `EngineConfiguration.apps`.
    /// - Parameter id: the activity or channel, as the record's key names it.
    /// - Parameter now: units that are back by then are not counted.
    public func budgetUnitsOut(isChannel: Bool = false, app: UInt16, id: Span<UInt8>, now: EngineTime) -> Int? {
        let key = SlotKey(kind: isChannel ? .channel : .activity, app: app, id: id)
        for partition in self.memory.partitions.identifiers {
            guard let slot = self.memory.slots.find(key, partition: partition) else { continue }
            return self.dispatch.budgets.unitsOut(self.memory.slots[slot].budget, nowMillis: now.steadyMillis)
        }
        return nil
    }

    /// Updates in memory, waiting or in flight: at most three a slot.
    public var updatesHeld: Int { self.memory.updates.liveCount }

    /// Ledger entries that are open (contract: Outcome and offset): at most two a slot, and two a record that Kafka has not acknowledged.
    public var ledgerEntriesOpen: Int { self.journal.ledger.openCount }

    /// Apps and environments that are held back because APNs refuses their topic.
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

    /// The same of start members: what `counters.startMembers.waiting` must equal.
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

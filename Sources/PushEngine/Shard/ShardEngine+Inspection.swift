public import PushModel

/// What the engine holds, for whoever checks it against the promises. Nothing here changes what it does.
extension ShardEngine {
    /// Units of the activity's budget that are out (contract §5), the one in flight included; `nil`: the activity is not in memory.
    /// - Parameter app: index into `EngineConfiguration.apps`.
    public func budgetUnitsOut(app: UInt16, id: Span<UInt8>, now: EngineTime) -> Int? {
        var found: SlotID?
        for place in self.partitions.identifiers where found == nil {
            found = self.findSlot(app: app, id: id, partition: place)
        }
        guard let slot = found else { return nil }
        let budget = self.slots[slot].budget
        let held = unsafe self.budgets.answers(budget).count { $0 + RollingBudget.windowMillis > now.steadyMillis }
        return held + (self.budgets.isInFlight(budget) ? 1 : 0)
    }

    /// Updates in memory, waiting or in flight: at most three a slot.
    public var updatesHeld: Int { self.updates.liveCount }

    /// Ledger entries that are open (contract §6): at most two a slot, and two a record that Kafka has not acknowledged.
    public var ledgerEntriesOpen: Int { self.ledger.openCount }
}

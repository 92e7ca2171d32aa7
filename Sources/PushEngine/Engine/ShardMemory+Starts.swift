import PushModel

/// What the slot of an audience remembers of its starts.
extension ShardMemory {
    /// Notes that a start of the audience has gone out.
    mutating func noteStarted(_ slot: SlotID) {
        self.slots[slot].awaitsTokenOfStart = true
        // The start may have waited beneath an end that expired.
        if self.slots[slot].life == .starting || self.slots[slot].life == .alive { self.slots[slot].life = .started }
    }

    /// How long the audience stays for its starts at least, milliseconds, whatever the partitions' clocks show. They
    /// ask again after each void.
    static var startsStayMillis: Int64 { 600_000 }
    /// Remembers an audience that is otherwise unknown as long as a partition keeps start members of it. The partition
    /// is told of its next life.
    mutating func stayForStarts(_ slot: SlotID, now: EngineTime) {
        let until = self.owners[slot].startsUntilSeconds
        guard until > 0, self.owners[slot].publications.isEmpty,
            self.slots[slot].life != .ended
        else { return }
        let left = max(until * 1_000 - now.wallMillis, Self.startsStayMillis)
        let ends = now.steadyMillis + left
        self.slots[slot].lifeEndsMillis = max(self.slots[slot].lifeEndsMillis, ends)
    }
}

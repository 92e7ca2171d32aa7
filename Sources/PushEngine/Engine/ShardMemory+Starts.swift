import PushModel

/// What the slot of an audience remembers of its starts.
extension ShardMemory {
    /// Remembers that a start of the audience has been sent.
    mutating func markStarted(_ slot: SlotID) {
        self.slots[slot].awaitsTokenOfStart = true
        // The start may have waited beneath an end that has expired.
        if self.slots[slot].life == .starting || self.slots[slot].life == .alive { self.slots[slot].life = .started }
    }

    /// Minimum time for which a partition's start members keep their audience in memory, milliseconds. A wrong clock of
    /// the worker that has the partition cannot shorten this time.
    static var startsStayMillis: Int64 { 600_000 }
    /// Keeps an audience in memory while a partition has start members of it. Otherwise the partition would not be sent
    /// the versions of the audience's next life.
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

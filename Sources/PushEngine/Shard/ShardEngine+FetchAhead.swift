import PushModel

/// Reading ahead, as `consume(_:now:)` of a batch does: what comes together is about activities all over the memory, and reads that do not
/// depend on each other overlap. What is read here decides nothing.
extension ShardEngine {
    /// Not more are looked ahead at.
    public static var fetchAheadMax: Int { 32 }

    /// Takes the answers one after the other, as `answered(_:now:)` would.
    public mutating func answered(_ answers: [PushAnswer], now: EngineTime) {
        var first = 0
        while first < answers.count {
            let end = min(first + Self.fetchAheadMax, answers.count)
            self.fetchAhead(answers[first..<end])
            for index in first..<end { self.answered(answers[index], now: now) }
            first = end
        }
    }

    private mutating func fetchAhead(_ answers: ArraySlice<PushAnswer>) {
        var sum: UInt64 = 0
        for index in answers.indices {
            if let update = self.updates.id(of: answers[index].id) { sum &+= self.updates[update].fetched }
        }
        for index in answers.indices {
            guard let update = self.updates.id(of: answers[index].id) else { continue }
            sum &+= self.slots[Int(self.updates[update].slot)].fetchedWhole
        }
        for index in answers.indices {
            guard let update = self.updates.id(of: answers[index].id) else { continue }
            let slot = Int(self.updates[update].slot)
            sum &+= UInt64(bitPattern: self.budgets.allReturnedMillis(self.slots[slot].budget))
            sum &+= self.identities.firstByte(of: self.slots[slot].identity)
        }
        self.fetchedSum &+= sum
    }

    /// `acknowledged(_:offset:now:)` of these will follow.
    public mutating func fetchAhead(acknowledgements: Span<UInt64>) {
        var sum: UInt64 = 0
        for index in acknowledgements.indices {
            sum &+= UInt64(truncatingIfNeeded: self.acknowledgements.fetched(acknowledgements[index]))
        }
        for index in acknowledgements.indices {
            let slot = self.acknowledgements.fetched(acknowledgements[index])
            if slot >= 0 { sum &+= self.slots[Int(slot)].fetchedWhole }
        }
        self.fetchedSum &+= sum
    }
}

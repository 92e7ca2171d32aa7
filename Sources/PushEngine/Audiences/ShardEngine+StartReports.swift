import PushModel

/// What is counted and reported of starts (fan-out contract: Member records).
extension ShardEngine {
    // MARK: Counting
    /// Notes that start members are owed more than before.
    mutating func noteStartsDue(_ crowd: CrowdID, count: Int) {
        self.memory.counters.startMembers.due &+= UInt64(truncatingIfNeeded: count)
        self.memory.counters.startMembers.waiting &+= UInt64(truncatingIfNeeded: count)
        self.audiences.crowds[crowd].startsBecameDue(count)
    }
    /// Notes that fewer start members are owed something, for this reason.
    mutating func settleStarts(
        _ crowd: CrowdID, count: Int, into reason: WritableKeyPath<MemberCounters, UInt64>
    ) {
        self.memory.counters.startMembers[keyPath: reason] &+= UInt64(truncatingIfNeeded: count)
        self.memory.counters.startMembers.waiting &-= UInt64(truncatingIfNeeded: count)
        self.audiences.crowds[crowd].startsSettled(count, into: reason)
    }
    /// Notes that a start member is no longer owed a start, for this reason.
    /// - Parameter start: the start that it was owed.
    mutating func settleStart(
        _ crowd: CrowdID, of start: StartStamp, into reason: WritableKeyPath<MemberCounters, UInt64>
    ) {
        self.memory.counters.startMembers[keyPath: reason] += 1
        self.memory.counters.startMembers.waiting &-= 1
        self.audiences.crowds[crowd].startSettled(of: start, into: reason)
    }
    /// Notes that a former owner announced the start to that many members, and nobody knows whether it was sent.
    mutating func noteStartsUnknown(_ crowd: CrowdID, count: UInt64) {
        self.memory.counters.startMembers.due &+= count
        self.memory.counters.startMembers.unknown &+= count
        self.audiences.crowds[crowd].startsUnknown(count)
    }
    /// Notes that an update token has joined that was no member.
    mutating func noteReturned(_ crowd: CrowdID) {
        if self.audiences.crowds[crowd].startReturned() { self.memory.counters.startTokensReturned += 1 }
    }

    // MARK: Telling
    /// Reports to the audience's owner how far the start is. Writes the `start-pass` record when nobody waits, or the
    /// start is over.
    mutating func tellStarts(_ crowd: CrowdID, isOver: Bool = false, now: EngineTime) {
        if let report = self.audiences.crowds[crowd].tellStarts(nowMillis: now.steadyMillis) {
            self.send(report, of: crowd)
        }
        if let report = self.audiences.crowds[crowd].recordStarts(isOver: isOver, nowMillis: now.steadyMillis) {
            self.journal.recordStartPass(report, of: crowd, in: &self.memory, audiences: self.audiences)
        }
    }
}

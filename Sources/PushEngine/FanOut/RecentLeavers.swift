import DequeModule
import PushModel

/// Members that have left an audience within the last hour, and may have got pushes with priority 10 there. Until the
/// hour is over, the ledger of another audience gives them no priority 10 (fan-out contract: Audience budget).
///
/// Members whose last record was forwarded are remembered here, too. Earlier records of such a member may still be on
/// their way, from a former owner of the partition where they were first stored.
///
/// The record of each leaver stays in `state` for that hour instead of a tombstone. A new owner of the partition then
/// knows about the leaver.
struct RecentLeavers {
    /// Maximum number of leavers. Beyond it the oldest are forgotten. If a forgotten leaver may have had priority 10,
    /// every join within that leaver's hour is treated as a move from another audience.
    static let countMax = 65_536
    struct Trace {
        var token: [UInt8]
        /// Reference of the audience that the member left; 0: the member had moved there from another audience within
        /// the hour.
        var reference: UInt64
        /// Whether the member may have had priority 10 within the hour: in the audience that it left, or in one before.
        var hadTens: Bool
        /// When the member's hour is over (steady clock).
        var untilMillis: Int64
    }
    private var traces: [FanOut.DepartedKey: Trace] = [:]
    private var order: Deque<(key: FanOut.DepartedKey, untilMillis: Int64)> = []
    private var forgottenUntilMillis: Int64 = .min
    /// Leavers that a restore has read.
    private var restored: [FanOut.DepartedKey: Trace] = [:]

    /// When the first hour of a leaver ends (steady clock); `Int64.max`: there are no leavers.
    var nextOverMillis: Int64 { self.order.first?.untilMillis ?? .max }
    subscript(key: FanOut.DepartedKey) -> Trace? { self.traces.isEmpty ? nil : self.traces[key] }

    mutating func remember(_ trace: Trace, of key: FanOut.DepartedKey) {
        self.traces[key] = trace
        self.order.append((key, trace.untilMillis))
    }
    /// Takes out the oldest leaver, if its hour is over or there are too many leavers; `nil`: neither is the case.
    mutating func popOver(nowMillis: Int64) -> (partition: PartitionIndex, trace: Trace)? {
        while let first = self.order.first, first.untilMillis <= nowMillis || self.order.count > Self.countMax {
            self.order.removeFirst()
            // If the member has left again since, its newer entry is further back in the queue.
            guard let trace = self.traces[first.key], trace.untilMillis == first.untilMillis else { continue }
            self.traces[first.key] = nil
            if first.untilMillis > nowMillis, trace.hadTens {
                self.forgottenUntilMillis = max(self.forgottenUntilMillis, first.untilMillis)
            }
            return (first.key.partition, trace)
        }
        return nil
    }
    /// Whether a token that joins now may have got priority 10 in another audience within the hour.
    func comesFromAnother(_ key: FanOut.DepartedKey, to reference: UInt64, nowMillis: Int64) -> Bool {
        if !self.traces.isEmpty, let trace = self.traces[key], trace.hadTens, trace.untilMillis > nowMillis {
            return trace.reference != reference
        }
        return nowMillis < self.forgottenUntilMillis
    }

    // MARK: After a takeover
    /// Restores the record of a leaver; `nil`: its tombstone.
    mutating func restore(_ trace: Trace?, of key: FanOut.DepartedKey) {
        guard let trace else {
            if !self.restored.isEmpty { self.restored[key] = nil }
            return
        }
        guard self.restored.count < Self.countMax || self.restored[key] != nil else {
            if trace.hadTens { self.forgottenUntilMillis = max(self.forgottenUntilMillis, trace.untilMillis) }
            return
        }
        self.restored[key] = trace
    }
    /// Ends the restore of a partition, and adds the leavers that the restore has read there.
    mutating func settle(_ partition: PartitionIndex) {
        let settled = self.restored.filter { $0.key.partition == partition }
        guard !settled.isEmpty else { return }
        self.restored = self.restored.filter { $0.key.partition != partition }
        for (key, trace) in settled { self.remember(trace, of: key) }
        self.order.sort { ($0.untilMillis, $0.key.position) < ($1.untilMillis, $1.key.position) }
    }
    /// Forgets a partition that has left.
    mutating func forget(_ partition: PartitionIndex) {
        self.restored = self.restored.filter { $0.key.partition != partition }
        guard !self.traces.isEmpty else { return }
        self.traces = self.traces.filter { $0.key.partition != partition }
        self.order.removeAll { $0.key.partition == partition }
    }
}

/// Members that moved here from another audience within the hour.
extension FanOut {
    /// Whether the member moved here from another audience within the hour. If that was longer ago, the member's mark
    /// is removed.
    mutating func hasMoved(_ member: MemberID, to crowd: CrowdID, members: CrowdTable.Members, now: EngineTime) -> Bool
    {
        guard members.table.flags(of: member).contains(.isMoved) else { return false }
        let joinedSeconds = members.table.joinedSeconds(of: member)
        guard self.crowds[crowd].isMoveOver(joinedSeconds: joinedSeconds, nowSeconds: now.wallSeconds) else {
            return true
        }
        members.table.removeFlag(.isMoved, of: member)
        return false
    }
    /// Marks a token that joins, if it may have got priority 10 in another audience within the hour.
    /// - Returns: the member's flags.
    mutating func markReturn(
        of member: MemberID, to crowd: CrowdID, _ joinedSeconds: UInt32, members: CrowdTable.Members, now: EngineTime
    ) -> MemberFlags {
        let key = self.departedKey(member, of: crowd, members: members)
        if self.crowds[crowd].comesFromAnother(key, among: self.leavers, nowMillis: now.steadyMillis) {
            members.table.insertFlag(.isMoved, of: member)
            self.crowds[crowd].moved(joinedSeconds: joinedSeconds, nowSeconds: now.wallSeconds)
        }
        return members.table.flags(of: member)
    }
    /// What to remember for an hour about a member that is about to leave; `nil`: nothing. If the audience is over and
    /// its end is remembered for an hour or more, priority 10 was too long ago to matter.
    private mutating func trace(
        of member: MemberID, key: FanOut.DepartedKey, in crowd: CrowdID, members: CrowdTable.Members,
        in core: borrowing ShardCore, now: EngineTime
    ) -> RecentLeavers.Trace? {
        let isLiving = self.crowds[crowd].isLiving
        var (hasMoved, hadTens) = (false, false)
        if isLiving || core.memory.retentionAfterEndMillis(self.crowds[crowd]) < RollingBudget.windowMillis {
            hasMoved = self.hasMoved(member, to: crowd, members: members, now: now)
            hadTens = hasMoved || self.crowds[crowd].hasHadTens(nowMillis: now.steadyMillis)
        }
        guard hadTens || (isLiving && self.forwarded.last(of: key) != nil) else { return nil }
        return self.crowds[crowd].leaver(
            members.table.token(of: member), hasMoved: hasMoved, hadTens: hadTens, nowMillis: now.steadyMillis)
    }
    /// Writes down that a member is about to leave: the record of a leaver, or a tombstone.
    /// - Parameter entry: settled once Kafka has the record; `none`: no event waits for it.
    mutating func writeGone(
        _ member: MemberID, key: FanOut.DepartedKey, from crowd: CrowdID, members: CrowdTable.Members,
        entry: EntryID, in core: inout ShardCore, now: EngineTime
    ) {
        if let trace = self.trace(of: member, key: key, in: crowd, members: members, in: core, now: now) {
            self.leavers.remember(trace, of: key)
            self.writeLeaver(trace, key: key, entry: entry, in: &core, now: now)
            self.forgetLeavers(in: &core, now: now)
            return
        }
        // The token's bytes stay valid while they are written.
        let token = unsafe members.table.tokenBytes(member)
        core.journal.writeMemberTombstone(
            unsafe Span(_unsafeElements: token), of: key.partition, entry: entry, in: &core.memory)
    }
    /// Writes down what is remembered of a leaver.
    mutating func writeLeaver(
        _ trace: RecentLeavers.Trace, key: FanOut.DepartedKey, entry: EntryID, in core: inout ShardCore, now: EngineTime
    ) {
        let leftMillis = now.wallMillis + trace.untilMillis - RollingBudget.windowMillis - now.steadyMillis
        core.journal.writeLeaver(
            trace, leftSeconds: UInt32(clamping: (leftMillis + 999) / 1_000), of: key.partition, entry: entry,
            in: &core.memory, forwarded: self.forwarded)
    }
    /// Forgets leavers whose hour is over, here and in `state`. If there are very many, the rest follows in the next
    /// turn.
    mutating func forgetLeavers(in core: inout ShardCore, now: EngineTime) {
        for _ in 0..<Self.leavingMax {
            guard let (partition, trace) = self.leavers.popOver(nowMillis: now.steadyMillis) else { return }
            // If this owner may not write, the partition's next owner writes the tombstone. If the member has joined
            // again, its new record has replaced the leaver's.
            guard core.memory.partitions[partition].sends,
                self.crowds.members(of: partition).table.find(trace.token.span).isNone
            else { continue }
            core.journal.writeMemberTombstone(trace.token.span, of: partition, entry: .none, in: &core.memory)
        }
    }
    /// Restores the record of a leaver.
    mutating func restoreLeaver(
        _ member: MemberRecord, token: Span<UInt8>, partition: PartitionIndex, now: EngineTime
    ) {
        let ageMillis = max(0, now.wallMillis - Int64(member.joinedSeconds) * 1_000)
        var copy: [UInt8] = []
        copy.append(copying: token)
        self.leavers.restore(
            RecentLeavers.Trace(
                token: copy, reference: member.reference, hadTens: member.hadTens,
                untilMillis: now.steadyMillis + max(0, RollingBudget.windowMillis - ageMillis)),
            of: FanOut.DepartedKey(partition: partition, position: RingPosition.of(token)))
    }
}

import DequeModule
import PushModel

/// Members that have left an audience within the hour, and may have got pushes with priority 10 there. They get none
/// from the ledger of any audience they join before the hour is over (fan-out contract: Audience budget).
///
/// Members whose last record was forwarded are remembered here, too: records that a former owner of the first partition
/// still has under way are older than that record.
///
/// The record of each leaver stays in `state` for that hour in place of a tombstone, so that a new owner of the
/// partition knows as much.
struct RecentLeavers {
    /// Maximum number of leavers. Beyond it the oldest are forgotten, and until their hour is over every member that
    /// joins is taken for one of them.
    static let countMax = 65_536
    struct Trace {
        var token: [UInt8]
        /// Reference of the audience that it left; 0: it had moved there from another.
        var reference: UInt64
        /// Whether it may have had priority 10 there within the hour.
        var hadTens: Bool
        /// When its hour is over, steady.
        var untilMillis: Int64
    }
    private var traces: [Audiences.DepartedKey: Trace] = [:]
    private var order: Deque<(key: Audiences.DepartedKey, untilMillis: Int64)> = []
    private var forgottenUntilMillis: Int64 = .min
    /// Leavers that a restore has read.
    private var restored: [Audiences.DepartedKey: Trace] = [:]

    /// When the first hour is over, steady; `Int64.max`: there is none.
    var nextOverMillis: Int64 { self.order.first?.untilMillis ?? .max }
    subscript(key: Audiences.DepartedKey) -> Trace? { self.traces.isEmpty ? nil : self.traces[key] }

    mutating func note(_ trace: Trace, of key: Audiences.DepartedKey) {
        self.traces[key] = trace
        self.order.append((key, trace.untilMillis))
    }
    /// Takes out the oldest, if its hour is over or there are too many; `nil`: neither is so.
    mutating func popOver(nowMillis: Int64) -> (partition: PartitionIndex, trace: Trace)? {
        while let first = self.order.first, first.untilMillis <= nowMillis || self.order.count > Self.countMax {
            self.order.removeFirst()
            // A member that has left again since is further back.
            guard let trace = self.traces[first.key], trace.untilMillis == first.untilMillis else { continue }
            self.traces[first.key] = nil
            if first.untilMillis > nowMillis, trace.hadTens {
                self.forgottenUntilMillis = max(self.forgottenUntilMillis, first.untilMillis)
            }
            return (first.key.partition, trace)
        }
        return nil
    }
    /// Whether a token that joins now may have got priority 10 in another audience.
    func comesFromAnother(_ key: Audiences.DepartedKey, to reference: UInt64, nowMillis: Int64) -> Bool {
        if !self.traces.isEmpty, let trace = self.traces[key], trace.hadTens, trace.untilMillis > nowMillis {
            return trace.reference != reference
        }
        return nowMillis < self.forgottenUntilMillis
    }

    // MARK: After a takeover
    /// Restores the record of a leaver; `nil`: its tombstone.
    mutating func restore(_ trace: Trace?, of key: Audiences.DepartedKey) {
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
    /// Ends the restore.
    mutating func settle(_ partition: PartitionIndex) {
        let settled = self.restored.filter { $0.key.partition == partition }
        guard !settled.isEmpty else { return }
        self.restored = self.restored.filter { $0.key.partition != partition }
        for (key, trace) in settled { self.note(trace, of: key) }
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

/// Members that came from another audience within the hour.
extension ShardEngine {
    /// Whether the member came from another audience within the hour. If it was longer ago, its mark is taken off.
    mutating func hasMoved(_ member: MemberID, to crowd: CrowdID, members: CrowdTable.Members, now: EngineTime) -> Bool
    {
        guard members.table.flags(of: member).contains(.isMoved) else { return false }
        let joinedSeconds = members.table.joinedSeconds(of: member)
        guard self.audiences.crowds[crowd].isMoveOver(joinedSeconds: joinedSeconds, nowSeconds: now.wallSeconds) else {
            return true
        }
        members.table.removeFlag(.isMoved, of: member)
        return false
    }
    /// Marks a token that becomes a member and may have left another audience a moment ago.
    /// - Returns: its flags.
    mutating func markReturn(
        of member: MemberID, to crowd: CrowdID, _ joinedSeconds: UInt32, members: CrowdTable.Members, now: EngineTime
    ) -> MemberFlags {
        let key = Audiences.DepartedKey(
            partition: self.audiences.crowds[crowd].partition, position: members.table.position(of: member))
        let reference = self.audiences.crowds[crowd].reference
        if self.audiences.leavers.comesFromAnother(key, to: reference, nowMillis: now.steadyMillis) {
            members.table.insertFlag(.isMoved, of: member)
            self.audiences.crowds[crowd].moved(joinedSeconds: joinedSeconds, nowSeconds: now.wallSeconds)
        }
        return members.table.flags(of: member)
    }
    /// What to remember for an hour of a member that is about to leave; `nil`: nothing. A member of an audience that is
    /// over has had its hour, unless ends are remembered for less.
    private mutating func trace(
        of member: MemberID, key: Audiences.DepartedKey, in crowd: CrowdID, members: CrowdTable.Members, now: EngineTime
    ) -> RecentLeavers.Trace? {
        let app = self.memory.configuration.apps[Int(self.audiences.crowds[crowd].app)]
        let isLiving = self.audiences.crowds[crowd].standing == .living
        var (hasMoved, hadTens) = (false, false)
        if isLiving || app.retentionAfterEndMillis < RollingBudget.windowMillis {
            hasMoved = self.hasMoved(member, to: crowd, members: members, now: now)
            hadTens = hasMoved || self.audiences.crowds[crowd].hasHadTens(nowMillis: now.steadyMillis)
        }
        guard hadTens || (isLiving && self.audiences.forwarded.last(of: key) != nil) else { return nil }
        var token: [UInt8] = []
        token.append(copying: members.table.token(of: member))
        return RecentLeavers.Trace(
            token: token, reference: hasMoved ? 0 : self.audiences.crowds[crowd].reference, hadTens: hadTens,
            untilMillis: now.steadyMillis + RollingBudget.windowMillis)
    }
    /// Writes down that a member is about to leave.
    /// - Parameter entry: settled once Kafka has it; none: no event waits for it.
    mutating func writeGone(
        _ member: MemberID, key: Audiences.DepartedKey, from crowd: CrowdID, members: CrowdTable.Members,
        entry: EntryID, now: EngineTime
    ) {
        if let trace = self.trace(of: member, key: key, in: crowd, members: members, now: now) {
            self.audiences.leavers.note(trace, of: key)
            self.writeLeaver(trace, key: key, entry: entry, now: now)
            self.forgetLeavers(now: now)
            return
        }
        // The member's bytes stay while it is written.
        let token = unsafe members.table.tokenBytes(member)
        self.journal.writeMemberTombstone(
            unsafe Span(_unsafeElements: token), of: key.partition, entry: entry, in: &self.memory)
    }
    /// Writes down what is remembered of a leaver.
    mutating func writeLeaver(
        _ trace: RecentLeavers.Trace, key: Audiences.DepartedKey, entry: EntryID, now: EngineTime
    ) {
        let leftMillis = now.wallMillis + trace.untilMillis - RollingBudget.windowMillis - now.steadyMillis
        self.journal.writeLeaver(
            trace, leftSeconds: UInt32(clamping: (leftMillis + 999) / 1_000), of: key.partition, entry: entry,
            in: &self.memory, audiences: self.audiences)
    }
    /// Forgets leavers whose hour is over, in `state`, too. If there are very many, the rest follows in the next turn.
    mutating func forgetLeavers(now: EngineTime) {
        for _ in 0..<Self.leavingMax {
            guard let (partition, trace) = self.audiences.leavers.popOver(nowMillis: now.steadyMillis) else { return }
            // The next owner of the partition does it. If the member is back, its record has replaced this one.
            guard self.memory.partitions[partition].sends,
                self.audiences.crowds.members(of: partition).table.find(trace.token.span).isNone
            else { continue }
            self.journal.writeMemberTombstone(trace.token.span, of: partition, entry: .none, in: &self.memory)
        }
    }
    /// Restores the record of a leaver.
    mutating func restoreLeaver(
        _ member: MemberRecord, token: Span<UInt8>, partition: PartitionIndex, now: EngineTime
    ) {
        let ageMillis = max(0, now.wallMillis - Int64(member.joinedSeconds) * 1_000)
        var copy: [UInt8] = []
        copy.append(copying: token)
        self.audiences.leavers.restore(
            RecentLeavers.Trace(
                token: copy, reference: member.reference, hadTens: member.hadTens,
                untilMillis: now.steadyMillis + max(0, RollingBudget.windowMillis - ageMillis)),
            of: Audiences.DepartedKey(partition: partition, position: RingPosition.of(token)))
    }
}

import DequeModule
import PushModel

/// Members that have left an audience within the hour, and may have got pushes with priority 10 there: whichever audience they join next, they
/// get none by its ledger before the hour is over (fan-out, §3.10).
///
/// Their tombstones say nothing of it: a new owner of the partition does not know who left before it came.
struct RecentLeavers {
    /// Of more the oldest are forgotten, and until their hour is over whoever joins is taken for one of them.
    static let countMax = 65_536
    private struct Trace {
        /// Which audience it left; 0: it had come there from another.
        var reference: UInt64
        var untilMillis: Int64
    }
    private var traces: [Audiences.DepartedKey: Trace] = [:]
    private var order: Deque<(key: Audiences.DepartedKey, untilMillis: Int64)> = []
    private var forgottenUntilMillis: Int64 = .min

    mutating func note(_ key: Audiences.DepartedKey, reference: UInt64, nowMillis: Int64) {
        while let first = self.order.first, first.untilMillis <= nowMillis || self.order.count >= Self.countMax {
            self.order.removeFirst()
            guard self.traces[first.key]?.untilMillis == first.untilMillis else { continue }
            self.traces[first.key] = nil
            if first.untilMillis > nowMillis { self.forgottenUntilMillis = first.untilMillis }
        }
        let untilMillis = nowMillis + RollingBudget.windowMillis
        self.traces[key] = Trace(reference: reference, untilMillis: untilMillis)
        self.order.append((key, untilMillis))
    }
    /// Whether a token that joins now may have got its tens in another audience.
    func comesFromAnother(_ key: Audiences.DepartedKey, to reference: UInt64, nowMillis: Int64) -> Bool {
        if !self.traces.isEmpty, let trace = self.traces[key], trace.untilMillis > nowMillis {
            return trace.reference != reference
        }
        return nowMillis < self.forgottenUntilMillis
    }
}

/// Members that came from another audience within the hour.
extension ShardEngine {
    /// A move is within the hour for so long; a join says its time in whole seconds.
    private static var movedSeconds: Int64 { RollingBudget.windowMillis / 1_000 + 1 }
    /// Whether the member came from another audience within the hour: its mark is taken off when it has been longer.
    mutating func hasMoved(_ member: MemberID, to crowd: CrowdID, members: CrowdTable.Members, now: EngineTime) -> Bool
    {
        guard members.table.flags(of: member).contains(.isMoved) else { return false }
        let joinedSeconds = Int64(members.table.joinedSeconds(of: member))
        guard now.wallSeconds >= joinedSeconds + Self.movedSeconds,
            now.wallSeconds >= self.audiences.crowds[crowd].lateMovesUntilSeconds
        else { return true }
        members.table.removeFlag(.isMoved, of: member)
        return false
    }
    /// A member comes from another audience. Its record may be older than its last push there.
    mutating func noteMove(to crowd: CrowdID, joinedSeconds: UInt32, now: EngineTime) {
        guard now.wallSeconds > Int64(joinedSeconds) + 1 else { return }
        // Written down once a minute, however many come.
        let until = now.wallSeconds + Self.movedSeconds
        guard until > self.audiences.crowds[crowd].lateMovesUntilSeconds else { return }
        self.audiences.crowds[crowd].lateMovesUntilSeconds = until + 60
        self.audiences.crowds[crowd].isProgressDue = true
    }
    /// A token that is a member from here on may have left another audience a moment ago.
    /// - Returns: its flags.
    mutating func markReturn(
        of member: MemberID, to crowd: CrowdID, _ joinedSeconds: UInt32, members: CrowdTable.Members, now: EngineTime
    ) -> MemberFlags {
        let key = Audiences.DepartedKey(
            partition: self.audiences.crowds[crowd].partition, position: members.table.position(of: member))
        let reference = self.audiences.crowds[crowd].reference
        if self.audiences.leavers.comesFromAnother(key, to: reference, nowMillis: now.steadyMillis) {
            members.table.insertFlag(.isMoved, of: member)
            self.noteMove(to: crowd, joinedSeconds: joinedSeconds, now: now)
        }
        return members.table.flags(of: member)
    }
    /// A member is about to leave. One of an audience that is over has had its hour, unless ends are remembered for less.
    mutating func noteLeaver(
        _ member: MemberID, key: Audiences.DepartedKey, of crowd: CrowdID, members: CrowdTable.Members, now: EngineTime
    ) {
        let app = self.memory.configuration.apps[Int(self.audiences.crowds[crowd].app)]
        guard
            self.audiences.crowds[crowd].standing == .living
                || app.retentionAfterEndMillis < RollingBudget.windowMillis
        else { return }
        let hasMoved = self.hasMoved(member, to: crowd, members: members, now: now)
        let lastHigh = self.audiences.crowds[crowd].lastHighMillis
        guard hasMoved || (lastHigh != .min && lastHigh + RollingBudget.windowMillis > now.steadyMillis) else { return }
        self.audiences.leavers.note(
            key, reference: hasMoved ? 0 : self.audiences.crowds[crowd].reference, nowMillis: now.steadyMillis)
    }
}

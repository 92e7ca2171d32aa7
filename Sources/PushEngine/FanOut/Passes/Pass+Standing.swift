/// What is known of a pass: its channel, and what its members are owed. Functions that every push calls are inlined.
extension Pass {
    /// The channel's number among those of the crowd in this environment; `nil`: the pass's members do not listen.
    @inline(__always) var channelNumber: UInt8? { self.channel.number }
    /// The channel's id. Empty: the pass's members do not listen, or a restore has not read the id.
    @inline(__always) var channelID: [UInt8] { self.channel.id }
    /// Whether the newest version reaches the pass's members by broadcast.
    @inline(__always) var isServedByChannel: Bool { self.channel.serves }

    // MARK: What is owed
    /// Whether the newest version's round is over, nobody waits to be served, and no push is unanswered.
    @inline(__always) var isFinished: Bool {
        !self.course.isUnderWay && self.apart.retries.count == 0 && self.apart.lateCount == 0
            && self.inFlight.count == 0
    }
    /// Number of pushes that members are owed, including unanswered ones. A member may be owed two: an alert alone and
    /// then the newest content, or something newer than its unanswered push.
    @inline(__always) var waitingCount: Int { self.unsentCount + self.inFlight.count }
    /// Number of pushes that members are owed and that have not left.
    @inline(__always) var unsentCount: Int {
        self.course.aheadCount - self.apart.skipped.count + self.course.aloneCount + self.apart.owedCount
    }
    @inline(__always) var owed: Owed { Owed(all: self.waitingCount, alone: self.course.aloneCount) }

    // MARK: One member
    /// Whether the newest version's round has yet to reach the member, and will not skip it.
    @inline(__always) func comesRound(to member: MemberID, in table: borrowing MemberTable) -> Bool {
        !self.apart.skipped.contains(member) && self.course.isAhead(table.position(of: member))
    }
    /// Whether the member has got the newest version by its token, and waits for nothing.
    @inline(__always) func hasServed(_ member: MemberID, in table: borrowing MemberTable) -> Bool {
        // While the channel serves, only `byToken` shows for certain who has got the version.
        (!self.channel.serves || self.channel.byToken.served.contains(member))
            && table.flags(of: member).isDisjoint(with: [.isLate, .isInFlight]) && self.apart.retries[member] == nil
            && !self.comesRound(to: member, in: table)
    }
    /// Whether the newest version still has to be sent to the member by token.
    @inline(__always) func isOwed(_ member: MemberID, in table: borrowing MemberTable) -> Bool {
        table.flags(of: member).contains(.isLate) || self.apart.retries[member]?.isOwed == true
            || self.comesRound(to: member, in: table)
    }
    /// Whether the member waits for an alert in the retry set.
    @inline(__always) func awaitsAlert(_ member: MemberID) -> Bool { self.apart.retries[member]?.owesAlert == true }
    /// Whether the round brings the newest alert to the member.
    @inline(__always) func roundOwesAlert(_ member: MemberID, in table: borrowing MemberTable) -> Bool {
        self.course.isAlertAhead(table.position(of: member)) && !table.flags(of: member).contains(.isLate)
            && !self.apart.isQuiet(member) && !self.apart.skipped.contains(member)
    }
    /// Whether the member may still need an alert that is left to the channel.
    @inline(__always) func channelOwesAlert(_ member: MemberID, in table: borrowing MemberTable) -> Bool {
        // Late members, and members that were sent the version by token, do not need the alert. For members in the
        // retry set, `awaitsAlert` has the answer.
        !table.flags(of: member).contains(.isLate) && !self.channel.byToken.served.contains(member)
            && self.apart.retries[member] == nil
    }

    // MARK: Listeners
    /// Members that must not get the newest alert when it becomes owed to all. They joined while the newest version was
    /// broadcast, were sent that version by token, or had got the alert by token before. Some may still wait for an
    /// answer, or for their next attempt.
    var lateListeners: [MemberID] {
        let alerted = self.channel.byToken.alerted.filter { !self.awaitsAlert($0) }
        let waiting = self.channel.serves ? self.apart.retries.members.filter { !self.awaitsAlert($0) } : []
        return self.channel.byToken.served.union(alerted).union(self.apart.late.members).union(waiting).sorted {
            $0.rawValue < $1.rawValue
        }
    }
    /// Number of members that get the newest version by token, although a broadcast brings it to the others: those that
    /// were served, up to `ListenersByToken.countMax`, and late members.
    var lateListenerCount: Int { self.channel.byToken.served.count + self.apart.late.count }
}

extension Pass.Owed {
    static func - (before: Self, after: Self) -> Self {
        Self(all: before.all - after.all, alone: before.alone - after.alone)
    }
    static func += (sum: inout Self, other: Self) {
        sum.all += other.all
        sum.alone += other.alone
    }
}

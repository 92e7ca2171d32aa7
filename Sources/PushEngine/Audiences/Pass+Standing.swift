/// The state of a pass. What every push asks is inlined.
extension Pass {
    /// The channel's number among those of the crowd in this environment; `nil`: its members listen on none.
    @inline(__always) var channelNumber: UInt8? { self.channel.number }
    /// The channel's id; empty: they listen on none, or a restore has not met it.
    @inline(__always) var channelID: [UInt8] { self.channel.id }
    /// Whether the newest version reaches its members by broadcast.
    @inline(__always) var isServedByChannel: Bool { self.channel.serves }

    // MARK: What is owed
    /// Whether the newest version's round is over, and nobody is left behind.
    @inline(__always) var isFinished: Bool {
        !self.course.isUnderWay && self.apart.retries.count == 0 && self.apart.lateCount == 0
            && self.inFlight.count == 0
    }
    /// Number of members that are owed something and have not got it, those without an answer included. A member that
    /// is owed an alert alone, and the newest content after it, counts twice.
    @inline(__always) var waitingCount: Int { self.unsentCount + self.inFlight.count }
    /// Number of members that are owed something and wait for no answer.
    @inline(__always) var unsentCount: Int {
        self.course.aheadCount - self.apart.skipped.count + self.course.aloneCount + self.apart.owedCount
    }
    @inline(__always) var owed: Owed { Owed(all: self.waitingCount, alone: self.course.aloneCount) }

    // MARK: One member
    /// Whether the newest version's round reaches the member, and does not pass over it.
    @inline(__always) func comesRound(to member: MemberID, in table: borrowing MemberTable) -> Bool {
        !self.apart.skipped.contains(member) && self.course.isAhead(table.position(of: member))
    }
    /// Whether the member has the newest version by its token, and waits for nothing.
    @inline(__always) func hasServed(_ member: MemberID, in table: borrowing MemberTable) -> Bool {
        // A broadcast may not have reached it.
        (!self.channel.serves || self.channel.byToken.served.contains(member))
            && table.flags(of: member).isDisjoint(with: [.isLate, .isInFlight]) && self.apart.retries[member] == nil
            && !self.comesRound(to: member, in: table)
    }
    /// Whether the newest version has not reached the member by its token.
    @inline(__always) func isOwed(_ member: MemberID, in table: borrowing MemberTable) -> Bool {
        table.flags(of: member).contains(.isLate) || self.apart.retries[member]?.isOwed == true
            || self.comesRound(to: member, in: table)
    }
    /// Whether the member waits for an alert.
    @inline(__always) func awaitsAlert(_ member: MemberID) -> Bool { self.apart.retries[member]?.owesAlert == true }
    /// Whether the round brings the newest alert to the member.
    @inline(__always) func roundOwesAlert(_ member: MemberID, in table: borrowing MemberTable) -> Bool {
        self.course.isAlertAhead(table.position(of: member)) && !table.flags(of: member).contains(.isLate)
            && !self.apart.quiet.contains(member) && !self.apart.skipped.contains(member)
    }
    /// Whether an alert that is left to the channel is for the member.
    @inline(__always) func channelOwesAlert(_ member: MemberID, in table: borrowing MemberTable) -> Bool {
        // Nothing is owed to members that joined later, have been served since, or wait for the version without its
        // alert.
        !table.flags(of: member).contains(.isLate) && !self.channel.byToken.served.contains(member)
            && self.apart.retries[member] == nil
    }

    // MARK: Listeners
    /// Members that joined while the newest version was broadcast, or had its alert by their tokens before. An alert
    /// that is owed to all is not for them. Members that wait for it all the same are left out. Some wait for an answer
    /// first, or for their next attempt.
    var lateListeners: [MemberID] {
        let alerted = self.channel.byToken.alerted.filter { !self.awaitsAlert($0) }
        let waiting = self.channel.serves ? self.apart.retries.members.filter { !self.awaitsAlert($0) } : []
        return self.channel.byToken.served.union(alerted).union(self.apart.late.members).union(waiting).sorted {
            $0.rawValue < $1.rawValue
        }
    }
    /// Number of those members.
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

import PushModel

/// The channel that the members of a pass listen on. While the channel brings the newest version, members are owed
/// nothing by token, except for those that joined late or may miss the broadcast. If members do not listen, the pass
/// has a channel without a number, which never serves.
struct PassChannel {
    /// The channel's number among those of the crowd in one environment.
    let number: UInt8?
    /// The channel's id. Empty: there is none, or a restore has not read it.
    private(set) var id: [UInt8]
    /// Whether the newest version reaches the members by broadcast.
    private(set) var serves = false
    /// Members that were sent the newest version or alert by token.
    private(set) var byToken = ListenersByToken()
    /// Members that have lately begun to listen.
    private var recent = RecentListeners()

    init(number: UInt8?, id: [UInt8]) {
        self.number = number
        self.id = id
    }

    /// Sets the channel's id, which the first join or a restore has brought.
    mutating func named(_ id: [UInt8]) { self.id = id }
    /// Leaves a newer version to the channel.
    /// - Parameters:
    ///   - late: members that the newest alert is not for: see `Pass.lateListeners`. If the newer version's alert is
    ///     the same, it is not for them either.
    ///   - alertStampSeconds: the newest alert's stamp; `nil`: there is none.
    ///   - retries: what the ring's members wait for.
    mutating func began(late: [MemberID], alertStampSeconds: Int64?, retries: borrowing RetrySet) {
        for member in late { self.byToken.markServed(member) }
        self.byToken.take(alertStampSeconds: alertStampSeconds, retries: retries)
        self.serves = true
    }
    /// Resumes after a former owner left the newest version to the channel.
    mutating func resumed(alertStampSeconds: Int64?) {
        self.serves = true
        self.byToken.resume(alertStampSeconds: alertStampSeconds)
    }
    /// Ends the service: nothing is left to the channel from now on.
    mutating func ended() {
        self.serves = false
        self.byToken.removeAll()
    }
    /// Remembers a member that is sent the newest version by its token, if the channel serves.
    @inline(__always) mutating func served(_ member: MemberID) {
        if self.serves { self.byToken.markServed(member) }
    }
    /// Forgets a member that has left the ring, because another member may get the same number.
    mutating func left(_ member: MemberID) { self.byToken.forget(member) }
    /// Remembers a member that has said that it listens.
    mutating func listens(_ join: RecentListeners.Join) {
        if self.number != nil { self.recent.remember(join) }
    }
    /// Members of the ring that began to listen when a broadcast may have left already. Each is listed once, in an
    /// order that does not differ from run to run.
    /// - Parameter sinceMillis: earliest time at which the broadcast may have left, milliseconds since 1970.
    mutating func listeners(
        in ring: RingID, sinceMillis: Int64, nowMillis: Int64, table: borrowing MemberTable
    ) -> [RecentListeners.Join] {
        if let known = self.recent.joined(sinceMillis: sinceMillis) {
            // The last of a member's joins counts.
            var last: [RecentListeners.Join] = []
            var seen: Set<MemberID> = []
            for join in known.reversed()
            where table.ring(of: join.member) == ring
                && Int64(table.joinedSeconds(of: join.member)) >= sinceMillis / 1_000
                && seen.insert(join.member).inserted
            {
                last.append(join)
            }
            return last.reversed()
        }
        var listeners: [RecentListeners.Join] = []
        var entries: [RingEntry] = []
        var from: UInt64 = 0
        while from < RingPosition.end {
            entries.removeAll(keepingCapacity: true)
            from = table.fill(ring, from: from, limit: RecentListeners.countMax, into: &entries)
            for entry in entries {
                let join = RecentListeners.Join(
                    member: entry.member, joinedSeconds: table.joinedSeconds(of: entry.member), nowMillis: nowMillis)
                if join.joinedMillis >= sinceMillis { listeners.append(join) }
            }
        }
        return listeners
    }
}

import PushModel

/// How the members of a pass stand to the channel that they listen on: while it brings the newest version, nothing is owed to them but to those that joined
/// since. Members that listen on none have one without a number, which never serves.
struct PassChannel {
    /// Its number among those of the crowd in one environment.
    let number: UInt8?
    /// Empty: there is none, or a restore has not met it.
    private(set) var id: [UInt8]
    /// The newest version reaches the members by broadcast.
    private(set) var serves = false
    /// Members that have been served by their tokens since they joined.
    private(set) var byToken = ListenersByToken()
    /// Members that said lately that they listen.
    private var recent = RecentListeners()

    init(number: UInt8?, id: [UInt8]) {
        self.number = number
        self.id = id
    }

    /// The first member that joins tells its id, or a restore does.
    mutating func named(_ id: [UInt8]) { self.id = id }
    /// A newer version is left to it.
    /// - Parameters:
    ///   - late: members that joined while it served, and are not owed the alert: like those that have been served, they do not get it with the next version.
    ///   - alertStampSeconds: the newest alert's stamp; `nil`: there is none.
    ///   - retries: what the ring's members wait for.
    mutating func began(late: [MemberID], alertStampSeconds: Int64?, retries: borrowing RetrySet) {
        for member in late { self.byToken.noteServed(member) }
        self.byToken.take(alertStampSeconds: alertStampSeconds, retries: retries)
        self.serves = true
    }
    /// An owner before has left the newest version to it.
    mutating func resumed(alertStampSeconds: Int64?) {
        self.serves = true
        self.byToken.resume(alertStampSeconds: alertStampSeconds)
    }
    /// Tokens bring the next version.
    mutating func ended() {
        self.serves = false
        self.byToken.removeAll()
    }
    /// A member that joined while it serves has the newest version by its token, or has had it before.
    @inline(__always) mutating func served(_ member: MemberID) {
        if self.serves { self.byToken.noteServed(member) }
    }
    /// The member has left the ring: its number may be another's next.
    mutating func left(_ member: MemberID) { self.byToken.forget(member) }
    /// A member has said that it listens.
    mutating func listens(_ join: RecentListeners.Join) {
        if self.number != nil { self.recent.note(join) }
    }
    /// Members of its ring that said that they listen when a broadcast may have left already; each once, in an order that a seed repeats.
    /// - Parameter sinceMillis: it left then or later, milliseconds since 1970.
    mutating func listeners(
        in ring: RingID, sinceMillis: Int64, nowMillis: Int64, table: borrowing MemberTable
    ) -> [RecentListeners.Join] {
        if let known = self.recent.joined(sinceMillis: sinceMillis) {
            // The last of a member's joins is the one that stands.
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

import PushModel

/// Start members that wait for another attempt. APNs refused their push for now or did not process it. Or the members
/// have had all their starts of the hour, or have an unanswered push of an earlier start. If the app resends starts,
/// members whose push has an unknown result wait here, too.
///
/// A member is sent the start when its wait is over. Before that, `state` must have a record that does not name the
/// member, unless the app resends starts. After a takeover all members that the last record names are sent the start.
struct StartRetries {
    struct Entry {
        /// Earliest time of the next attempt (steady clock); `Int64.max`: not before the answer to a push of an earlier
        /// start.
        var notBeforeMillis: Int64
        var failures = FailureStreak.none
    }
    /// Number of waiting members at which a round stops.
    static let countMax = 1_024
    private var entries: [MemberID: Entry] = [:]
    /// The time before which no member is due (steady clock). It may be too early.
    private var earliestMillis: Int64 = .max
    /// Members that are named by the last acknowledged record, or by a record written since. The last record written
    /// does not count here: see `nextNamed`.
    private var named: Set<MemberID> = []
    /// Members that are named by the last record written.
    private var nextNamed: Set<MemberID> = []

    var count: Int { self.entries.count }
    var isFull: Bool { self.entries.count >= Self.countMax }
    var members: [MemberID] { self.entries.keys.sorted { $0.rawValue < $1.rawValue } }
    subscript(_ member: MemberID) -> Entry? { self.entries[member] }

    mutating func set(_ entry: Entry, for member: MemberID) {
        self.entries[member] = entry
        self.earliestMillis = min(self.earliestMillis, entry.notBeforeMillis)
    }
    @discardableResult mutating func remove(_ member: MemberID) -> Entry? {
        guard let entry = self.entries.removeValue(forKey: member) else { return nil }
        if self.entries.isEmpty { self.earliestMillis = .max }
        return entry
    }
    /// Forgets a member, because another may get its number.
    mutating func forget(_ member: MemberID) {
        self.remove(member)
        self.named.remove(member)
        self.nextNamed.remove(member)
    }

    // MARK: Due members
    /// The next member that may be sent the start. The member is not taken out.
    /// - Parameter sendsNamed: whether members that `state` names may be sent the start, too.
    mutating func nextDue(sendsNamed: Bool, nowMillis: Int64) -> MemberID? {
        self.firstDue(nowMillis: nowMillis) { sendsNamed || !$0.isNamed($1) }
    }
    /// When the next member may be sent the start (steady clock); `Int64.max`: not before a record or an answer, or no
    /// member waits.
    mutating func nextDueMillis(sendsNamed: Bool, nowMillis: Int64) -> Int64 {
        guard self.earliestMillis <= nowMillis else { return self.earliestMillis }
        if self.nextDue(sendsNamed: sendsNamed, nowMillis: nowMillis) != nil { return .min }
        return self.earliestMillis > nowMillis ? self.earliestMillis : self.laterMillis(than: nowMillis)
    }
    /// When the first member that a record names becomes due (steady clock). The time may be too early. The due member
    /// still has to wait for a record that no longer names it.
    mutating func nextNamedDueMillis(nowMillis: Int64) -> Int64 {
        guard !self.named.isEmpty || !self.nextNamed.isEmpty else { return .max }
        guard self.earliestMillis <= nowMillis else { return self.earliestMillis }
        if self.firstDue(nowMillis: nowMillis, where: { $0.isNamed($1) }) != nil { return .min }
        return self.laterMillis(than: nowMillis)
    }
    private func isNamed(_ member: MemberID) -> Bool { self.named.contains(member) || self.nextNamed.contains(member) }
    private func laterMillis(than nowMillis: Int64) -> Int64 {
        self.entries.values.reduce(.max) { $1.notBeforeMillis > nowMillis ? min($0, $1.notBeforeMillis) : $0 }
    }
    private mutating func firstDue(nowMillis: Int64, where isMeant: (Self, MemberID) -> Bool) -> MemberID? {
        guard self.earliestMillis <= nowMillis else { return nil }
        var first: (member: MemberID, millis: Int64)?
        var earliest = Int64.max
        for (member, entry) in self.entries {
            earliest = min(earliest, entry.notBeforeMillis)
            guard entry.notBeforeMillis <= nowMillis, isMeant(self, member) else { continue }
            // The member that is due earliest comes first, then the one with the lowest number. This order is the same
            // in each process, unlike a dictionary's.
            if let other = first, (other.millis, other.member.rawValue) < (entry.notBeforeMillis, member.rawValue) {
                continue
            }
            first = (member, entry.notBeforeMillis)
        }
        self.earliestMillis = earliest
        return first?.member
    }

    // MARK: Records
    /// Decides which members are named by the record that is about to be written.
    /// - Parameter namesAll: whether the record also names members that are due.
    /// - Returns: the members that it names.
    mutating func announce(nowMillis: Int64, namesAll: Bool) -> [MemberID] {
        let members = self.members.filter { namesAll || (self.entries[$0]?.notBeforeMillis ?? .min) > nowMillis }
        // A record that is on its way may still become the last one in `state`.
        self.named.formUnion(self.nextNamed)
        self.nextNamed = Set(members)
        return members
    }
    /// Takes Kafka's acknowledgement of the last record written. Members that it does not name may now be sent the
    /// start.
    mutating func announced() { self.named = self.nextNamed }
    /// Takes over the members that a restored record names.
    mutating func restoreNamed(_ members: [MemberID]) {
        for member in members { self.set(Entry(notBeforeMillis: .min, failures: FailureStreak(count: 1)), for: member) }
        self.named = Set(members)
        self.nextNamed = self.named
    }
    /// The first waiting members that the last record written does not name.
    func unnamed(max: Int) -> [MemberID] {
        guard self.unnamedCount > 0 else { return [] }
        return Array(self.members.lazy.filter { !self.nextNamed.contains($0) }.prefix(max))
    }
    /// Number of waiting members that the last record written does not name.
    var unnamedCount: Int { self.entries.keys.count { !self.nextNamed.contains($0) } }
}

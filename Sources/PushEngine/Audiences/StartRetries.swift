import PushModel

/// Start members that surely were not started: APNs refused them for now, or did not process the push. Each is sent to
/// again when its time comes, after a record that no longer names it. A takeover sends to everybody whom the last
/// record names.
struct StartRetries {
    struct Entry {
        /// No retry before this time, steady; `Int64.max`: the answer to a push of another start comes first.
        var notBeforeMillis: Int64
        var attempt: UInt8 = 0
    }
    /// Number of waiting members at which a round stops.
    static let countMax = 1_024
    private var entries: [MemberID: Entry] = [:]
    /// Before this time no member is due. It may be too early.
    private var earliestMillis: Int64 = .max
    /// The members that the last record in Kafka names, or a later one, and those that the last one written names.
    private var named: Set<MemberID> = []
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
    /// Forgets a member, whose number may be used again.
    mutating func forget(_ member: MemberID) {
        self.remove(member)
        self.named.remove(member)
        self.nextNamed.remove(member)
    }

    // MARK: Whose time has come
    /// The next member that may be sent to. It stays.
    /// - Parameter sendsNamed: whether members that `state` names count, too.
    mutating func nextDue(sendsNamed: Bool, nowMillis: Int64) -> MemberID? {
        self.firstDue(nowMillis: nowMillis) { sendsNamed || !$0.isNamed($1) }
    }
    /// When the next member may be sent to, steady; `Int64.max`: a record comes first, or an answer.
    mutating func nextDueMillis(sendsNamed: Bool, nowMillis: Int64) -> Int64 {
        guard self.earliestMillis <= nowMillis else { return self.earliestMillis }
        if self.nextDue(sendsNamed: sendsNamed, nowMillis: nowMillis) != nil { return .min }
        return self.earliestMillis > nowMillis ? self.earliestMillis : self.laterMillis(than: nowMillis)
    }
    /// When a record has to be written that no longer names a member whose time has come, steady.
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
            // A dictionary's order differs from process to process.
            if let other = first, (other.millis, other.member.rawValue) < (entry.notBeforeMillis, member.rawValue) {
                continue
            }
            first = (member, entry.notBeforeMillis)
        }
        self.earliestMillis = earliest
        return first?.member
    }

    // MARK: Records
    /// Decides whom the record names that is written now.
    /// - Parameter namesAll: whether it names members whose time has come, too.
    /// - Returns: the members it names.
    mutating func announce(nowMillis: Int64, namesAll: Bool) -> [MemberID] {
        let members = self.members.filter { namesAll || (self.entries[$0]?.notBeforeMillis ?? .min) > nowMillis }
        // A record that is on its way may still be written to `state`, and be the last there.
        self.named.formUnion(self.nextNamed)
        self.nextNamed = Set(members)
        return members
    }
    /// Notes that Kafka has the record.
    mutating func announced() { self.named = self.nextNamed }
    /// Takes over the members that a record names, after a restore.
    mutating func restoreNamed(_ members: [MemberID]) {
        for member in members { self.set(Entry(notBeforeMillis: .min, attempt: 1), for: member) }
        self.named = Set(members)
        self.nextNamed = self.named
    }
    /// Some of the members that the record on its way does not name.
    func unnamed(max: Int) -> [MemberID] {
        guard self.unnamedCount > 0 else { return [] }
        return Array(self.members.lazy.filter { !self.nextNamed.contains($0) }.prefix(max))
    }
    /// Number of members that the record on its way does not name.
    var unnamedCount: Int { self.entries.keys.count { !self.nextNamed.contains($0) } }
}

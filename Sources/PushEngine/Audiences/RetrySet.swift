import APNSProtocol
import PushModel

/// Members that a pass has met and not served: their push failed, or an older one is in flight still. They get what is newest when their time
/// comes.
struct RetrySet {
    struct Entry {
        /// Not before this; `Int64.max`: an answer comes first. Steady.
        var notBeforeMillis: Int64
        var attempt: UInt8 = 0
        /// The pass has gone by, and does not come to it again before it goes round for something newer.
        var isOwed: Bool
        /// It has not got the newest alert.
        var owesAlert = false
        /// The push may have the version's own priority.
        var mayBeHigh = false
        /// Stamp of the oldest version whose alert the member has missed; `max`: it has missed none that is older than the newest.
        var alertsMissedSinceSeconds: Int64 = .max
        /// After a restore: `state` does not say which alerts it has had, and one that sounds twice is better than none.
        static let mayHaveMissedAll: Int64 = 0
    }
    /// A pass stands still while as many wait that it has gone by.
    static let countMax = 1_024
    /// It stands still while as many wait at all, unless it has to come to each of them first.
    static let totalMax = 4_096
    private var entries: [MemberID: Entry] = [:]
    /// Before this none of the others is due; may be too early.
    private var othersDueMillis: Int64 = .max
    /// Members among these that are owed what they wait for.
    private(set) var owedCount = 0
    /// Due, in order; each may have left since.
    private var due: [MemberID] = []

    var count: Int { self.entries.count }
    /// Before this none is due; may be too early. Steady.
    var nextDueMillis: Int64 { self.due.isEmpty ? self.othersDueMillis : .min }
    var isFull: Bool {
        self.owedCount >= Self.countMax || self.owedCount > 0 && self.entries.count >= Self.totalMax
    }
    var members: [MemberID] { self.entries.keys.sorted { $0.rawValue < $1.rawValue } }
    subscript(_ member: MemberID) -> Entry? { self.entries[member] }

    /// The member waits, or waits for another time.
    mutating func set(_ entry: Entry, for member: MemberID) {
        if let old = self.entries[member], old.isOwed { self.owedCount -= 1 }
        if entry.isOwed { self.owedCount += 1 }
        self.entries[member] = entry
        self.othersDueMillis = min(self.othersDueMillis, entry.notBeforeMillis)
    }
    @discardableResult mutating func remove(_ member: MemberID) -> Entry? {
        guard let entry = self.entries.removeValue(forKey: member) else { return nil }
        if entry.isOwed { self.owedCount -= 1 }
        if self.entries.isEmpty { self.othersDueMillis = .max }
        return entry
    }

    /// The next member whose time has come; it stays in the set.
    mutating func nextDue(nowMillis: Int64) -> MemberID? {
        while true {
            while let member = self.due.popLast() {
                if let entry = self.entries[member], entry.notBeforeMillis <= nowMillis { return member }
            }
            guard self.othersDueMillis <= nowMillis else { return nil }
            self.gather(nowMillis: nowMillis)
            guard !self.due.isEmpty else { return nil }
        }
    }
    /// Looks at all once for all that are due.
    private mutating func gather(nowMillis: Int64) {
        self.othersDueMillis = .max
        for (member, entry) in self.entries {
            if entry.notBeforeMillis <= nowMillis {
                self.due.append(member)
            } else {
                self.othersDueMillis = min(self.othersDueMillis, entry.notBeforeMillis)
            }
        }
        // A dictionary's order differs from process to process.
        self.due.sort { first, second in
            let (one, other) = (self.entries[first]?.notBeforeMillis ?? 0, self.entries[second]?.notBeforeMillis ?? 0)
            return (one, first.rawValue) > (other, second.rawValue)
        }
    }

    /// A newer version goes round: what is owed is due by that.
    mutating func handOverToRound() {
        guard self.owedCount > 0 else { return }
        for member in Array(self.entries.keys) { self.entries[member]?.isOwed = false }
        self.owedCount = 0
    }
    /// They waited for a version that outlives the newest: they are owed it, should that expire before its round comes to them.
    mutating func remember(_ members: [MemberID]) {
        for member in members where self.entries[member] == nil && self.entries.count < Self.totalMax {
            self.set(Entry(notBeforeMillis: .max, isOwed: false), for: member)
        }
    }
    /// The newest version has expired, and the round of the one before has gone by the member: it is owed that.
    mutating func owe(_ member: MemberID) {
        if let entry = self.entries[member], !entry.isOwed {
            var owed = entry
            owed.isOwed = true
            // It waited for the round.
            if owed.notBeforeMillis == .max { owed.notBeforeMillis = .min }
            self.set(owed, for: member)
        }
    }
    /// Somebody waits for an alert.
    var owesAlert: Bool { self.entries.values.contains { $0.owesAlert } }
    /// Members that wait for an alert.
    var alertEntries: [(member: MemberID, entry: Entry)] {
        self.entries.filter { $0.value.owesAlert }.map { ($0.key, $0.value) }.sorted {
            $0.member.rawValue < $1.member.rawValue
        }
    }
    /// Somebody waits whose push may have priority 10.
    var mayBeHigh: Bool { self.entries.values.contains { $0.mayBeHigh } }
    /// A newer alert takes the place of that which some wait for.
    mutating func noteMissed(alertStampSeconds: Int64) {
        for member in Array(self.entries.keys) where self.entries[member]?.owesAlert == true {
            let since = self.entries[member]?.alertsMissedSinceSeconds ?? .max
            self.entries[member]?.alertsMissedSinceSeconds = min(since, alertStampSeconds)
        }
    }
    /// The newest alert has expired: who waited for it waits for an older one, unless it has had that.
    mutating func returnToAlert(where isMissed: (MemberID, Entry) -> Bool) {
        for (member, entry) in self.entries where entry.owesAlert && !isMissed(member, entry) {
            self.entries[member]?.owesAlert = false
        }
    }
    /// The alert was withdrawn.
    mutating func forgetAlerts() {
        for member in Array(self.entries.keys) where self.entries[member]?.owesAlert == true {
            self.entries[member]?.owesAlert = false
        }
    }
}

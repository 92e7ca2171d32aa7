import APNSProtocol
import PushModel

/// Members that a pass has met and not served: their push failed, or an older one is still in flight. They get what is
/// newest when their time comes.
struct RetrySet {
    struct Entry {
        /// No retry before this time; `Int64.max`: an answer comes first. Steady.
        var notBeforeMillis: Int64
        var attempt: UInt8 = 0
        /// Whether the pass has gone by, and returns to the member only with something newer.
        var isOwed: Bool
        /// Whether the member has not got the newest alert.
        var owesAlert = false
        /// Whether the push may have the version's own priority.
        var mayBeHigh = false
        /// Stamp of the oldest version whose alert the member has missed; `max`: it has missed none older than the
        /// newest.
        var alertsMissedSinceSeconds: Int64 = .max
        /// The value after a restore: `state` does not have which alerts the member has had. An alert that sounds twice
        /// is better than none.
        static let mayHaveMissedAll: Int64 = 0
    }
    /// Number of waiting members behind the pass at which it stops.
    static let countMax = 1_024
    /// Number of waiting members at which the pass stops, unless it has to reach each of them first.
    static let totalMax = 4_096
    private var entries: [MemberID: Entry] = [:]
    /// Before this time none of the other members is due. It may be too early.
    private var othersDueMillis: Int64 = .max
    /// Number of members that are owed what they wait for.
    private(set) var owedCount = 0
    /// Members that are due, in order. Each may have left since.
    private var due: [MemberID] = []

    var count: Int { self.entries.count }
    /// Before this time no member is due. It may be too early. Steady.
    var nextDueMillis: Int64 { self.due.isEmpty ? self.othersDueMillis : .min }
    var isFull: Bool {
        self.owedCount >= Self.countMax || self.owedCount > 0 && self.entries.count >= Self.totalMax
    }
    var members: [MemberID] { self.entries.keys.sorted { $0.rawValue < $1.rawValue } }
    subscript(_ member: MemberID) -> Entry? { self.entries[member] }

    /// Lets the member wait, or wait for another time.
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

    /// The next member whose time has come. It stays in the set.
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
    /// Collects all members that are due.
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

    /// Hands members over to the round of a newer version, which brings them what they are owed.
    mutating func handOverToRound() {
        guard self.owedCount > 0 else { return }
        for member in Array(self.entries.keys) { self.entries[member]?.isOwed = false }
        self.owedCount = 0
    }
    /// Remembers members that waited for a version which outlives the newest. They are owed it if the newest expires
    /// before its round reaches them.
    mutating func remember(_ members: [MemberID]) {
        for member in members where self.entries[member] == nil && self.entries.count < Self.totalMax {
            self.set(Entry(notBeforeMillis: .max, isOwed: false), for: member)
        }
    }
    /// Lets the member be owed the previous version: the newest has expired, and the previous one's round has gone by
    /// the member.
    mutating func owe(_ member: MemberID) {
        if let entry = self.entries[member], !entry.isOwed {
            var owed = entry
            owed.isOwed = true
            // The member waited for the round.
            if owed.notBeforeMillis == .max { owed.notBeforeMillis = .min }
            self.set(owed, for: member)
        }
    }
    /// Whether some member waits for an alert.
    var owesAlert: Bool { self.entries.values.contains { $0.owesAlert } }
    /// The members that wait for an alert.
    var alertEntries: [(member: MemberID, entry: Entry)] {
        self.entries.filter { $0.value.owesAlert }.map { ($0.key, $0.value) }.sorted {
            $0.member.rawValue < $1.member.rawValue
        }
    }
    /// Whether some waiting member's push may have priority 10.
    var mayBeHigh: Bool { self.entries.values.contains { $0.mayBeHigh } }
    /// Notes that a newer alert replaces the one that some members wait for.
    mutating func noteMissed(alertStampSeconds: Int64) {
        for member in Array(self.entries.keys) where self.entries[member]?.owesAlert == true {
            let since = self.entries[member]?.alertsMissedSinceSeconds ?? .max
            self.entries[member]?.alertsMissedSinceSeconds = min(since, alertStampSeconds)
        }
    }
    /// Returns to an older alert, as the newest has expired. Members that waited for the newest wait for the older one,
    /// unless they have had it.
    mutating func returnToAlert(where isMissed: (MemberID, Entry) -> Bool) {
        for (member, entry) in self.entries where entry.owesAlert && !isMissed(member, entry) {
            self.entries[member]?.owesAlert = false
        }
    }
    /// Drops the alert, which was withdrawn.
    mutating func forgetAlerts() {
        for member in Array(self.entries.keys) where self.entries[member]?.owesAlert == true {
            self.entries[member]?.owesAlert = false
        }
    }
}

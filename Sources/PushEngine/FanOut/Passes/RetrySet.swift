import APNSProtocol
import PushModel

/// Members that wait for a push apart from the round: a push to them has failed or is still in flight, or their phone
/// must rest. When their wait ends, they get what is newest then.
struct RetrySet {
    struct Entry {
        /// Earliest time of the next attempt (steady clock); `Int64.max`: not before an answer.
        var notBeforeMillis: Int64
        var failures = FailureStreak.none
        /// Whether the member is owed something that the newest version's round will not bring.
        var isOwed: Bool
        /// Whether the member still has to get the newest alert.
        var owesAlert = false
        /// Whether the push may have the version's own priority, unless the member has moved here within the hour.
        var mayBeHigh = false
        /// Stamp of the oldest version whose alert the member has missed; `max`: the member has missed at most the
        /// newest alert.
        var alertsMissedSinceSeconds: Int64 = .max
        /// Value of `alertsMissedSinceSeconds` when a restore does not know which alerts the member has had. It is
        /// better that an alert sounds twice than not at all.
        static let mayHaveMissedAll: Int64 = 0
    }
    /// Number of owed members at which the pass stops.
    static let countMax = 1_024
    /// Number of waiting members at which the pass stops, unless its round will still reach each of them.
    static let totalMax = 4_096
    private var entries: [MemberID: Entry] = [:]
    /// The time before which no member outside `due` is due (steady clock). It may be too early.
    private var othersDueMillis: Int64 = .max
    /// Number of members whose entries have `isOwed`.
    private(set) var owedCount = 0
    /// Members that are due, the next one last. Some may have left the set since.
    private var due: [MemberID] = []

    var count: Int { self.entries.count }
    /// The time before which no member is due (steady clock). It may be too early.
    var nextDueMillis: Int64 { self.due.isEmpty ? self.othersDueMillis : .min }
    var isFull: Bool {
        self.owedCount >= Self.countMax || self.owedCount > 0 && self.entries.count >= Self.totalMax
    }
    var members: [MemberID] { self.entries.keys.sorted { $0.rawValue < $1.rawValue } }
    subscript(_ member: MemberID) -> Entry? { self.entries[member] }

    /// Lets the member wait, or changes what it waits for.
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

    /// The next member that is due. The member stays in the set.
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
        // The sort makes the order the same in each process, unlike a dictionary's.
        self.due.sort { first, second in
            let (one, other) = (self.entries[first]?.notBeforeMillis ?? 0, self.entries[second]?.notBeforeMillis ?? 0)
            return (one, first.rawValue) > (other, second.rawValue)
        }
    }

    /// Leaves members to the round of a newer version, which brings them what they are owed.
    mutating func handOverToRound() {
        guard self.owedCount > 0 else { return }
        for member in Array(self.entries.keys) { self.entries[member]?.isOwed = false }
        self.owedCount = 0
    }
    /// Remembers members that waited for an older version, which expires later than the newest. They are owed the older
    /// version again if the newest version expires before its round reaches them.
    mutating func remember(_ members: [MemberID]) {
        for member in members where self.entries[member] == nil && self.entries.count < Self.totalMax {
            self.set(Entry(notBeforeMillis: .max, isOwed: false), for: member)
        }
    }
    /// Lets the member be owed the previous version. The newest has expired, and the previous version's round has
    /// already passed the member.
    mutating func owe(_ member: MemberID) {
        if let entry = self.entries[member], !entry.isOwed {
            var owed = entry
            owed.isOwed = true
            // The member waited for the newest version's round.
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
    /// Marks an alert as missed by the members that wait for it, because a newer alert replaces it.
    /// - Parameter alertStampSeconds: stamp of the alert that is replaced.
    mutating func markMissed(alertStampSeconds: Int64) {
        for member in Array(self.entries.keys) where self.entries[member]?.owesAlert == true {
            let since = self.entries[member]?.alertsMissedSinceSeconds ?? .max
            self.entries[member]?.alertsMissedSinceSeconds = min(since, alertStampSeconds)
        }
    }
    /// Returns to an older alert, because the newest has expired. Members that waited for the newest alert now wait for
    /// the older one, unless they have had it.
    mutating func returnToAlert(where isMissed: (MemberID, Entry) -> Bool) {
        for (member, entry) in self.entries where entry.owesAlert && !isMissed(member, entry) {
            self.entries[member]?.owesAlert = false
        }
    }
    /// Drops the alert: nobody waits for it now.
    mutating func forgetAlerts() {
        for member in Array(self.entries.keys) where self.entries[member]?.owesAlert == true {
            self.entries[member]?.owesAlert = false
        }
    }
}

import APNSProtocol
import PushModel

/// What became of the members of one version in one partition (fan-out contract: Member records). It is reported to the
/// audience's owner, and written as a `pass` record. A later report on the same version replaces it.
struct CrowdReport: Equatable {
    var stampSeconds: Int64 = 0
    /// Number of members by what became of them. `due` counts all members of the version, including those that joined
    /// late. `repeated` counts answers after which a member was tried again.
    var counts = MemberCounters()
    /// The reasons for which members were not served.
    var refusals = RefusalCounts()
    /// When APNs accepted the first push, wall milliseconds; 0: none yet.
    var firstAcceptedMillis: Int64 = 0
    var lastAcceptedMillis: Int64 = 0
    /// Number of members that a broadcast brings the version to, by environment; `due` does not count them. They are
    /// not part of progress: after a takeover the new owner counts listeners anew.
    var listeners = ListenerCounts()
    /// Whether a former owner of the partition counted the version, with counts that are not known here.
    var isOfOthers = false

    /// Number of members that are still owed the version, including those whose push is unanswered.
    var waitingCount: UInt64 {
        let ended = self.counts.endedCount
        // A member may be counted both with the newest version and with the version of an alert that goes alone. The
        // sum of ends may then exceed `due`.
        return self.counts.due > ended ? self.counts.due - ended : 0
    }

    mutating func countAccepted(wallMillis: Int64) {
        self.counts.accepted += 1
        if self.firstAcceptedMillis == 0 { self.firstAcceptedMillis = wallMillis }
        self.lastAcceptedMillis = wallMillis
    }
    /// Counts members for whom the version is settled.
    /// - Parameter count: number of members. Below 0: that many more members are owed the version. As far as possible
    ///   they are taken from those counted as superseded; the others are added to `due`.
    mutating func count(_ count: Int, into settlement: MemberSettlement) {
        if count < 0 {
            let superseded = min(self.counts.superseded, UInt64(count.magnitude))
            self.counts.superseded -= superseded
            self.counts.due += UInt64(count.magnitude) - superseded
        } else {
            self.counts.count(settlement, UInt64(count))
        }
    }
    mutating func count(_ end: MemberEnd, _ answer: PushAnswer, wallMillis: Int64) {
        if case .accepted = answer.result { return self.countAccepted(wallMillis: wallMillis) }
        switch end {
        case .ended(let settlement): self.counts.count(settlement)
        case .waits: self.counts.repeated += 1
        }
    }
    mutating func count(_ response: PushResponse, isOfMessage: Bool) {
        self.refusals.count(status: response.status, reason: response.reason, isOfMessage: isOfMessage)
    }
    /// Continues counting under a new owner of the partition. Waiting members are taken out of the counts, because
    /// the new owner counts them again.
    mutating func resume() { self.counts.due -= min(self.counts.due, self.waitingCount) }
    /// Adds counts of another report, as if all had been counted here.
    mutating func add(_ other: CrowdReport) {
        for field in MemberCounters.fields(ofStarts: false) {
            self.counts[keyPath: field.path] &+= other.counts[keyPath: field.path]
        }
        self.listeners.add(other.listeners)
        self.refusals.add(other.refusals)
        let firsts = [self.firstAcceptedMillis, other.firstAcceptedMillis].filter { $0 > 0 }
        self.firstAcceptedMillis = firsts.min() ?? 0
        self.lastAcceptedMillis = max(self.lastAcceptedMillis, other.lastAcceptedMillis)
    }
}

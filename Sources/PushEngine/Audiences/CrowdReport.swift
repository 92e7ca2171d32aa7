import APNSProtocol
import PushModel

/// What became of the members of one version in one partition (fan-out contract: Member records): told to the audience's owner, and written as a `pass` record. A
/// later one of the same version replaces it.
struct CrowdReport: Equatable {
    var stampSeconds: Int64 = 0
    /// `due` are its members; those that joined late are among them. `repeated` are answers after which a member was tried again.
    var counts = MemberCounters()
    /// Reasons that ended what a member was due.
    var refusals = RefusalCounts()
    /// Wall milliseconds; 0: none.
    var firstAcceptedMillis: Int64 = 0
    var lastAcceptedMillis: Int64 = 0
    /// Members that a broadcast brings it to, by environment; none of them is among `due`. Not part of progress: after
    /// a takeover the new owner counts the listeners anew.
    var listeners = ListenerCounts()
    /// Another owner of the partition has counted its pass, and has not said how far it came.
    var isOfOthers = false

    /// Members that are owed it still, those without an answer included.
    var waitingCount: UInt64 {
        let ended =
            self.counts.accepted + self.counts.superseded + self.counts.expired + self.counts.gone + self.counts.failed
            + self.counts.left
        // Members are counted with either version when an alert is sent alone.
        return self.counts.due > ended ? self.counts.due - ended : 0
    }

    mutating func noteAccepted(wallMillis: Int64) {
        self.counts.accepted += 1
        if self.firstAcceptedMillis == 0 { self.firstAcceptedMillis = wallMillis }
        self.lastAcceptedMillis = wallMillis
    }
    /// - Parameter count: below 0, that many members that had been settled for a newer version are owed it again, or
    ///   joined meanwhile.
    mutating func note(_ count: Int, into settlement: MemberSettlement) {
        if count < 0 {
            let superseded = min(self.counts.superseded, UInt64(count.magnitude))
            self.counts.superseded -= superseded
            self.counts.due += UInt64(count.magnitude) - superseded
        } else {
            self.counts.count(settlement, UInt64(count))
        }
    }
    mutating func note(_ end: MemberEnd, _ answer: PushAnswer, wallMillis: Int64) {
        if case .accepted = answer.result { return self.noteAccepted(wallMillis: wallMillis) }
        switch end {
        case .ended(let settlement): self.counts.count(settlement)
        case .waits: self.counts.repeated += 1
        }
    }
    mutating func note(_ response: PushResponse, isOfMessage: Bool) {
        self.refusals.note(status: response.status, reason: response.reason, isOfMessage: isOfMessage)
    }
    /// A new owner of the partition goes on counting; who waits is counted anew.
    mutating func resume() { self.counts.due -= min(self.counts.due, self.waitingCount) }
    /// As if all had been counted here.
    mutating func add(_ other: CrowdReport) {
        for field in Self.fields { self.counts[keyPath: field] &+= other.counts[keyPath: field] }
        self.listeners.add(other.listeners)
        self.refusals.add(other.refusals)
        let firsts = [self.firstAcceptedMillis, other.firstAcceptedMillis].filter { $0 > 0 }
        self.firstAcceptedMillis = firsts.min() ?? 0
        self.lastAcceptedMillis = max(self.lastAcceptedMillis, other.lastAcceptedMillis)
    }

    /// What is counted, in the order in which it is written.
    static var fields: [WritableKeyPath<MemberCounters, UInt64>] {
        [\.due, \.accepted, \.superseded, \.expired, \.gone, \.failed, \.left, \.repeated]
    }
}

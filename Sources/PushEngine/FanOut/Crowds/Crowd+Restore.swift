import PushModel

/// Resumes a crowd's passes after a takeover (fan-out contract: Takeover of a pass).
extension Crowd {
    /// Resumes a pass from where the progress says.
    /// - Parameters:
    ///   - joins: late joins that the progress does not cover.
    ///   - notBeforeMillis: earliest time of a push (steady clock). A former owner may have pushed until shortly
    ///     before.
    /// - Returns: what the pass's members are owed; `nil`: there is no version.
    mutating func restore(
        pass: Int, from progress: borrowing PassesRecord, joins: [RestoredJoin], notBeforeMillis: Int64,
        in table: inout MemberTable
    ) -> Pass.Owed? {
        self.restoreRound(pass: pass, from: progress, joins: joins, notBeforeMillis: notBeforeMillis, in: &table)
        return self.versions.isEmpty ? nil : self.passes[pass].owed
    }
    private mutating func restoreRound(
        pass: Int, from progress: borrowing PassesRecord, joins: [RestoredJoin], notBeforeMillis: Int64,
        in table: inout MemberTable
    ) {
        let ring = self.passes[pass].ring
        var part = PassesRecord.PassPart()
        if let known = progress.part(of: self.passes[pass]) {
            part = known
        } else {
            // The pass's first member joined after the record, so all members of the pass are late.
            part.untils = self.versions.kept.map { ($0.stampSeconds, 0) }
        }
        let untils = self.versions.kept.map { version in
            part.untils.first { $0.stampSeconds == version.stampSeconds }?.until ?? part.position
        }
        // The progress may name an alert whose version is not known here.
        let isAlertHere = self.versions.alert != nil
        self.passes[pass].restore(
            position: part.position, untils: untils, aloneUntil: isAlertHere ? part.aloneUntil : nil,
            alertUntil: isAlertHere ? part.alertUntil : 0,
            alertStampSeconds: self.versions.alert?.stampSeconds ?? 0,
            highUntil: part.highUntil, frequentHighUntil: part.frequentHighUntil, horizon: part.horizon,
            notBeforeMillis: notBeforeMillis, in: table)
        var finder = RingFinder(ring: ring)
        let comers = Self.comers(among: part, joins: joins, at: &finder, in: table)
        guard !self.versions.isEmpty else {
            // No version that the progress covers is kept. Only the alert's round continues.
            return isAlertHere
                ? self.restoreAlert(pass: pass, from: part, joins: joins, comers: comers, at: &finder, in: table) : ()
        }
        let skipped = Set(part.skipped)
        for waiting in part.waiting {
            let member = finder.member(at: waiting.position, in: table)
            // The round skips a member that was served before the round reached it, even if the push is unanswered.
            let isAhead =
                self.passes[pass].course.isAhead(UInt64(waiting.position)) && !skipped.contains(waiting.position)
            // A member may wait for the alert while an older push to it is in flight.
            let owesAlert =
                waiting.owesAlert && !comers.contains(member)
                || self.passes[pass].awaitsAlert(member)
            guard member.isSome, !isAhead || owesAlert || self.passes[pass].course.keepsOlder else { continue }
            self.passes[pass].restoreWaiting(
                member, isAhead: isAhead, owesAlert: owesAlert,
                alertsMissedSinceSeconds: owesAlert ? RetrySet.Entry.mayHaveMissedAll : .max)
        }
        for position in part.skipped {
            let member = finder.member(at: position, in: table)
            if member.isSome, self.passes[pass].course.isAhead(UInt64(position)) {
                self.passes[pass].restoreSkipped(member)
            }
        }
        for position in part.quiet {
            let member = finder.member(at: position, in: table)
            if member.isSome, self.passes[pass].course.isAlertAhead(UInt64(position)) {
                self.passes[pass].restoreQuiet(member)
            }
        }
        for join in joins
        where table.ring(of: join.member) == ring && !table.flags(of: join.member).contains(.isLate)
            && self.passes[pass].apart.retries[join.member] == nil
            && !self.passes[pass].apart.skipped.contains(join.member)
        {
            self.passes[pass].restoreLate(join.member, offset: join.offset, in: &table)
        }
    }
    /// Resumes only the round of the alert. The newest version has not been taken yet, so none of its content is owed.
    private mutating func restoreAlert(
        pass: Int, from part: PassesRecord.PassPart, joins: [RestoredJoin], comers: Set<MemberID>,
        at finder: inout RingFinder, in table: borrowing MemberTable
    ) {
        for waiting in part.waiting where waiting.owesAlert {
            let member = finder.member(at: waiting.position, in: table)
            guard member.isSome, !comers.contains(member) else { continue }
            self.passes[pass].restoreWaiting(
                member, isAhead: true, owesAlert: true, alertsMissedSinceSeconds: RetrySet.Entry.mayHaveMissedAll)
        }
        for position in part.quiet {
            let member = finder.member(at: position, in: table)
            if member.isSome { self.passes[pass].restoreQuiet(member) }
        }
        let ring = self.passes[pass].ring
        for join in joins where table.ring(of: join.member) == ring { self.passes[pass].restoreQuiet(join.member) }
    }
    /// Members that waited for an alert when the progress was written, and have joined again since. They left in
    /// between, so the alert is no longer for them.
    private static func comers(
        among part: PassesRecord.PassPart, joins: [RestoredJoin], at finder: inout RingFinder,
        in table: borrowing MemberTable
    ) -> Set<MemberID> {
        var waiting: Set<MemberID> = []
        for entry in part.waiting where entry.owesAlert {
            waiting.insert(finder.member(at: entry.position, in: table))
        }
        guard !waiting.isEmpty else { return [] }
        let anew = joins.lazy.filter { $0.owedAlertStampSeconds == 0 }.map(\.member)
        return Set(anew.filter { waiting.contains($0) })
    }
    /// Restores the newest alert for a member that started or stopped listening before the alert had reached it. Only
    /// the member's record says that the alert is owed: no progress record does.
    /// - Returns: what is owed in addition; `nil`: nothing.
    mutating func restoreOwedAlert(_ join: RestoredJoin, in table: borrowing MemberTable) -> Pass.Owed? {
        guard let alert = self.versions.alert, !self.versions.isEmpty,
            join.owedAlertStampSeconds == alert.stampSeconds,
            let pass = self.passIndex(of: table.ring(of: join.member)), !self.passes[pass].awaitsAlert(join.member)
        else { return nil }
        let before = self.passes[pass].owed
        let isAhead = self.passes[pass].comesRound(to: join.member, in: table)
        self.passes[pass].restoreWaiting(join.member, isAhead: isAhead, owesAlert: true)
        return self.passes[pass].owed - before
    }
    /// Restores the channel of a pass whose members listen, and who got the newest version by token.
    /// - Parameter joins: joins that the progress does not cover.
    mutating func restoreListening(
        pass: Int, from progress: borrowing PassesRecord, joins: [RestoredJoin],
        in table: borrowing MemberTable
    ) {
        guard self.passes[pass].channelNumber != nil, let part = progress.part(of: self.passes[pass]),
            let listening = part.listening
        else { return }
        self.passes[pass].named(channelID: listening.id)
        guard listening.isServed, let newest = self.versions.newest else { return }
        var finder = RingFinder(ring: self.passes[pass].ring)
        var served: [MemberID] = []
        for position in part.skipped {
            let member = finder.member(at: position, in: table)
            if member.isSome { served.append(member) }
        }
        // If a known member began to listen after the newest version's event, it already had that version by token.
        for join in joins
        where join.isKnown && table.ring(of: join.member) == finder.ring
            && Int64(table.joinedSeconds(of: join.member)) >= newest.layer.recordMillis / 1_000
        {
            served.append(join.member)
        }
        self.passes[pass].resumeChannel(alertStampSeconds: self.versions.alert?.stampSeconds, served: served)
    }
}

extension PassesRecord {
    /// The progress of a pass; `nil`: the first member of the pass joined after the record.
    func part(of pass: borrowing Pass) -> PassesRecord.PassPart? {
        let (environment, number) = (pass.environment, pass.channelNumber)
        return self.passes.first { $0.environment == environment && $0.listening?.number == number }
    }
}

/// Finds members of a ring by the positions that a progress record has.
struct RingFinder {
    let ring: RingID
    private var entries: [RingEntry] = []

    init(ring: RingID) { self.ring = ring }
    /// The member at that position; `none`: it has left.
    mutating func member(at position: Int64, in table: borrowing MemberTable) -> MemberID {
        self.entries.removeAll(keepingCapacity: true)
        _ = table.fill(self.ring, from: UInt64(position), limit: 1, into: &self.entries)
        return self.entries.first { $0.position == UInt64(position) }?.member ?? .none
    }
}

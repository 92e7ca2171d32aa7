import PushModel

/// Resumes a crowd's passes after a takeover (fan-out contract: Takeover of a pass).
extension Crowd {
    /// Resumes a pass where the progress says.
    /// - Parameters:
    ///   - joins: late joins that the progress does not cover.
    ///   - notBeforeMillis: earliest time of a push, steady. A former owner may have pushed until shortly before.
    mutating func restore(
        pass: Int, from progress: borrowing PassesRecord, joins: [RestoredJoin], notBeforeMillis: Int64,
        in table: inout MemberTable
    ) {
        let ring = self.passes[pass].ring
        var part = PassesRecord.PassPart()
        if let known = progress.part(of: self.passes[pass]) {
            part = known
        } else {
            // Its first member joined after the record, so all of its members are late.
            part.untils = self.versions.kept.map { ($0.stampSeconds, 0) }
        }
        let untils = self.versions.kept.map { version in
            part.untils.first { $0.stampSeconds == version.stampSeconds }?.until ?? part.position
        }
        // Progress may name the alert of a version that is not here.
        let isAlertHere = self.versions.alert != nil
        self.passes[pass].restore(
            position: part.position, untils: untils, aloneUntil: isAlertHere ? part.aloneUntil : nil,
            alertUntil: isAlertHere ? part.alertUntil : 0,
            highUntil: part.highUntil, frequentHighUntil: part.frequentHighUntil, horizon: part.horizon,
            notBeforeMillis: notBeforeMillis, in: table)
        var places = RingPlaces(ring: ring)
        let comers = Self.comers(among: part, joins: joins, at: &places, in: table)
        guard !self.versions.isEmpty else {
            // All versions here are newer than the progress, except for the alert.
            return isAlertHere
                ? self.restoreAlert(pass: pass, from: part, joins: joins, comers: comers, at: &places, in: table) : ()
        }
        let skipped = Set(part.skipped)
        for waiting in part.waiting {
            let member = places.member(at: waiting.position, in: table)
            // The round skips a member that was served before the round reached it, whether or not that push has
            // arrived.
            let isAhead =
                self.passes[pass].course.isAhead(UInt64(waiting.position)) && !skipped.contains(waiting.position)
            // A member may wait while an older push is in flight.
            let owesAlert =
                waiting.owesAlert && !comers.contains(member)
                || self.passes[pass].awaitsAlert(member)
            guard member.isSome, !isAhead || owesAlert || self.passes[pass].course.keepsOlder else { continue }
            self.passes[pass].restoreWaiting(
                member, isAhead: isAhead, owesAlert: owesAlert,
                alertsMissedSinceSeconds: owesAlert ? RetrySet.Entry.mayHaveMissedAll : .max)
        }
        for position in part.skipped {
            let member = places.member(at: position, in: table)
            if member.isSome, self.passes[pass].course.isAhead(UInt64(position)) {
                self.passes[pass].restoreSkipped(member)
            }
        }
        for position in part.quiet {
            let member = places.member(at: position, in: table)
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
    /// Resumes the round of an alert whose newest version has not been taken: nothing of that is owed yet.
    private mutating func restoreAlert(
        pass: Int, from part: PassesRecord.PassPart, joins: [RestoredJoin], comers: Set<MemberID>,
        at places: inout RingPlaces, in table: borrowing MemberTable
    ) {
        for waiting in part.waiting where waiting.owesAlert {
            let member = places.member(at: waiting.position, in: table)
            guard member.isSome, !comers.contains(member) else { continue }
            self.passes[pass].restoreWaiting(
                member, isAhead: true, owesAlert: true, alertsMissedSinceSeconds: RetrySet.Entry.mayHaveMissedAll)
        }
        for position in part.quiet {
            let member = places.member(at: position, in: table)
            if member.isSome { self.passes[pass].restoreQuiet(member) }
        }
        let ring = self.passes[pass].ring
        for join in joins where table.ring(of: join.member) == ring { self.passes[pass].restoreQuiet(join.member) }
    }
    /// Members that wait for an alert, and have joined anew since. They had left meanwhile, so the alert is not for
    /// them now.
    private static func comers(
        among part: PassesRecord.PassPart, joins: [RestoredJoin], at places: inout RingPlaces,
        in table: borrowing MemberTable
    ) -> Set<MemberID> {
        var waiting: Set<MemberID> = []
        for entry in part.waiting where entry.owesAlert {
            waiting.insert(places.member(at: entry.position, in: table))
        }
        guard !waiting.isEmpty else { return [] }
        let anew = joins.lazy.filter { $0.owedAlertStampSeconds == 0 }.map(\.member)
        return Set(anew.filter { waiting.contains($0) })
    }
    /// Resumes a pass whose members listen, as its progress says.
    /// - Parameter joins: joins of members that `state` has since that progress.
    mutating func restoreListening(
        pass: Int, from progress: borrowing PassesRecord, joins: [RestoredJoin],
        in table: borrowing MemberTable
    ) {
        guard self.passes[pass].channelNumber != nil, let part = progress.part(of: self.passes[pass]),
            let listening = part.listening
        else { return }
        self.passes[pass].named(channelID: listening.id)
        guard listening.isServed, let newest = self.versions.newest else { return }
        var places = RingPlaces(ring: self.passes[pass].ring)
        var served: [MemberID] = []
        for position in part.skipped {
            let member = places.member(at: position, in: table)
            if member.isSome { served.append(member) }
        }
        // A member that said that it listens after the newest version's event already had that version.
        for join in joins
        where join.isKnown && table.ring(of: join.member) == places.ring
            && Int64(table.joinedSeconds(of: join.member)) >= newest.layer.recordMillis / 1_000
        {
            served.append(join.member)
        }
        self.passes[pass].resumeChannel(alertStampSeconds: self.versions.alert?.stampSeconds, served: served)
    }
}

extension PassesRecord {
    /// The progress of a pass; `nil`: its first member joined later.
    func part(of pass: borrowing Pass) -> PassesRecord.PassPart? {
        let (environment, number) = (pass.environment, pass.channelNumber)
        return self.passes.first { $0.environment == environment && $0.listening?.number == number }
    }
}

/// Finds members of a ring by their positions, as progress names them.
struct RingPlaces {
    let ring: RingID
    private var entries: [RingEntry] = []

    init(ring: RingID) { self.ring = ring }
    /// The member at that position; none: it has left.
    mutating func member(at position: Int64, in table: borrowing MemberTable) -> MemberID {
        self.entries.removeAll(keepingCapacity: true)
        _ = table.fill(self.ring, from: UInt64(position), limit: 1, into: &self.entries)
        return self.entries.first { $0.position == UInt64(position) }?.member ?? .none
    }
}

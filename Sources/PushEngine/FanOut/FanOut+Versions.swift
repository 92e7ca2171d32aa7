import PushModel

/// How versions arrive in a partition (fan-out contract: Versions in a partition, Supersession).
extension FanOut {
    /// The crowd that a record of the bus is about; `nil`: this partition has none.
    private func crowd(_ bundleID: [UInt8], key: Span<UInt8>, in core: borrowing ShardCore) -> CrowdID? {
        self.crowds.find(
            reference: CrowdTable.reference(bundleID: bundleID.span, id: key), partition: core.intake.partition)
    }

    mutating func takeVersions(
        _ record: BusRecord.Versions, key: Span<UInt8>, in core: inout ShardCore, now: EngineTime
    ) {
        // A crowd without a name takes no versions. A join that is read again will name the crowd, and ask for the
        // versions.
        guard let crowd = self.crowd(record.bundleID, key: key, in: core), self.crowds[crowd].isNamed else { return }
        self.expireVersions(crowd, in: &core, now: now)
        var taken: Int64?
        for version in record.versions where self.crowds[crowd].takes(version) {
            self.take(version, crowd: crowd, in: &core, now: now)
            taken = version.stampSeconds
        }
        guard let taken else {
            guard let newest = record.versions.last, self.takeChannels(of: newest, crowd: crowd, in: &core, now: now)
            else {
                // No version is new here. The owner, perhaps a new one, may not know what was reported of these
                // versions.
                if self.crowds[crowd].askedAgain(record.versions) { self.schedule(crowd, in: &core, now: now) }
                return
            }
            return self.keepVersions(crowd, taken: nil, in: &core, now: now)
        }
        // Only the newest version carries the start. Older versions are kept only because they expire later.
        if let newest = record.versions.last { self.takeStart(newest.start, crowd: crowd, in: &core, now: now) }
        self.keepVersions(crowd, taken: taken, in: &core, now: now)
    }
    /// Writes the versions down. The offset of the record that brought them is resolved when `state` has the versions,
    /// even if these have reached nobody.
    /// - Parameter stampSeconds: stamp of a version that is new here; `nil`: only the way of the newest version has
    ///   changed, to channels or to tokens.
    private mutating func keepVersions(
        _ crowd: CrowdID, taken stampSeconds: Int64?, in core: inout ShardCore, now: EngineTime
    ) {
        let entry = core.journal.ledger.open(log: core.intake.log, offset: core.intake.record.offset, settled: false)
        self.writeVersions(crowd, entry: entry, in: &core)
        self.crowds[crowd].awaitVersions()
        self.expireVersions(crowd, in: &core, now: now)
        self.writeProgress(crowd, in: &core, now: now)
        self.crowds[crowd].awaitProgress()
        self.beginPassTraces(crowd, taken: stampSeconds, in: &core, now: now)
        self.schedule(crowd, in: &core, now: now)
    }
    /// Writes the crowd's versions.
    /// - Parameter entry: settled once Kafka has the record.
    mutating func writeVersions(_ crowd: CrowdID, entry: EntryID, in core: inout ShardCore) {
        self.crowds[crowd].versionsWritten()
        core.journal.writeVersions(of: crowd, self.crowds[crowd], entry: entry, in: &core.memory)
    }
    /// Takes Kafka's acknowledgement of a record of a crowd's versions.
    mutating func versionsAcknowledged(
        _ crowd: CrowdID, generation: UInt32, number: UInt32, in core: inout ShardCore, now: EngineTime
    ) {
        guard self.crowds.contains(crowd, generation: generation),
            self.crowds[crowd].versionsAcknowledged(number)
        else { return }
        self.schedule(crowd, in: &core, now: now)
    }
    /// Takes a newer version, no matter how far the passes are.
    mutating func take(_ version: Version, crowd: CrowdID, in core: inout ShardCore, now: EngineTime) {
        if self.crowds[crowd].isOfOtherLife(version) { self.endLife(of: crowd, in: &core) }
        let formerAlertStampSeconds = self.crowds[crowd].alertStampSeconds
        let dropped = self.crowds[crowd].take(version)
        let members = self.crowds.members(of: crowd)
        self.carryOut(self.crowds[crowd].beginReport(of: version, members: members.table), of: crowd, in: &core)
        let distanceMillis = core.memory.distanceMillis(self.crowds[crowd])
        self.settleEach(of: crowd, into: .superseded, in: &core) { crowd, pass, table in
            crowd.goRound(
                version, pass: pass, dropping: dropped, formerAlertStampSeconds: formerAlertStampSeconds,
                distanceMillis: distanceMillis, now: now, in: &table)
        }
        self.endPassTrace(crowd, .superseded, in: &core)
        self.sendFormerReports(crowd, in: &core)
    }
    /// Drops the versions of a former life. From now on nobody is sent them.
    private mutating func endLife(of crowd: CrowdID, in core: inout ShardCore) {
        self.settleEach(of: crowd, into: .superseded, in: &core) { $0.endRounds(pass: $1, in: &$2) }
        self.crowds[crowd].endLife()
    }

    // MARK: Time
    /// Gives up versions that may no longer be sent. If the newest version expires, members that this version has
    /// not reached get the newest version that has not expired.
    @inline(__always) mutating func expireVersions(_ crowd: CrowdID, in core: inout ShardCore, now: EngineTime) {
        if self.crowds[crowd].hasExpired(nowSeconds: now.wallSeconds) { self.expire(crowd, in: &core, now: now) }
    }
    @inline(never) private mutating func expire(_ crowd: CrowdID, in core: inout ShardCore, now: EngineTime) {
        if let alert = self.crowds[crowd].expireAlert(nowSeconds: now.wallSeconds) {
            self.settleEach(of: crowd, into: .expired, in: &core) { $0.expireAlert(pass: $1, alert, in: $2) }
        }
        let members = self.crowds.members(of: crowd)
        let wasTraced = self.traces.isTraced(crowd)
        var resumesTrace = false
        while self.crowds[crowd].expireNewest(nowSeconds: now.wallSeconds) {
            for pass in self.crowds[crowd].passIndices {
                let expired = self.crowds[crowd].expireNewest(pass: pass, in: &members.table)
                self.carryOut(expired.effects, of: crowd, in: &core)
                core.memory.counters.members.expired &+= UInt64(truncatingIfNeeded: expired.owed)
                core.memory.counters.members.due &+= UInt64(truncatingIfNeeded: expired.left)
                self.countWaiting(expired.left - expired.owed, in: &core)
            }
            self.endPassTrace(crowd, .expired, in: &core)
            self.carryOut(self.crowds[crowd].returnToFormerReport(members: members.table), of: crowd, in: &core)
            resumesTrace = wasTraced
        }
        if resumesTrace { self.resumePassTraces(crowd, in: &core, now: now) }
    }

    // MARK: Voids
    /// Takes a void: the owner has forgotten the audience.
    mutating func takeVoid(_ void: BusRecord.Void, key: Span<UInt8>, in core: inout ShardCore, now: EngineTime) {
        guard let crowd = self.crowd(void.bundleID, key: key, in: core), self.crowds[crowd].isEnded(by: void)
        else { return }
        // The life is written down when a join that is read again has named the crowd.
        guard self.crowds[crowd].isNamed else {
            return self.crowds[crowd].endLife(void.life, isEnded: void.isEnded)
        }
        let entry = core.journal.ledger.open(log: core.intake.log, offset: core.intake.record.offset, settled: false)
        self.ceaseStart(crowd, into: \.superseded, in: &core, now: now)
        guard !self.crowds.hasOnlyStarts(crowd),
            self.crowds[crowd].isOver(
                by: void, lifetimeMillis: core.memory.configuration.settings.lifetimeMillis,
                nowSeconds: now.wallSeconds)
        else { return self.keepAfterVoid(crowd, void, entry: entry, in: &core, now: now) }
        self.crowds[crowd].voidCame(ofLife: void.life)
        core.journal.writeVoided(of: crowd, self.crowds[crowd], entry: entry, in: &core.memory)
        self.voids.left(core.intake.partition)
        self.beginLeaving(crowd, in: &core)
    }
    /// Milliseconds after a void until the owner is asked again. An owner whose clock is ahead answers with another
    /// void.
    static var askAgainMillis: Int64 { 5_000 }
    /// Keeps a crowd that has only start members, or whose members joined after the audience's last event. The members
    /// wait for the audience's next event.
    private mutating func keepAfterVoid(
        _ crowd: CrowdID, _ void: BusRecord.Void, entry: EntryID, in core: inout ShardCore, now: EngineTime
    ) {
        self.endLife(of: crowd, in: &core)
        self.endPassTrace(crowd, .voided, in: &core)
        self.crowds[crowd].endLife(void.life, isEnded: void.isEnded)
        // The crowd is written down, so that the next owner of the partition asks the audience's owner, too.
        self.writeVersions(crowd, entry: entry, in: &core)
        self.askLater(crowd, in: core, now: now)
        self.schedule(crowd, in: &core, now: now)
    }
    private mutating func beginLeaving(_ crowd: CrowdID, in core: inout ShardCore) {
        self.settleEach(of: crowd, into: .left, in: &core) { $0.endRounds(pass: $1, keepsChannel: true, in: &$2) }
        self.endPassTrace(crowd, .voided, in: &core)
        self.recordAtTheEnd(of: crowd, in: &core)
        // Members that join from now on belong to the next life.
        self.crowds.void(crowd)
        self.deadlines.remove(crowd)
    }
    /// Maximum number of members of a voided audience, or of leavers, that are removed in one step.
    static var leavingMax: Int { 1_024 }
    /// Milliseconds between two steps in which members of a voided audience are removed.
    static var leavingEveryMillis: Int64 { 50 }
    /// Removes some members of a crowd whose audience is over, or whose name has stayed unknown.
    mutating func removeSome(of crowd: CrowdID, in core: inout ShardCore, now: EngineTime) {
        let members = self.crowds.members(of: crowd)
        let some = self.crowds[crowd].someMembers(limit: Self.leavingMax, in: members.table)
        for entry in some { self.remove(entry.member, members: members, in: &core, now: now) }
        // Pushes in flight keep the crowd in memory, because their answers are counted there.
        guard some.isEmpty, !self.removeSomeStarts(of: crowd, in: &core), !self.crowds[crowd].hasPushInFlight else {
            return self.deadlines.set(now.steadyMillis + Self.leavingEveryMillis, for: crowd)
        }
        // If the follower has no name yet, `state` has records of its members only, so all tombstones may be written.
        let follower = self.crowds.follower(of: crowd).flatMap { self.crowds[$0].isNamed ? $0 : nil }
        // `state` may still have the versions of the life that is over. So far the void's record says that the life is
        // over, but `writeTombstones` deletes that record. The record written here then says it.
        if let follower { self.writeVersions(follower, entry: .none, in: &core) }
        core.journal.writeTombstones(of: self.crowds[crowd], keepsOthers: follower != nil, in: &core.memory)
        self.deadlines.remove(crowd)
        self.crowds.remove(crowd)
    }
}

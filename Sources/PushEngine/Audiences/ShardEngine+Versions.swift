import PushModel

/// Versions that arrive in a partition (fan-out contract: Versions in a partition, Supersession).
extension ShardEngine {
    /// Takes a record of `routed` that is no event, and is not counted as one. What it leaves undone keeps its offset
    /// open.
    mutating func consumeBus(_ kind: RoutedKind, key: Span<UInt8>, value: Span<UInt8>, now: EngineTime) {
        do throws(StateError) {
            switch kind {
            case .event: return
            case .question:
                let question = try BusRecord.Question(value)
                self.passBusRecord()
                self.takeQuestion(question, key: key, now: now)
            case .report:
                let report = try BusRecord.Report(value)
                self.passBusRecord()
                self.takeReport(report, key: key, now: now)
            case .version:
                let versions = try BusRecord.Versions(value, topicHashes: self.journal.topicHashes, now: now)
                self.passBusRecord()
                self.takeVersions(versions, key: key, now: now)
            case .void:
                let void = try BusRecord.Void(value)
                self.passBusRecord()
                self.takeVoid(void, key: key, now: now)
            case .pause:
                let pause = try BusRecord.Pause(value)
                self.passBusRecord()
                self.takePause(pause, key: key, now: now)
            case .channelWish:
                let wish = try BusRecord.ChannelWish(value)
                self.passBusRecord()
                self.takeWish(wish, key: key, now: now)
            case .channelNews:
                let news = try BusRecord.ChannelNews(value)
                self.passBusRecord()
                self.takeNews(news, key: key, now: now)
            case .keptQuestion:
                let question = try BusRecord.KeptQuestion(value)
                self.passBusRecord()
                self.takeKeptQuestion(question, key: key)
            case .keptAnswer:
                let answer = try BusRecord.KeptAnswer(value)
                self.passBusRecord()
                self.takeKeptAnswer(answer, key: key, now: now)
            case .unknown: self.stopPartition("holds a record of kind “\(self.intake.kindName)”")
            }
        } catch {
            self.stopPartition("holds a record that cannot be understood: \(error)")
        }
    }
    /// Notes that the record is understood, so that reading goes on behind it. An unknown record is never skipped.
    private mutating func passBusRecord() {
        self.journal.ledger.consumed(log: self.intake.log, offset: self.intake.record.offset)
    }
    /// Stops the partition: only a newer release can go on (contract: Unknown kinds).
    private mutating func stopPartition(_ reason: String) {
        let partition = self.intake.partition
        let topic = self.memory.configuration.inputTopics[Int(self.intake.record.topic)]
        let reason =
            "\(topic)[\(self.intake.record.partition)]@\(self.intake.record.offset) \(reason); a newer release wrote it"
        if self.memory.partitions[partition].stopped(reason) { self.ownership.watch(partition) }
    }
    func app(named bundleID: [UInt8]) -> UInt16? {
        self.memory.configuration.apps.firstIndex { $0.bundleID.utf8.elementsEqual(bundleID) }.map { UInt16($0) }
    }
    /// The crowd that a record of the bus is about; `nil`: there is none here.
    private func crowd(_ bundleID: [UInt8], key: Span<UInt8>) -> CrowdID? {
        self.audiences.crowds.find(
            reference: CrowdTable.reference(bundleID: bundleID.span, id: key), partition: self.intake.partition)
    }

    private mutating func takeVersions(_ record: BusRecord.Versions, key: Span<UInt8>, now: EngineTime) {
        guard let crowd = self.crowd(record.bundleID, key: key) else { return }
        self.expireVersions(crowd, now: now)
        var taken: Int64?
        for version in record.versions where self.audiences.crowds[crowd].versions.takes(version) {
            self.take(version, crowd: crowd, now: now)
            taken = version.stampSeconds
        }
        guard let taken else {
            guard let newest = record.versions.last, self.takeTurn(of: newest, crowd: crowd, now: now) else {
                return self.answerAgain(crowd, record.versions, now: now)
            }
            return self.keepVersions(crowd, taken: nil, now: now)
        }
        // Versions beneath the newest outlive it, and have no start.
        if let newest = record.versions.last { self.takeStart(of: newest, crowd: crowd, now: now) }
        self.keepVersions(crowd, taken: taken, now: now)
    }
    /// Keeps the versions. The offset is done with when `state` has them, even if they have reached nobody.
    /// - Parameter stampSeconds: stamp of a version that was not there before; `nil`: the newest goes another way.
    private mutating func keepVersions(_ crowd: CrowdID, taken stampSeconds: Int64?, now: EngineTime) {
        let entry = self.journal.ledger.open(
            log: self.intake.log, offset: self.intake.record.offset, settled: false)
        self.writeVersions(crowd, entry: entry)
        self.audiences.crowds[crowd].awaitVersions()
        self.expireVersions(crowd, now: now)
        self.writeProgress(crowd, now: now)
        self.audiences.crowds[crowd].awaitProgress()
        self.beginPassTraces(crowd, taken: stampSeconds, now: now)
        self.schedule(crowd, now: now)
    }
    /// - Parameter entry: settled once Kafka has the record.
    mutating func writeVersions(_ crowd: CrowdID, entry: EntryID) {
        self.audiences.crowds[crowd].versionsWritten()
        self.journal.writeVersions(crowd, entry: entry, in: &self.memory, audiences: self.audiences)
    }
    /// Notes that Kafka has a record of a crowd's versions.
    mutating func versionsAcknowledged(_ crowd: CrowdID, generation: UInt32, number: UInt32, now: EngineTime) {
        guard self.audiences.crowds.contains(crowd, generation: generation),
            self.audiences.crowds[crowd].versionsAcknowledged(number)
        else { return }
        self.schedule(crowd, now: now)
    }
    /// Takes a newer version, wherever the passes are.
    mutating func take(_ version: Version, crowd: CrowdID, now: EngineTime) {
        if version.life != self.audiences.crowds[crowd].versions.life { self.endLife(of: crowd) }
        let alert = self.audiences.crowds[crowd].versions.alert
        let dropped = self.audiences.crowds[crowd].take(version)
        self.beginReport(crowd, of: version)
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        for pass in self.audiences.crowds[crowd].passes.indices {
            let before = self.owed(crowd, pass: pass, alert: alert)
            if version.hasAlert, let alert {
                self.audiences.crowds[crowd].passes[pass].alertReplaced(stampSeconds: alert.stampSeconds)
            }
            let count = members.table.count(of: self.audiences.crowds[crowd].passes[pass].ring)
            if self.audiences.crowds[crowd].passes[pass].channelNumber != nil,
                self.isLeftToChannel(version, crowd: crowd, pass: pass, count: count, before: before, now: now)
            {
                continue
            }
            self.audiences.crowds[crowd].goRound(version, pass: pass, dropping: dropped, in: &members.table)
            self.settleMembers(
                crowd, pass: pass, before: before, due: count, isNewerThere: true, into: .superseded)
        }
        self.endPassTrace(crowd, .superseded)
        self.tellFormerReports(crowd)
    }
    /// Drops what was shown before: it belongs to another life and is sent to nobody now.
    private mutating func endLife(of crowd: CrowdID) {
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        for pass in self.audiences.crowds[crowd].passes.indices {
            let before = self.owed(crowd, pass: pass, alert: self.audiences.crowds[crowd].versions.alert)
            self.audiences.crowds[crowd].endRounds(pass: pass, in: &members.table)
            self.settleMembers(crowd, pass: pass, before: before, into: .superseded)
        }
        self.audiences.crowds[crowd].endLife()
    }

    // MARK: Time
    /// Gives up versions that may no longer be sent. Members that the newest has not served get the one before that has
    /// not expired.
    mutating func expireVersions(_ crowd: CrowdID, now: EngineTime) {
        if self.audiences.crowds[crowd].versions.isAlertExpired(nowSeconds: now.wallSeconds) {
            let alert = self.audiences.crowds[crowd].versions.alert
            let former = self.audiences.crowds[crowd].expireAlert(nowSeconds: now.wallSeconds)
            let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
            for pass in self.audiences.crowds[crowd].passes.indices {
                let before = self.owed(crowd, pass: pass, alert: alert)
                self.audiences.crowds[crowd].expireAlert(pass: pass, returningTo: former, in: members.table)
                self.settleMembers(crowd, pass: pass, before: before, into: .expired)
            }
        }
        guard self.audiences.crowds[crowd].versions.isNewestExpired(nowSeconds: now.wallSeconds) else { return }
        let wasTraced = self.audiences.traces.isTraced(crowd)
        while self.audiences.crowds[crowd].versions.isNewestExpired(nowSeconds: now.wallSeconds) {
            self.audiences.crowds[crowd].expireNewest()
            for pass in self.audiences.crowds[crowd].passes.indices { self.expireNewest(crowd, pass: pass) }
            self.endPassTrace(crowd, .expired)
            self.returnToFormerReport(crowd)
        }
        if wasTraced { self.resumePassTraces(crowd, now: now) }
    }
    private mutating func expireNewest(_ crowd: CrowdID, pass: Int) {
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        let expired = self.audiences.crowds[crowd].expireNewest(pass: pass, in: &members.table)
        self.carryOut(self.audiences.crowds[crowd].aloneSuperseded(expired.aloneBefore - expired.alone), of: crowd)
        self.memory.counters.members.expired &+= UInt64(truncatingIfNeeded: expired.owed)
        self.memory.counters.members.due &+= UInt64(truncatingIfNeeded: expired.left)
        self.noteWaiting(expired.left - expired.owed)
        self.audiences.crowds[crowd].expired(expired.owed - expired.aloneBefore)
        self.audiences.crowds[crowd].revived(expired.left - expired.alone)
    }

    // MARK: Voids
    /// Takes a void: the audience's owner has forgotten it.
    private mutating func takeVoid(_ void: BusRecord.Void, key: Span<UInt8>, now: EngineTime) {
        guard let crowd = self.crowd(void.bundleID, key: key), self.audiences.crowds[crowd].versions.life <= void.life
        else { return }
        let entry = self.journal.ledger.open(
            log: self.intake.log, offset: self.intake.record.offset, settled: false)
        self.ceaseStart(crowd, into: \.superseded, now: now)
        guard !self.audiences.crowds.hasOnlyStarts(crowd),
            self.audiences.crowds[crowd].isOver(
                by: void, lifetimeMillis: self.memory.configuration.settings.lifetimeMillis,
                nowSeconds: now.wallSeconds)
        else { return self.keepAfterVoid(crowd, void, entry: entry, now: now) }
        self.audiences.crowds[crowd].voidCame(ofLife: void.life)
        self.journal.writeVoided(crowd, entry: entry, in: &self.memory, audiences: self.audiences)
        self.audiences.voids.left(self.intake.partition)
        self.beginLeaving(crowd)
    }
    /// Milliseconds after a void until the owner is asked again. Its clock may be ahead, so that it answers with
    /// another void.
    static var askAgainMillis: Int64 { 5_000 }
    /// Keeps a crowd whose members joined since the audience's last event: they wait for its next one.
    private mutating func keepAfterVoid(
        _ crowd: CrowdID, _ void: BusRecord.Void, entry: EntryID, now: EngineTime
    ) {
        self.endLife(of: crowd)
        self.endPassTrace(crowd, .voided)
        self.audiences.crowds[crowd].endLife(void.life, isEnded: void.isEnded)
        // It is written down, so that an owner that restores it asks.
        self.writeVersions(crowd, entry: entry)
        self.sweepAfterVoid(crowd, now: now)
        self.audiences.crowds[crowd].ask(atMillis: now.steadyMillis + Self.askAgainMillis)
        self.schedule(crowd, now: now)
    }
    private mutating func beginLeaving(_ crowd: CrowdID) {
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        for pass in self.audiences.crowds[crowd].passes.indices {
            let before = self.owed(crowd, pass: pass, alert: self.audiences.crowds[crowd].versions.alert)
            self.audiences.crowds[crowd].passes[pass].reset(in: &members.table)
            self.settleMembers(crowd, pass: pass, before: before, into: .left)
        }
        self.endPassTrace(crowd, .voided)
        self.recordAtTheEnd(of: crowd)
        // A join from here on is of another life.
        self.audiences.crowds.void(crowd)
        self.audiences.deadlines.remove(crowd)
    }
    /// Number of members of a voided audience whose tombstones are written at a time, and the time until the next.
    static var leavingMax: Int { 1_024 }
    static var leavingEveryMillis: Int64 { 50 }
    /// Removes some members of a crowd whose audience is over.
    mutating func removeSome(of crowd: CrowdID, now: EngineTime) {
        let partition = self.audiences.crowds[crowd].partition
        let members = self.audiences.crowds.members(of: partition)
        for pass in self.audiences.crowds[crowd].passes.indices {
            let ring = self.audiences.crowds[crowd].passes[pass].ring
            self.audiences.scratchEntries.removeAll(keepingCapacity: true)
            _ = members.table.fill(ring, from: 0, limit: Self.leavingMax, into: &self.audiences.scratchEntries)
            guard !self.audiences.scratchEntries.isEmpty else { continue }
            for entry in self.audiences.scratchEntries {
                self.remove(entry.member, members: members, now: now)
            }
            return self.audiences.deadlines.set(now.steadyMillis + Self.leavingEveryMillis, for: crowd)
        }
        if self.removeSomeStarts(of: crowd) {
            return self.audiences.deadlines.set(now.steadyMillis + Self.leavingEveryMillis, for: crowd)
        }
        // Answers that arrive are counted here.
        guard self.audiences.crowds[crowd].passes.allSatisfy({ $0.inFlight.count == 0 }) else {
            return self.audiences.deadlines.set(now.steadyMillis + Self.leavingEveryMillis, for: crowd)
        }
        let follower = self.audiences.crowds.find(
            reference: self.audiences.crowds[crowd].reference, partition: partition)
        // The next life's crowd may have had no version yet. The versions in `state` are of this life, and nothing will
        // say that it is over.
        if let follower { self.writeVersions(follower, entry: .none) }
        self.journal.writeCrowdTombstones(
            crowd, keepsOthers: follower != nil, in: &self.memory, audiences: self.audiences)
        self.audiences.deadlines.remove(crowd)
        for pass in self.audiences.crowds[crowd].passes { members.table.removeRing(pass.ring) }
        self.audiences.crowds.remove(crowd)
    }
}

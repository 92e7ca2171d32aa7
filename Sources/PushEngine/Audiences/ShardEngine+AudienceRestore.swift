import PushModel

/// Restores audiences and members from `state` after a takeover (fan-out contract: Takeover of a pass).
extension ShardEngine {
    /// Restores a member's record.
    /// - Parameter token: the raw token.
    mutating func restoreMember(
        _ token: Span<UInt8>, reader: inout StateReader, partition: PartitionIndex, offset: Int64, now: EngineTime
    ) throws(StateError) -> RestoreResult? {
        guard !token.isEmpty, token.count <= MemberTable.tokenByteCountMax else {
            throw .malformed("a member with a token of \(token.count) bytes")
        }
        let member = try MemberRecord(&reader)
        guard self.memory.isBelieved(member.epoch, partition: partition) else { return nil }
        self.restoreOrigin(member.formerOrigin, of: token, partition: partition, recordOffset: offset)
        self.restoreOrigin(member.origin, of: token, partition: partition, recordOffset: offset)
        guard !member.hasLeft else {
            self.restoreMemberTombstone(token, partition: partition)
            self.restoreLeaver(member, token: token, partition: partition, now: now)
            return .restored
        }
        let crowd =
            self.audiences.crowds.find(reference: member.reference, partition: partition)
            ?? self.audiences.crowds.make(app: 0, id: [], reference: member.reference, partition: partition)
        // Older progress may exist, and whether a void counts depends on when the last member joined.
        self.audiences.crowds[crowd].joined(seconds: member.joinedSeconds)
        let members = self.audiences.crowds.members(of: partition)
        // Another ring is made only for the first member of an audience and environment.
        guard
            members.table.hasRoomForRing
                || self.audiences.crowds[crowd].passes.contains(where: { $0.environment == member.environment }),
            members.table.hasRoomForUpdateMember(tokenByteCount: token.count) || members.table.find(token).isSome
        else {
            throw .malformed("one member more than a partition can hold")
        }
        let pass = self.audiences.crowds.passIndex(
            crowd, environment: member.environment, number: member.channelNumber)
        let ring = self.audiences.crowds[crowd].passes[pass].ring
        var flags: MemberFlags = member.isFrequent ? .isFrequent : []
        if member.isMoved { flags.formUnion(.isMoved) }
        var id = members.table.find(token)
        if id.isNone {
            id = members.table.insert(token, in: ring, joinedSeconds: member.joinedSeconds, flags: flags)
            self.memory.counters.membersHeld += 1
        } else {
            if members.table.ring(of: id) != ring { members.table.move(id, to: ring) }
            members.table.setFlags(flags, of: id)
            members.table.setJoinedSeconds(member.joinedSeconds, of: id)
        }
        if member.channelNumber != nil {
            self.audiences.crowds[crowd].passes[pass].listens(
                RecentListeners.Join(
                    member: id, joinedSeconds: member.joinedSeconds, nowMillis: now.wallMillis))
        }
        if !member.isKnown || member.owedAlertStampSeconds != 0 || member.channelNumber != nil {
            self.audiences.crowds[crowd].restored(
                RestoredJoin(
                    member: id, isKnown: member.isKnown, offset: offset,
                    owedAlertStampSeconds: member.owedAlertStampSeconds))
        }
        return .restored
    }
    /// Restores which forwarded record of the token was taken last.
    private mutating func restoreOrigin(
        _ origin: MemberRecord.Origin?, of token: Span<UInt8>, partition: PartitionIndex, recordOffset: Int64
    ) {
        guard let origin, let topic = self.journal.topicHashes.firstIndex(of: origin.topicHash) else { return }
        self.audiences.forwarded.restore(
            SourcePosition(topic: UInt16(topic), partition: origin.partition, offset: origin.offset),
            of: Audiences.DepartedKey(partition: partition, position: RingPosition.of(token)),
            recordOffset: recordOffset)
    }
    /// Restores a member's tombstone.
    mutating func restoreMemberTombstone(_ token: Span<UInt8>, partition: PartitionIndex) {
        self.audiences.leavers.restore(
            nil, of: Audiences.DepartedKey(partition: partition, position: RingPosition.of(token)))
        guard let members = self.audiences.crowds.membersIfAny(of: partition), !token.isEmpty else { return }
        let member = members.table.find(token)
        guard member.isSome else { return }
        // The joins that were read still have its number.
        members.table.unlink(member)
        members.unlinked.append(member)
        self.memory.counters.membersHeld -= 1
    }
    /// Restores a record about a crowd.
    mutating func restoreCrowd(
        _ kind: StateCodec.Kind, key: Span<UInt8>, reader: inout StateReader, partition: PartitionIndex, now: EngineTime
    ) throws(StateError) -> RestoreResult? {
        guard let (_, app, id) = self.journal.texts.crowdKey(ofState: key) else {
            self.memory.partitions[partition].metOtherApp()
            return .ignored
        }
        let reference = CrowdTable.reference(
            bundleID: self.intake.bundleID(app: app).span, id: id.span)
        func crowd(_ engine: inout ShardEngine) -> CrowdID {
            let crowd =
                engine.audiences.crowds.find(reference: reference, partition: partition)
                ?? engine.audiences.crowds.make(app: app, id: id, reference: reference, partition: partition)
            if engine.audiences.crowds[crowd].id.isEmpty {
                engine.audiences.crowds[crowd].restoredName(app: app, id: id)
            }
            return crowd
        }
        switch kind {
        case .progress:
            let progress = try PassesRecord(&reader)
            guard self.memory.isBelieved(progress.epoch, partition: partition) else { return nil }
            self.audiences.crowds[crowd(&self)].restored(progress)
        case .versions:
            let record = try VersionsRecord(&reader, topicHashes: self.journal.topicHashes, now: now)
            guard self.memory.isBelieved(record.epoch, partition: partition) else { return nil }
            self.audiences.crowds[crowd(&self)].restored(record)
        case .voided:
            let record = try VoidedRecord(&reader)
            guard self.memory.isBelieved(record.epoch, partition: partition) else { return nil }
            let crowd = crowd(&self)
            self.audiences.crowds[crowd].restoredVoid(ofLife: record.life)
            self.audiences.crowds.leave(crowd)
            _ = self.audiences.crowds.moveStarts(from: crowd, pushes: &self.audiences.pushes)
        case .startProgress:
            let progress = try StartProgressRecord(&reader)
            guard self.memory.isBelieved(progress.epoch, partition: partition) else { return nil }
            let crowd = crowd(&self)
            self.audiences.crowds[crowd].starts.progressRead(progress, now: now)
        case .activity, .marker, .channel, .audience, .member, .startMember, .paused, .keptChannel: return .ignored
        }
        return .restored
    }
    /// Restores a tombstone of a record about a crowd.
    mutating func restoreCrowdTombstone(_ key: Span<UInt8>, partition: PartitionIndex) {
        guard let (record, app, id) = self.journal.texts.crowdKey(ofState: key) else { return }
        let reference = CrowdTable.reference(bundleID: self.intake.bundleID(app: app).span, id: id.span)
        guard let crowd = self.audiences.crowds.find(reference: reference, partition: partition) else { return }
        self.audiences.crowds[crowd].restoredTombstone(of: record)
    }

    // MARK: Going on
    /// Ends the restore when the last record has been read. Passes go on from where they were.
    mutating func settleRestoredCrowds(_ partition: PartitionIndex, now: EngineTime) {
        for crowd in self.audiences.crowds.crowds(of: partition) {
            if self.audiences.crowds[crowd].id.isEmpty, self.audiences.crowds[crowd].standing == .living {
                // The record with its name was lost with the former owner, which has not committed the joins. They come
                // again, and name it.
                self.forgetTargets(of: crowd)
                self.audiences.crowds[crowd].forgetRestored()
                // Another worker serves their app, or this one will after a restart. They stay as they are.
                guard !self.memory.partitions[partition].hasCrowdsOfOtherApps else { continue }
                self.audiences.deadlines.set(now.steadyMillis + Self.namelessMillis, for: crowd)
                continue
            }
            switch self.audiences.crowds[crowd].standing {
            case .gone: continue
            case .toBeVoided, .leaving:
                self.audiences.crowds[crowd].forgetRestored()
                self.audiences.deadlines.set(now.steadyMillis, for: crowd)
            case .living:
                self.readPause(crowd)
                self.settleRestored(crowd, now: now)
            }
        }
        self.audiences.leavers.settle(partition)
        guard let members = self.audiences.crowds.membersIfAny(of: partition) else { return }
        for member in members.unlinked { members.table.free(member) }
        members.unlinked = []
    }
    /// Forgets what members are owed: their rings may have been made while there were versions, and a tombstone has
    /// said since that those are over.
    private mutating func forgetTargets(of crowd: CrowdID) {
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        for pass in self.audiences.crowds[crowd].passes.indices {
            self.audiences.crowds[crowd].passes[pass].reset(in: &members.table)
        }
    }
    /// Milliseconds after which members of an audience whose name is still unknown are removed.
    static var namelessMillis: Int64 { 600_000 }
    private mutating func settleRestored(_ crowd: CrowdID, now: EngineTime) {
        let partition = self.audiences.crowds[crowd].partition
        let members = self.audiences.crowds.members(of: partition)
        let restored = self.audiences.crowds[crowd].resume(nowMillis: now.steadyMillis)
        let progress = restored.progress
        self.carryOut(self.audiences.crowds[crowd].resumeReports(from: progress, now: now), of: crowd)
        for pass in self.audiences.crowds[crowd].passes.indices {
            self.audiences.crowds[crowd].restore(
                pass: pass, from: progress, joins: restored.lateJoins,
                notBeforeMillis: self.memory.partitions[partition].formerOwnerQuietSinceMillis
                    + self.distanceMillis(crowd),
                in: &members.table)
            let hasVersions = !self.audiences.crowds[crowd].versions.isEmpty
            if hasVersions {
                self.noteDue(crowd, pass: pass, before: Owed())
                self.audiences.crowds[crowd].aloneRestored(pass: pass)
            }
            self.audiences.crowds[crowd].restoreListening(
                pass: pass, from: progress, joins: restored.joins, in: members.table)
            if hasVersions { self.changeWay(crowd, pass: pass, now: now) }
        }
        self.audiences.crowds[crowd].settleAlert(owedTo: restored.owedJoins)
        if let newest = self.audiences.crowds[crowd].versions.newest {
            self.takeStart(of: newest, crowd: crowd, now: now)
        }
        for version in restored.newer { self.take(version, crowd: crowd, now: now) }
        self.restoreOwedAlerts(crowd, joins: restored.owedJoins, members: members)
        if let newest = restored.newest, !restored.newer.isEmpty {
            self.takeStart(of: newest, crowd: crowd, now: now)
        }
        if let order = self.audiences.crowds[crowd].starts.restored.order {
            self.takeStart(order, crowd: crowd, now: now)
        }
        self.settleRestoredStarts(crowd, now: now)
        self.audiences.crowds[crowd].resumed(restored)
        if restored.newest == nil {
            // The question may have been lost with the former owner.
            self.journal.ask(crowd, entry: .none, in: &self.memory, audiences: self.audiences)
        }
        self.expireVersions(crowd, now: now)
        self.resumePassTraces(crowd, now: now)
        self.schedule(crowd, now: now)
    }
    /// Restores alerts owed to members that started or stopped listening before the newest alert had reached them, and
    /// that no progress covers.
    private mutating func restoreOwedAlerts(_ crowd: CrowdID, joins: [RestoredJoin], members: CrowdTable.Members) {
        guard let alert = self.audiences.crowds[crowd].versions.alert, !self.audiences.crowds[crowd].versions.isEmpty
        else {
            return
        }
        for join in joins where join.owedAlertStampSeconds == alert.stampSeconds {
            guard let pass = self.audiences.crowds[crowd].passIndex(of: members.table.ring(of: join.member)),
                !self.audiences.crowds[crowd].passes[pass].awaitsAlert(join.member)
            else { continue }
            let isAhead = self.audiences.crowds[crowd].passes[pass].comesRound(to: join.member, in: members.table)
            let before = self.owed(crowd, pass: pass, alert: alert)
            self.audiences.crowds[crowd].passes[pass].restoreWaiting(join.member, isAhead: isAhead, owesAlert: true)
            self.noteDue(crowd, pass: pass, before: before)
        }
    }

    // MARK: Leaving
    /// Writes what passes have done since their last record, as the partition is given back.
    mutating func writeCrowds(of partition: PartitionIndex, now: EngineTime) {
        for crowd in self.audiences.crowds.crowds(of: partition)
        where self.audiences.crowds[crowd].standing == .living && self.audiences.crowds[crowd].records.isProgressDue {
            self.writeProgress(crowd, now: now)
        }
        for crowd in self.audiences.crowds.crowds(of: partition) where self.audiences.crowds[crowd].standing == .living
        {
            self.releaseStarts(crowd, now: now)
            self.endPassTraces(crowd, .handedOver)
        }
    }
    /// Removes everything of the partition from memory at once.
    mutating func forgetCrowds(of partition: PartitionIndex) {
        for crowd in self.audiences.crowds.crowds(of: partition) {
            self.audiences.deadlines.remove(crowd)
            self.endPassTraces(crowd, .handedOver)
            self.forgetStarts(crowd)
            for pass in self.audiences.crowds[crowd].passes.indices {
                let waiting = self.audiences.crowds[crowd].passes[pass].waitingCount
                self.memory.counters.members.handedOver &+= UInt64(truncatingIfNeeded: waiting)
                self.noteWaiting(-waiting)
            }
            self.uncount(crowd)
        }
        if let members = self.audiences.crowds.membersIfAny(of: partition) {
            self.memory.counters.membersHeld -= members.table.count
        }
        self.audiences.pushes.forget(partition: partition)
        self.audiences.forwarded.forget(partition: partition)
        self.audiences.leavers.forget(partition)
        self.audiences.voids.forget(partition: partition)
        self.audiences.departed = self.audiences.departed.filter { $0.key.partition != partition }
        self.audiences.crowds.removePartition(partition)
        self.audiences.pauses.forget(partition: partition)
    }
}

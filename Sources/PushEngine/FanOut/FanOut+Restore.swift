import PushModel

/// Restores crowds and members from `state` after a takeover (fan-out contract: Takeover of a pass).
extension FanOut {
    /// Restores a member's record.
    /// - Parameter token: the raw token.
    mutating func restoreMember(
        _ token: Span<UInt8>, reader: inout StateReader, partition: PartitionIndex, offset: Int64,
        in core: inout ShardCore, now: EngineTime
    ) throws(StateError) -> RestoreResult? {
        guard !token.isEmpty, token.count <= MemberTable.tokenByteCountMax else {
            throw .malformed("a member with a token of \(token.count) bytes")
        }
        let member = try MemberRecord(&reader)
        guard core.memory.isBelieved(member.epoch, partition: partition) else { return nil }
        self.restoreOrigin(member.formerOrigin, of: token, partition: partition, recordOffset: offset, in: core)
        self.restoreOrigin(member.origin, of: token, partition: partition, recordOffset: offset, in: core)
        guard !member.hasLeft else {
            self.restoreMemberTombstone(token, partition: partition, in: &core)
            self.restoreLeaver(member, token: token, partition: partition, now: now)
            return .restored
        }
        let crowd = self.crowds.restored(reference: member.reference, partition: partition)
        // Whether a void removes members depends on the last join. The progress record may be older than this join.
        self.crowds[crowd].joined(seconds: member.joinedSeconds)
        let members = self.crowds.members(of: partition)
        // The first member of an audience in an environment needs a new ring.
        guard
            members.table.hasRoomForRing
                || self.crowds[crowd].hasPass(in: member.environment),
            members.table.hasRoomForUpdateMember(tokenByteCount: token.count) || members.table.find(token).isSome
        else {
            throw .malformed("one member more than a partition can hold")
        }
        let pass = self.crowds.passIndex(crowd, environment: member.environment, number: member.channelNumber)
        let ring = self.crowds[crowd].ring(ofPass: pass)
        var flags: MemberFlags = member.isFrequent ? .isFrequent : []
        if member.isMoved { flags.formUnion(.isMoved) }
        var id = members.table.find(token)
        if id.isNone {
            id = members.table.insert(token, in: ring, joinedSeconds: member.joinedSeconds, flags: flags)
            core.memory.counters.membersHeld += 1
        } else {
            if members.table.ring(of: id) != ring { members.table.move(id, to: ring) }
            members.table.setFlags(flags, of: id)
            members.table.setJoinedSeconds(member.joinedSeconds, of: id)
        }
        if member.channelNumber != nil {
            self.crowds[crowd].listens(
                RecentListeners.Join(member: id, joinedSeconds: member.joinedSeconds, nowMillis: now.wallMillis),
                pass: pass)
        }
        if !member.isKnown || member.owedAlertStampSeconds != 0 || member.channelNumber != nil {
            self.crowds[crowd].restored(
                RestoredJoin(
                    member: id, isKnown: member.isKnown, offset: offset,
                    owedAlertStampSeconds: member.owedAlertStampSeconds))
        }
        return .restored
    }
    /// Restores the fact that a former owner took a forwarded record of the token.
    private mutating func restoreOrigin(
        _ origin: MemberRecord.Origin?, of token: Span<UInt8>, partition: PartitionIndex, recordOffset: Int64,
        in core: borrowing ShardCore
    ) {
        guard let origin, let topic = core.journal.topicHashes.firstIndex(of: origin.topicHash) else { return }
        self.forwarded.restore(
            SourcePosition(topic: UInt16(topic), partition: origin.partition, offset: origin.offset),
            of: FanOut.DepartedKey(partition: partition, position: RingPosition.of(token)),
            recordOffset: recordOffset)
    }
    /// Restores a member's tombstone.
    mutating func restoreMemberTombstone(_ token: Span<UInt8>, partition: PartitionIndex, in core: inout ShardCore) {
        self.leavers.restore(nil, of: FanOut.DepartedKey(partition: partition, position: RingPosition.of(token)))
        guard let members = self.crowds.membersIfAny(of: partition), !token.isEmpty else { return }
        let member = members.table.find(token)
        guard member.isSome else { return }
        // Joins that this restore has read still name the member's number, so the number is not freed yet.
        members.table.unlink(member)
        members.unlinked.append(member)
        core.memory.counters.membersHeld -= 1
    }
    /// Restores a record about a crowd.
    mutating func restoreCrowd(
        _ kind: StateCodec.Kind, key: Span<UInt8>, reader: inout StateReader, partition: PartitionIndex,
        in core: inout ShardCore, now: EngineTime
    ) throws(StateError) -> RestoreResult? {
        guard let (_, app, id) = core.journal.texts.crowdKey(ofState: key) else {
            guard !core.journal.texts.namesNoAudience(ofState: key) else { return nil }
            core.memory.partitions[partition].metOtherApp()
            return .ignored
        }
        let reference = CrowdTable.reference(bundleID: core.intake.bundleID(app: app).span, id: id.span)
        func crowd(_ fanOut: inout FanOut) -> CrowdID {
            fanOut.crowds.restored(app: app, id: id, reference: reference, partition: partition)
        }
        switch kind {
        case .progress:
            let progress = try PassesRecord(&reader)
            guard core.memory.isBelieved(progress.epoch, partition: partition) else { return nil }
            self.crowds[crowd(&self)].restored(progress)
        case .versions:
            let record = try VersionsRecord(&reader, topicHashes: core.journal.topicHashes, now: now)
            guard core.memory.isBelieved(record.epoch, partition: partition) else { return nil }
            self.crowds[crowd(&self)].restored(record)
        case .voided:
            let record = try VoidedRecord(&reader)
            guard core.memory.isBelieved(record.epoch, partition: partition) else { return nil }
            let crowd = crowd(&self)
            self.crowds[crowd].restoredVoid(ofLife: record.life)
            self.crowds.leave(crowd)
            _ = self.crowds.moveStarts(from: crowd, pushes: &self.pushes)
        case .startProgress:
            let progress = try StartProgressRecord(&reader)
            guard core.memory.isBelieved(progress.epoch, partition: partition) else { return nil }
            self.crowds[crowd(&self)].restored(progress, now: now)
        case .activity, .marker, .channel, .audience, .member, .startMember, .paused, .keptChannel: return .ignored
        }
        return .restored
    }
    /// Restores a tombstone of a record about a crowd.
    mutating func restoreCrowdTombstone(_ key: Span<UInt8>, partition: PartitionIndex, in core: borrowing ShardCore) {
        guard let (record, app, id) = core.journal.texts.crowdKey(ofState: key) else { return }
        let reference = CrowdTable.reference(bundleID: core.intake.bundleID(app: app).span, id: id.span)
        guard let crowd = self.crowds.find(reference: reference, partition: partition) else { return }
        self.crowds[crowd].restoredTombstone(of: record)
    }

    // MARK: After the restore
    /// Ends the restore when the last record has been read. Passes continue from where they were.
    mutating func settleRestoredCrowds(_ partition: PartitionIndex, in core: inout ShardCore, now: EngineTime) {
        for crowd in self.crowds.crowds(of: partition) {
            switch self.crowds[crowd].need {
            case .nothing: continue
            case .name:
                // The record with the audience's name was lost with the former owner, which has not committed the
                // joins. They will be read again, and name the audience.
                let members = self.crowds.members(of: crowd)
                self.crowds[crowd].forgetRestored(in: &members.table)
                // The crowd may be of an app that another worker serves, or that this worker will serve after a
                // restart. So its members stay.
                guard !core.memory.partitions[partition].hasCrowdsOfOtherApps else { continue }
                self.deadlines.set(now.steadyMillis + Self.namelessMillis, for: crowd)
            case .removal:
                self.crowds[crowd].forgetRestored()
                self.deadlines.set(now.steadyMillis, for: crowd)
            case .service:
                self.readPause(crowd, in: &core)
                self.settleRestored(crowd, of: partition, in: &core, now: now)
            }
        }
        self.leavers.settle(partition)
        guard let members = self.crowds.membersIfAny(of: partition) else { return }
        for member in members.unlinked { members.table.free(member) }
        members.unlinked = []
    }
    /// Milliseconds after which members of an audience whose name is still unknown are removed.
    static var namelessMillis: Int64 { 600_000 }
    private mutating func settleRestored(
        _ crowd: CrowdID, of partition: PartitionIndex, in core: inout ShardCore, now: EngineTime
    ) {
        let members = self.crowds.members(of: crowd)
        let restored = self.crowds[crowd].resume(nowMillis: now.steadyMillis)
        let progress = restored.progress
        self.carryOut(self.crowds[crowd].resumeReports(from: progress, now: now), of: crowd, in: &core)
        let notBeforeMillis =
            core.memory.partitions[partition].formerOwnerQuietSinceMillis
            + core.memory.distanceMillis(self.crowds[crowd])
        for pass in self.crowds[crowd].passIndices {
            let due = self.crowds[crowd].restore(
                pass: pass, from: progress, joins: restored.lateJoins, notBeforeMillis: notBeforeMillis,
                in: &members.table)
            if let due {
                self.countDue(due, of: crowd, alertStampSeconds: 0, in: &core)
                self.crowds[crowd].aloneRestored(pass: pass)
            }
            self.crowds[crowd].restoreListening(pass: pass, from: progress, joins: restored.joins, in: members.table)
            if due != nil { self.changeWay(crowd, pass: pass, in: &core, now: now) }
        }
        self.crowds[crowd].settleAlert(owedTo: restored.owedJoins)
        if let newest = self.crowds[crowd].newest {
            self.takeStart(newest.start, crowd: crowd, in: &core, now: now)
        }
        for version in restored.newer { self.take(version, crowd: crowd, in: &core, now: now) }
        self.restoreOwedAlerts(crowd, joins: restored.owedJoins, members: members, in: &core)
        if let newest = restored.newest, !restored.newer.isEmpty {
            self.takeStart(newest.start, crowd: crowd, in: &core, now: now)
        }
        if let order = self.crowds[crowd].restoredStart {
            self.takeStart(order, crowd: crowd, in: &core, now: now)
        }
        self.crowds[crowd].startsRestored(resends: core.memory.startTerms(self.crowds[crowd]).resends, now: now)
        self.crowds[crowd].resumed(restored)
        if restored.newest == nil {
            // The question to the audience's owner may have been lost with the former owner of this partition.
            self.ask(crowd, in: &core)
        }
        self.expireVersions(crowd, in: &core, now: now)
        self.resumePassTraces(crowd, in: &core, now: now)
        self.schedule(crowd, in: &core, now: now)
    }
    /// Restores alerts that are owed to members, and that no progress record covers. These members started or stopped
    /// listening before the newest alert had reached them.
    private mutating func restoreOwedAlerts(
        _ crowd: CrowdID, joins: [RestoredJoin], members: CrowdTable.Members, in core: inout ShardCore
    ) {
        for join in joins {
            guard let due = self.crowds[crowd].restoreOwedAlert(join, in: members.table) else { continue }
            self.countDue(due, of: crowd, alertStampSeconds: self.crowds[crowd].alertStampSeconds, in: &core)
        }
    }

    // MARK: Leaving
    /// Writes what passes have done since their last record, because the partition is given back.
    mutating func writeCrowds(of partition: PartitionIndex, in core: inout ShardCore, now: EngineTime) {
        for crowd in self.crowds.crowds(of: partition) where self.crowds[crowd].hasUnwrittenProgress {
            self.writeProgress(crowd, in: &core, now: now)
        }
        for crowd in self.crowds.crowds(of: partition) where self.crowds[crowd].isLiving {
            self.releaseStarts(crowd, in: &core, now: now)
            self.endPassTraces(crowd, .handedOver, in: &core)
        }
    }
    /// Removes everything of the partition from memory at once.
    mutating func forgetCrowds(of partition: PartitionIndex, in core: inout ShardCore) {
        for crowd in self.crowds.crowds(of: partition) {
            self.deadlines.remove(crowd)
            self.endPassTraces(crowd, .handedOver, in: &core)
            self.settleStarts(self.crowds[crowd].startsWaitingCount, into: \.handedOver, in: &core)
            let waiting = self.crowds[crowd].waitingCount
            core.memory.counters.members.handedOver &+= UInt64(truncatingIfNeeded: waiting)
            self.countWaiting(-waiting, in: &core)
            self.uncount(crowd, in: &core)
        }
        if let members = self.crowds.membersIfAny(of: partition) {
            core.memory.counters.membersHeld -= members.table.count
        }
        self.pushes.forget(partition: partition)
        self.forwarded.forget(partition: partition)
        self.leavers.forget(partition)
        self.voids.forget(partition: partition)
        self.departed = self.departed.filter { $0.key.partition != partition }
        self.crowds.removePartition(partition)
        core.pauses.forget(partition: partition)
    }
}

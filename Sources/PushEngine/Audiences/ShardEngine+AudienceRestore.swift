import PushModel

/// Audiences and members as `state` has them, after a takeover (fan-out contract: Takeover of a pass).
extension ShardEngine {
    /// A member's record.
    /// - Parameter token: raw.
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
        // Progress may lie there from before, and a void is believed by when the last member came.
        self.audiences.crowds[crowd].lastJoinSeconds = max(
            self.audiences.crowds[crowd].lastJoinSeconds, Int64(member.joinedSeconds))
        let members = self.audiences.crowds.members(of: partition)
        // A ring more is made only for the first of an audience and environment.
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
            self.audiences.crowds[crowd].restoredJoins.append(
                RestoredJoin(
                    member: id, isKnown: member.isKnown, offset: offset,
                    owedAlertStampSeconds: member.owedAlertStampSeconds))
        }
        return .restored
    }
    /// Which forwarded record of the token was taken last.
    private mutating func restoreOrigin(
        _ origin: MemberRecord.Origin?, of token: Span<UInt8>, partition: PartitionIndex, recordOffset: Int64
    ) {
        guard let origin, let topic = self.journal.topicHashes.firstIndex(of: origin.topicHash) else { return }
        self.audiences.forwarded.restore(
            SourcePosition(topic: UInt16(topic), partition: origin.partition, offset: origin.offset),
            of: Audiences.DepartedKey(partition: partition, position: RingPosition.of(token)),
            recordOffset: recordOffset)
    }
    /// A member's tombstone.
    mutating func restoreMemberTombstone(_ token: Span<UInt8>, partition: PartitionIndex) {
        self.audiences.leavers.restore(
            nil, of: Audiences.DepartedKey(partition: partition, position: RingPosition.of(token)))
        guard let members = self.audiences.crowds.membersIfAny(of: partition), !token.isEmpty else { return }
        let member = members.table.find(token)
        guard member.isSome else { return }
        // Its number stands among the joins that were read.
        members.table.unlink(member)
        members.unlinked.append(member)
        self.memory.counters.membersHeld -= 1
    }
    /// A record about a crowd.
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
            if engine.audiences.crowds[crowd].id.isEmpty { engine.audiences.crowds.name(crowd, app: app, id: id) }
            return crowd
        }
        switch kind {
        case .progress:
            let progress = try PassesRecord(&reader)
            guard self.memory.isBelieved(progress.epoch, partition: partition) else { return nil }
            let crowd = crowd(&self)
            self.audiences.crowds[crowd].restoredProgress = progress
            self.audiences.crowds[crowd].lastJoinSeconds = max(
                self.audiences.crowds[crowd].lastJoinSeconds, progress.lastJoinSeconds)
            self.audiences.crowds[crowd].restoredJoins.removeAll { $0.offset < progress.servedJoins }
        case .versions:
            let record = try VersionsRecord(&reader, topicHashes: self.journal.topicHashes, now: now)
            guard self.memory.isBelieved(record.epoch, partition: partition) else { return nil }
            let crowd = crowd(&self)
            self.audiences.crowds[crowd].life = record.life
            self.audiences.crowds[crowd].stampSeconds = record.stampSeconds
            self.audiences.crowds[crowd].isLifeOver = record.isLifeOver
            self.audiences.crowds[crowd].versions = record.versions
            self.audiences.crowds[crowd].alert = record.alert
            self.audiences.crowds[crowd].starts.ordersRead(record.orders)
            self.audiences.crowds[crowd].hasRestoredVersions = true
        case .voided:
            let record = try VoidedRecord(&reader)
            guard self.memory.isBelieved(record.epoch, partition: partition) else { return nil }
            let crowd = crowd(&self)
            self.audiences.crowds[crowd].life = record.life
            self.audiences.crowds[crowd].standing = .leaving
            self.audiences.crowds[crowd].versions = []
            self.audiences.crowds[crowd].alert = nil
            self.audiences.crowds[crowd].starts.ordersRead([])
            self.audiences.crowds[crowd].restoredProgress = nil
            self.audiences.crowds.hide(crowd)
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
    /// A tombstone of a record about a crowd: its last member had gone. Without it a later crowd of that name would have versions of a life before.
    mutating func restoreCrowdTombstone(_ key: Span<UInt8>, partition: PartitionIndex) {
        guard let (record, app, id) = self.journal.texts.crowdKey(ofState: key) else { return }
        let reference = CrowdTable.reference(bundleID: self.intake.bundleID(app: app).span, id: id.span)
        guard let crowd = self.audiences.crowds.find(reference: reference, partition: partition) else { return }
        switch record {
        case .versions:
            self.audiences.crowds[crowd].life = 0
            self.audiences.crowds[crowd].stampSeconds = 0
            self.audiences.crowds[crowd].isLifeOver = false
            self.audiences.crowds[crowd].versions = []
            self.audiences.crowds[crowd].alert = nil
            self.audiences.crowds[crowd].starts.ordersRead([])
            self.audiences.crowds[crowd].hasRestoredVersions = false
        case .progress:
            self.audiences.crowds[crowd].restoredProgress = nil
            self.audiences.crowds[crowd].lastJoinSeconds = 0
        case .starts: self.audiences.crowds[crowd].starts.progressForgotten()
        case .voided: break
        }
        // Nothing tells its name any more: whoever is in it came after it, and names it with the join that comes again.
        if self.audiences.crowds[crowd].restoredProgress == nil, !self.audiences.crowds[crowd].hasRestoredVersions,
            self.audiences.crowds[crowd].starts.restored.progress == nil
        {
            self.audiences.crowds.unname(crowd)
        }
    }

    // MARK: Going on
    /// The last record has been read: passes go on where they stood.
    mutating func settleRestoredCrowds(_ partition: PartitionIndex, now: EngineTime) {
        for crowd in self.audiences.crowds.crowds(of: partition) {
            if self.audiences.crowds[crowd].id.isEmpty, self.audiences.crowds[crowd].standing == .living {
                // The record with its name was lost with the owner before, who then has not committed the joins: they come again, and name it.
                self.forgetTargets(of: crowd)
                self.audiences.crowds[crowd].restoredJoins = []
                // Another worker serves their app, or this one will after a restart: they stay as they are.
                guard !self.memory.partitions[partition].hasCrowdsOfOtherApps else { continue }
                self.audiences.deadlines.set(now.steadyMillis + Self.namelessMillis, for: crowd)
                continue
            }
            switch self.audiences.crowds[crowd].standing {
            case .gone: continue
            case .toBeVoided, .leaving:
                self.audiences.crowds[crowd].restoredJoins = []
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
    /// Its rings may have been made while it had versions, of which a tombstone has told since that they are over.
    private mutating func forgetTargets(of crowd: CrowdID) {
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        for pass in self.audiences.crowds[crowd].passes.indices {
            self.audiences.crowds[crowd].passes[pass].reset(in: &members.table)
        }
    }
    /// Members of an audience whose name nobody tells are removed after so long.
    static var namelessMillis: Int64 { 600_000 }
    private mutating func settleRestored(_ crowd: CrowdID, now: EngineTime) {
        let partition = self.audiences.crowds[crowd].partition
        let members = self.audiences.crowds.members(of: partition)
        let progress = self.audiences.crowds[crowd].restoredProgress ?? PassesRecord()
        self.audiences.crowds[crowd].restoredProgress = nil
        let versions = self.audiences.crowds[crowd].versions
        let alert = self.audiences.crowds[crowd].alert
        let (life, stampSeconds) = (self.audiences.crowds[crowd].life, self.audiences.crowds[crowd].stampSeconds)
        if self.audiences.crowds[crowd].hasRestoredVersions {
            self.audiences.crowds[crowd].hasRestoredVersions = false
        } else {
            // What it has met is known by its progress alone: its versions come again.
            self.audiences.crowds[crowd].life = progress.life
        }
        // Those that the progress tells of, and those that came after it. A version is known by its own record alone: progress may lie there without
        // it.
        let isOfLife = life == progress.life
        let known = isOfLife ? versions.filter { $0.stampSeconds <= progress.stampSeconds } : []
        let isAlertApart = alert.map { alert in !versions.contains { $0.stampSeconds == alert.stampSeconds } } ?? false
        let all = (isAlertApart ? alert.map { [$0] } ?? [] : []) + versions
        let newer = all.filter { !isOfLife || $0.stampSeconds > progress.stampSeconds }
        self.audiences.crowds[crowd].versions = known
        self.audiences.crowds[crowd].channels = known.last?.channels ?? []
        self.audiences.crowds[crowd].turn = known.last?.turn ?? 0
        self.audiences.crowds[crowd].stampSeconds = known.last?.stampSeconds ?? 0
        let alertStamps = Set(all.filter(\.hasAlert).map(\.stampSeconds))
        let read = self.audiences.crowds[crowd].restoredJoins
        let owedJoins = read.filter { alertStamps.contains($0.owedAlertStampSeconds) }
        let joins = read.filter { !alertStamps.contains($0.owedAlertStampSeconds) && !$0.isKnown }
        self.audiences.crowds[crowd].restoredJoins = []
        self.audiences.crowds[crowd].alert =
            isOfLife ? all.first { $0.stampSeconds == progress.alertStampSeconds && $0.hasAlert } : nil
        self.carryOut(self.audiences.crowds[crowd].resumeReports(from: progress, now: now), of: crowd)
        for pass in self.audiences.crowds[crowd].passes.indices {
            self.restore(crowd, pass: pass, from: progress, joins: joins, members: members, now: now)
            self.restoreListening(crowd, pass: pass, from: progress, joins: read, now: now)
        }
        let alertStampSeconds = self.audiences.crowds[crowd].alert?.stampSeconds
        if !self.audiences.crowds[crowd].passes.contains(where: { $0.course.owesAlert || $0.apart.retries.owesAlert }),
            !self.audiences.crowds[crowd].passes.indices.contains(where: {
                self.audiences.crowds[crowd].isAlertLeft(toChannelOf: $0)
            }), !owedJoins.contains(where: { $0.owedAlertStampSeconds == alertStampSeconds })
        {
            self.audiences.crowds[crowd].alert = nil
        }
        if let newest = known.last { self.takeStart(of: newest, crowd: crowd, now: now) }
        for version in newer.sorted(by: { $0.stampSeconds < $1.stampSeconds }) {
            self.take(version, crowd: crowd, now: now)
        }
        self.restoreOwedAlerts(crowd, joins: owedJoins, members: members)
        if let newest = versions.last, !newer.isEmpty { self.takeStart(of: newest, crowd: crowd, now: now) }
        if let order = self.audiences.crowds[crowd].starts.restored.order {
            self.takeStart(order, crowd: crowd, now: now)
        }
        self.settleRestoredStarts(crowd, now: now)
        if stampSeconds > 0 { self.audiences.crowds[crowd].stampSeconds = stampSeconds }
        if versions.isEmpty {
            // The question may have been lost with the owner before.
            self.journal.ask(crowd, entry: .none, in: &self.memory, audiences: self.audiences)
        }
        self.audiences.crowds[crowd].records.restored(isTold: versions.isEmpty)
        self.expireVersions(crowd, now: now)
        self.resumePassTraces(crowd, now: now)
        self.schedule(crowd, now: now)
    }
    private mutating func restore(
        _ crowd: CrowdID, pass: Int, from progress: PassesRecord,
        joins: [RestoredJoin], members: CrowdTable.Members, now: EngineTime
    ) {
        let versions = self.audiences.crowds[crowd].versions
        let ring = self.audiences.crowds[crowd].passes[pass].ring
        let part =
            progress.part(of: self.audiences.crowds[crowd].passes[pass])
            ?? {
                // Its first member came after the record: all of them are late.
                var part = PassesRecord.PassPart()
                part.untils = versions.map { ($0.stampSeconds, 0) }
                return part
            }()
        let untils = versions.map { version in
            part.untils.first { $0.stampSeconds == version.stampSeconds }?.until ?? part.position
        }
        let quietSince =
            self.memory.partitions[self.audiences.crowds[crowd].partition].formerOwnerQuietSinceMillis
        // Progress may tell of the alert of a version that is not there.
        let isAlertHere = self.audiences.crowds[crowd].alert != nil
        self.audiences.crowds[crowd].passes[pass].restore(
            position: part.position, untils: untils, aloneUntil: isAlertHere ? part.aloneUntil : nil,
            alertUntil: isAlertHere ? part.alertUntil : 0,
            highUntil: part.highUntil, frequentHighUntil: part.frequentHighUntil, horizon: part.horizon,
            notBeforeMillis: quietSince + self.distanceMillis(crowd), in: members.table)
        guard !versions.isEmpty else {
            // All that is known here is newer than the progress, but for the alert.
            return isAlertHere ? self.restoreAlert(crowd, pass: pass, from: part, joins: joins, members: members) : ()
        }
        let skipped = Set(part.skipped)
        let comers = self.comers(among: part, joins: joins, ring: ring, members: members)
        for waiting in part.waiting {
            let member = self.member(at: waiting.position, ring: ring, members: members)
            // The round passes over one that was served before it came there, whether that has arrived or not.
            let isAhead =
                self.audiences.crowds[crowd].passes[pass].course.isAhead(UInt64(waiting.position))
                && !skipped.contains(waiting.position)
            // One may wait with an older push in flight.
            let owesAlert =
                waiting.owesAlert && !comers.contains(member)
                || self.audiences.crowds[crowd].passes[pass].awaitsAlert(member)
            guard member.isSome,
                !isAhead || owesAlert || self.audiences.crowds[crowd].passes[pass].course.keepsOlder
            else { continue }
            self.audiences.crowds[crowd].passes[pass].restoreWaiting(
                member, isAhead: isAhead, owesAlert: owesAlert,
                alertsMissedSinceSeconds: owesAlert ? RetrySet.Entry.mayHaveMissedAll : .max)
        }
        for position in part.skipped {
            let member = self.member(at: position, ring: ring, members: members)
            if member.isSome, self.audiences.crowds[crowd].passes[pass].course.isAhead(UInt64(position)) {
                self.audiences.crowds[crowd].passes[pass].restoreSkipped(member)
            }
        }
        for position in part.quiet {
            let member = self.member(at: position, ring: ring, members: members)
            if member.isSome, self.audiences.crowds[crowd].passes[pass].course.isAlertAhead(UInt64(position)) {
                self.audiences.crowds[crowd].passes[pass].restoreQuiet(member)
            }
        }
        for join in joins
        where members.table.ring(of: join.member) == ring
            && !members.table.flags(of: join.member).contains(.isLate)
            && self.audiences.crowds[crowd].passes[pass].apart.retries[join.member] == nil
            && !self.audiences.crowds[crowd].passes[pass].apart.skipped.contains(join.member)
        {
            self.audiences.crowds[crowd].passes[pass].restoreLate(
                join.member, offset: join.offset, in: &members.table)
        }
        self.noteDue(crowd, pass: pass, before: Owed())
        self.audiences.crowds[crowd].aloneRestored(pass: pass)
    }

    // MARK: Leaving
    /// The partition is given back: what its passes have done since their last record is written down.
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
    /// Everything of the partition leaves memory at once.
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

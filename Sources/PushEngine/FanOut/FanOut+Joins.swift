import PushModel

/// Members that join and leave (fan-out contract: Joins and leaves).
extension FanOut {
    /// Takes a join or a leave. The record's key is the member's token.
    mutating func consumeMember(
        app: UInt16, partition: PartitionIndex, key: Span<UInt8>, in core: inout ShardCore, now: EngineTime
    ) throws(EventRejection) {
        self.scratchToken.removeAll(keepingCapacity: true)
        try EventRules.memberToken(key: key, into: &self.scratchToken)
        if let origin = core.intake.record.origin {
            switch self.standing(ofForwarded: origin, partition: partition, in: &core) {
            case .isNew: break
            case .isTaken: return self.finishMemberEvent(app: app, outcome: .duplicate, cause: .replay, in: &core)
            // The outcome may have been lost with the former owner, so it is written again.
            case .isTakenByOthers: return self.finishMemberEvent(app: app, in: &core)
            }
        }
        switch core.intake.event.kind {
        case .register where core.intake.event.isStartMember:
            try self.joinStart(app: app, partition: partition, in: &core, now: now)
        case .unregister where self.isStartMember(of: partition):
            self.leaveStart(app: app, partition: partition, in: &core, now: now)
        case .register: try self.join(app: app, partition: partition, in: &core, now: now)
        case .unregister: self.leave(app: app, partition: partition, in: &core, now: now)
        case .start, .update, .end, .open: break
        }
    }
    /// Checks a forwarded join or leave, and remembers a new one as taken.
    private mutating func standing(
        ofForwarded origin: SourcePosition, partition: PartitionIndex, in core: inout ShardCore
    ) -> ForwardedRecords.Standing {
        if core.intake.isTakenCopy(in: core.memory) { return .isTaken }
        guard core.intake.isOriginOfThisLog(in: core.memory) else {
            core.intake.markCopyTaken(in: &core.memory)
            return .isNew
        }
        let member = FanOut.DepartedKey(partition: partition, position: RingPosition.of(self.scratchToken.span))
        return self.forwarded.take(origin, of: member, mayBeReplay: core.intake.mayBeReplay(in: core.memory))
    }
    /// Whether the key of a leave that names no audience is a member's token.
    mutating func isMember(_ key: Span<UInt8>, of partition: PartitionIndex) -> Bool {
        guard let members = self.crowds.membersIfAny(of: partition) else { return false }
        self.scratchToken.removeAll(keepingCapacity: true)
        guard key.count <= 2 * MemberTable.tokenByteCountMax, !key.isEmpty,
            Hex.decode(key, to: &self.scratchToken)
        else { return false }
        return members.table.find(self.scratchToken.span).isSome || self.isStartMember(of: partition)
    }
    /// Whether `scratchToken` is a start token that has joined some audience.
    private func isStartMember(of partition: PartitionIndex) -> Bool {
        guard let members = self.crowds.membersIfAny(of: partition) else { return false }
        return members.table.firstMembership(ofStartToken: self.scratchToken.span).isSome
    }
    func reference(app: UInt16, in core: borrowing ShardCore) -> UInt64 {
        CrowdTable.reference(
            bundleID: core.intake.bundleID(app: app).span,
            id: core.intake.event.text.span.extracting(core.intake.event.audienceInText.range))
    }

    // MARK: Joining
    private mutating func join(
        app: UInt16, partition: PartitionIndex, in core: inout ShardCore, now: EngineTime
    ) throws(EventRejection) {
        let reference = self.reference(app: app, in: core)
        try self.checkRoom(reference: reference, partition: partition, in: core)
        let entry = core.journal.ledger.open(log: core.intake.log, offset: core.intake.record.offset, settled: false)
        let joinedSeconds = UInt32(clamping: core.intake.writtenMillis / 1_000)
        var crowd = self.crowds.find(reference: reference, partition: partition) ?? .none
        if crowd.isNone || self.crowds[crowd].isNameless {
            if crowd.isNone {
                crowd = self.crowds.make(app: app, id: [], reference: reference, partition: partition)
            }
            self.crowds[crowd].introduced(joinedSeconds: joinedSeconds)
            self.introduce(crowd, app: app, entry: entry, in: &core, now: now)
        } else {
            self.askAgain(
                crowd, joining: core.intake.event.environment, known: self.knownEnvironments(crowd, app: app, in: core),
                entry: entry, in: &core)
        }
        self.crowds[crowd].joined(seconds: joinedSeconds)
        self.expireVersions(crowd, in: &core, now: now)
        let pass = self.passToJoin(crowd, app: app, entry: entry, in: &core, now: now)
        if core.intake.mayBeReplay(in: core.memory) {
            // The former owner may have pushed to the ring's members, although no record says that the ring existed.
            let quietSince = core.memory.partitions[partition].formerOwnerQuietSinceMillis
            self.crowds[crowd].rests(
                pass: pass, untilMillis: quietSince + core.memory.distanceMillis(self.crowds[crowd]))
        }
        let held = core.memory.counters.membersHeld
        let isChanged = self.insert(
            in: crowd, pass: pass, isFrequent: core.intake.event.frequentUpdates, joinedSeconds: joinedSeconds,
            in: &core, now: now
        )
        if core.memory.counters.membersHeld > held, self.crowds[crowd].startReturned() {
            core.memory.counters.startTokensReturned += 1
        }
        self.finishMemberEvent(app: app, in: &core)
        if let late = isChanged {
            // A copy, because a span of the engine's own bytes would borrow all of the engine.
            let token = self.scratchToken
            core.journal.writeMember(
                token.span, late, of: crowd, self.crowds[crowd], pass: pass, entry: entry, in: &core.memory,
                forwarded: self.forwarded)
        } else {
            core.journal.ledger.settle(entry)
        }
        self.schedule(crowd, in: &core, now: now)
    }
    /// Checks that there is room for the member, and for its ring. A token that is already a member takes no new row.
    private mutating func checkRoom(reference: UInt64, partition: PartitionIndex, in core: borrowing ShardCore)
        throws(EventRejection)
    {
        let most = core.memory.configuration.settings.membersMax
        let held = core.memory.counters.membersHeld
        let members = self.crowds.members(of: partition)
        let hasRow = members.table.hasRoomForUpdateMember(tokenByteCount: self.scratchToken.count)
        let hasRing = members.table.hasRoomForRing
        if held < most, hasRow, hasRing { return }
        if !hasRing,
            self.crowds.find(reference: reference, partition: partition).map({ crowd in
                self.crowds[crowd].hasPass(in: core.intake.event.environment)
            }) != true
        {
            throw EventRejection(
                field: "audience", reason: "is one more than this partition can hold: expected fewer audiences")
        }
        if members.table.find(self.scratchToken.span).isSome { return }
        guard held < most else {
            throw EventRejection(
                field: "audience",
                reason: "has no room: this shard holds \(held) members, and limits.members is \(most)")
        }
        guard hasRow else {
            throw EventRejection(
                field: "audience",
                reason: "has no room: this partition holds \(members.table.count) members and can hold no more")
        }
    }
    /// What is needed to write a join's record, besides the token.
    struct JoinRecord {
        var flags = MemberFlags()
        var joinedSeconds: UInt32 = 0
        /// The number of the member's late join in its pass; `nil`: the member is not late.
        var lateNumber: UInt32?
        /// Whether a takeover must not count this join as a late one. The member was in this ring before and was not
        /// late, or has the newest version from its former ring.
        var isKnown = false
        /// Stamp of the version whose alert the member is owed in its ring; 0: none.
        var owedAlertStampSeconds: Int64 = 0
    }
    /// Puts the event's token into the ring of a pass.
    /// - Returns: what must be written down; `nil`: the token was there already, and nothing has changed.
    private mutating func insert(
        in crowd: CrowdID, pass: Int, isFrequent: Bool, joinedSeconds: UInt32, in core: inout ShardCore, now: EngineTime
    ) -> JoinRecord? {
        let members = self.crowds.members(of: crowd)
        let ring = self.crowds[crowd].ring(ofPass: pass)
        let found = members.table.find(self.scratchToken.span)
        let frequent: MemberFlags = isFrequent ? .isFrequent : []
        guard found.isSome else {
            let member = members.table.insert(
                self.scratchToken.span, in: ring, joinedSeconds: joinedSeconds, flags: frequent)
            core.memory.counters.membersHeld += 1
            self.rememberListener(member, crowd: crowd, pass: pass, in: core, now: now)
            let frequent = self.markReturn(of: member, to: crowd, joinedSeconds, members: members, now: now)
            let notBefore = self.reunite(member, of: crowd, with: members)
            let late = self.enter(
                member, as: .anew, crowd: crowd, pass: pass, members: members, notBeforeMillis: notBefore, in: &core,
                now: now)
            return JoinRecord(flags: frequent, joinedSeconds: joinedSeconds, lateNumber: late)
        }
        var flags = members.table.flags(of: found)
        let old = members.table.ring(of: found)
        guard old != ring else {
            guard flags.contains(.isFrequent) != isFrequent else { return nil }
            flags.formSymmetricDifference(.isFrequent)
            members.table.setFlags(flags, of: found)
            return JoinRecord(
                flags: flags, joinedSeconds: members.table.joinedSeconds(of: found), isKnown: !flags.contains(.isLate),
                owedAlertStampSeconds: self.owedAlertStampSeconds(found, of: crowd, pass: pass, in: core))
        }
        // A token is in one audience only: that of its latest join.
        let former = members.ringOwners[old.index]
        let entrance =
            former == crowd ? self.entrance(of: found, goingTo: pass, of: crowd, members: members) : .anew
        let notBefore = self.exited(found, members: members, in: &core, now: now)
        flags = members.table.flags(of: found)
        flags.remove(.isFrequent)
        flags.formUnion(frequent)
        if former != crowd {
            flags.formUnion(.isMoved)
            self.crowds[crowd].moved(joinedSeconds: joinedSeconds, nowSeconds: now.wallSeconds)
        }
        members.table.setFlags(flags, of: found)
        members.table.move(found, to: ring)
        members.table.setJoinedSeconds(joinedSeconds, of: found)
        self.rememberListener(found, crowd: crowd, pass: pass, in: core, now: now)
        let late = self.enter(
            found, as: entrance, crowd: crowd, pass: pass, members: members, notBeforeMillis: notBefore, in: &core,
            now: now)
        if entrance == .anew { self.schedule(former, in: &core, now: now) }
        return JoinRecord(
            flags: flags, joinedSeconds: joinedSeconds, lateNumber: late, isKnown: entrance == .served,
            owedAlertStampSeconds: entrance == .owedAlert
                ? self.owedAlertStampSeconds(found, of: crowd, pass: pass, in: core) : 0)
    }
    /// Takes the member into the ring.
    /// - Parameter notBeforeMillis: earliest time of a push (steady clock). The member's phone may have got a push
    ///   shortly before.
    private mutating func enter(
        _ member: MemberID, as entrance: Crowd.Entrance, crowd: CrowdID, pass: Int, members: CrowdTable.Members,
        notBeforeMillis: Int64, in core: inout ShardCore, now: EngineTime
    ) -> UInt32? {
        let entered = self.crowds[crowd].entered(
            member, as: entrance, pass: pass, notBeforeMillis: notBeforeMillis,
            distanceMillis: core.memory.distanceMillis(self.crowds[crowd]), nowMillis: now.steadyMillis,
            in: &members.table)
        self.countDue(entered.due, of: crowd, alertStampSeconds: self.crowds[crowd].alertStampSeconds, in: &core)
        return entered.lateNumber
    }
    /// Remembers that the member listens, if the members of the pass listen on a channel.
    private mutating func rememberListener(
        _ member: MemberID, crowd: CrowdID, pass: Int, in core: borrowing ShardCore, now: EngineTime
    ) {
        self.crowds[crowd].listens(
            RecentListeners.Join(member: member, recordMillis: core.intake.writtenMillis, nowMillis: now.wallMillis),
            pass: pass)
    }
    /// Settles what the member is owed in its ring, because it is about to leave the ring.
    /// - Returns: when the member's phone may get another push (steady clock).
    @discardableResult private mutating func exited(
        _ member: MemberID, members: CrowdTable.Members, in core: inout ShardCore, now: EngineTime
    ) -> Int64 {
        let crowd = members.ringOwners[members.table.ring(of: member).index]
        let left = self.crowds[crowd].left(
            member, distanceMillis: core.memory.distanceMillis(self.crowds[crowd]), nowMillis: now.steadyMillis,
            in: &members.table)
        guard let left else { return .min }
        if let push = self.pushInFlight(to: member, of: crowd, members: members) { self.pushes[push].isDetached = true }
        self.settle(left.settled, of: crowd, into: .left, in: &core)
        return left.notBeforeMillis
    }
    /// The unanswered push to a member; `nil`: there is none.
    func pushInFlight(to member: MemberID, of crowd: CrowdID, members: CrowdTable.Members) -> MemberPushID? {
        guard members.table.flags(of: member).contains(.isInFlight) else { return nil }
        return self.crowds[crowd].pushInFlight(to: member, in: self.pushes)
    }
    /// The key under which a member is remembered when it has left its crowd, and found when it joins again.
    func departedKey(_ member: MemberID, of crowd: CrowdID, members: CrowdTable.Members) -> DepartedKey {
        self.crowds[crowd].departedKey(member, in: members.table)
    }

    // MARK: Leaving
    private mutating func leave(app: UInt16, partition: PartitionIndex, in core: inout ShardCore, now: EngineTime) {
        let entry = core.journal.ledger.open(log: core.intake.log, offset: core.intake.record.offset, settled: false)
        self.finishMemberEvent(app: app, in: &core)
        let members = self.crowds.members(of: partition)
        let member = members.table.find(self.scratchToken.span)
        var isMeant = member.isSome
        if isMeant, !core.intake.event.audienceInText.isEmpty {
            let crowd = members.ringOwners[members.table.ring(of: member).index]
            isMeant = self.crowds[crowd].isNamed(by: self.reference(app: app, in: core))
        }
        guard isMeant else { return core.journal.ledger.settle(entry) }
        let crowd = self.remove(member, members: members, entry: entry, in: &core, now: now)
        self.schedule(crowd, in: &core, now: now)
    }
    /// Removes the member from the table. In `state`, a tombstone or the record of a leaver replaces the member's
    /// record. The member's number is kept while a push to the member is in flight.
    /// - Parameter entry: settled once Kafka has the record; `none`: no event waits for it.
    /// - Returns: the crowd that the member belonged to.
    @discardableResult mutating func remove(
        _ member: MemberID, members: CrowdTable.Members, entry: EntryID = .none, in core: inout ShardCore,
        now: EngineTime
    ) -> CrowdID {
        let crowd = members.ringOwners[members.table.ring(of: member).index]
        let notBefore = self.exited(member, members: members, in: &core, now: now)
        core.memory.counters.membersHeld -= 1
        let key = self.departedKey(member, of: crowd, members: members)
        self.writeGone(member, key: key, from: crowd, members: members, entry: entry, in: &core, now: now)
        self.departures.remember(key, notBeforeMillis: notBefore, nowMillis: now.steadyMillis)
        guard members.table.flags(of: member).contains(.isInFlight) else {
            members.table.remove(member)
            return crowd
        }
        members.table.unlink(member)
        if let push = self.pushes.identifier(of: member, partition: key.partition) {
            self.departed[key] = push
        }
        return crowd
    }
    /// Takes over what is known of a token that had left and joins again. A push to it may still be in flight, and its
    /// phone may have been pushed to a moment ago.
    /// - Returns: when the phone may be pushed to (steady clock).
    private mutating func reunite(_ member: MemberID, of crowd: CrowdID, with members: CrowdTable.Members) -> Int64 {
        let key = self.departedKey(member, of: crowd, members: members)
        if !self.departed.isEmpty, let push = self.departed.removeValue(forKey: key) {
            members.table.free(self.pushes[push].member)
            self.pushes[push].member = member
            members.table.insertFlag(.isInFlight, of: member)
        }
        return self.departures.notBeforeMillis(key)
    }

    /// Ends the event of a join or a leave.
    mutating func finishMemberEvent(
        app: UInt16, outcome: Outcome = .applied, cause: OutcomeDetails.Cause = .none, in core: inout ShardCore
    ) {
        var details = OutcomeDetails()
        details.cause = cause
        details.fill(tokenHash: PushComposer.hash(ofToken: self.scratchToken.span))
        core.journal.finishMemberEvent(core.intake, app: app, outcome: outcome, details: details, in: &core.memory)
    }

    // MARK: Counting
    /// Counts members that are newly owed a version or an alert.
    /// - Parameter alertStampSeconds: stamp of the alert that `due.alone` counts.
    mutating func countDue(_ due: Pass.Owed, of crowd: CrowdID, alertStampSeconds: Int64, in core: inout ShardCore) {
        core.memory.counters.members.due &+= UInt64(truncatingIfNeeded: due.all)
        let effects = self.crowds[crowd].becameDue(due, alertStampSeconds: alertStampSeconds)
        self.carryOut(effects, of: crowd, in: &core)
        self.countWaiting(due.all, in: &core)
    }
    /// Counts members that are no longer owed a version or an alert, and why.
    mutating func settle(
        _ settled: Crowd.Settled, of crowd: CrowdID, into settlement: MemberSettlement, in core: inout ShardCore
    ) {
        core.memory.counters.members.due &+= UInt64(settled.due)
        core.memory.counters.members.count(settlement, UInt64(truncatingIfNeeded: settled.members.all))
        self.carryOut(self.crowds[crowd].settled(settled, into: settlement), of: crowd, in: &core)
        self.countWaiting(settled.due - settled.members.all, in: &core)
    }
    /// Changes each pass of a crowd, and counts members that are no longer owed a version or an alert.
    mutating func settleEach(
        of crowd: CrowdID, into settlement: MemberSettlement, in core: inout ShardCore,
        _ change: (inout Crowd, Int, inout MemberTable) -> Crowd.Settled
    ) {
        let members = self.crowds.members(of: crowd)
        for pass in self.crowds[crowd].passIndices {
            let settled = change(&self.crowds[crowd], pass, &members.table)
            self.settle(settled, of: crowd, into: settlement, in: &core)
        }
    }
    mutating func countWaiting(_ step: Int, in core: inout ShardCore) {
        core.memory.counters.members.waiting &+= UInt64(truncatingIfNeeded: step)
    }
}

extension MemberTable {
    mutating func insertFlag(_ flag: MemberFlags, of member: MemberID) {
        self.setFlags(self.flags(of: member).union(flag), of: member)
    }
    mutating func removeFlag(_ flag: MemberFlags, of member: MemberID) {
        self.setFlags(self.flags(of: member).subtracting(flag), of: member)
    }
}

import PushModel

/// Members that join and leave (fan-out contract: Joins and leaves).
extension ShardEngine {
    /// Takes a join or a leave: the record's key is the token.
    mutating func consumeMember(
        app: UInt16, partition: PartitionIndex, key: Span<UInt8>, now: EngineTime
    ) throws(EventRejection) {
        self.audiences.scratchToken.removeAll(keepingCapacity: true)
        try EventRules.memberToken(key: key, into: &self.audiences.scratchToken)
        if let origin = self.intake.record.origin, self.intake.isOriginOfThisLog(in: self.memory) {
            let member = Audiences.DepartedKey(
                partition: partition, position: RingPosition.of(self.audiences.scratchToken.span))
            let mayBeReplay = self.intake.mayBeReplay(in: self.memory)
            switch self.audiences.forwarded.take(origin, of: member, mayBeReplay: mayBeReplay) {
            case .isNew: break
            case .isTaken: return self.finishMemberEvent(app: app, outcome: .duplicate, cause: .replay)
            // Its outcome may have been lost with the former owner.
            case .isTakenByOthers: return self.finishMemberEvent(app: app)
            }
        }
        switch self.intake.event.kind {
        case .register where self.intake.event.isStartMember:
            try self.joinStart(app: app, partition: partition, now: now)
        case .unregister where self.isStartMember(of: partition):
            self.leaveStart(app: app, partition: partition, now: now)
        case .register: try self.join(app: app, partition: partition, now: now)
        case .unregister: self.leave(app: app, partition: partition, now: now)
        case .start, .update, .end, .open: break
        }
    }
    /// Whether the key of a leave that names no audience is a member's token.
    mutating func isMember(_ key: Span<UInt8>, of partition: PartitionIndex) -> Bool {
        guard let members = self.audiences.crowds.membersIfAny(of: partition) else { return false }
        self.audiences.scratchToken.removeAll(keepingCapacity: true)
        guard key.count <= 2 * MemberTable.tokenByteCountMax, !key.isEmpty,
            Hex.decode(key, to: &self.audiences.scratchToken)
        else { return false }
        return members.table.find(self.audiences.scratchToken.span).isSome || self.isStartMember(of: partition)
    }
    /// Whether `scratchToken` is a start token that has joined some audience.
    private func isStartMember(of partition: PartitionIndex) -> Bool {
        guard let members = self.audiences.crowds.membersIfAny(of: partition) else { return false }
        return members.table.firstMembership(ofStartToken: self.audiences.scratchToken.span).isSome
    }
    func reference(app: UInt16) -> UInt64 {
        CrowdTable.reference(
            bundleID: self.intake.bundleID(app: app).span,
            id: self.intake.event.text.span.extracting(self.intake.event.audienceInText.range))
    }

    // MARK: Joining
    private mutating func join(
        app: UInt16, partition: PartitionIndex, now: EngineTime
    ) throws(EventRejection) {
        let reference = self.reference(app: app)
        try self.checkRoom(reference: reference, partition: partition)
        let entry = self.journal.ledger.open(log: self.intake.log, offset: self.intake.record.offset, settled: false)
        let joinedSeconds = UInt32(clamping: self.intake.writtenMillis / 1_000)
        var crowd = self.audiences.crowds.find(reference: reference, partition: partition) ?? .none
        if crowd.isNone || self.audiences.crowds[crowd].id.isEmpty {
            let id = Array(self.intake.event.text[self.intake.event.audienceInText.range])
            if crowd.isNone {
                crowd = self.audiences.crowds.make(app: app, id: id, reference: reference, partition: partition)
            } else {
                self.audiences.crowds[crowd].named(app: app, id: id)
            }
            self.audiences.crowds[crowd].introduced(joinedSeconds: joinedSeconds)
            self.readPause(crowd)
            // Its members are served once the question has been answered.
            self.writeProgress(crowd, entry: entry, now: now)
            self.journal.ask(
                crowd, entry: entry, joining: self.intake.event.environment, in: &self.memory,
                audiences: self.audiences)
        } else {
            self.askAgain(
                crowd, joining: self.intake.event.environment, known: self.knownEnvironments(crowd, app: app),
                entry: entry)
        }
        self.audiences.crowds[crowd].joined(seconds: joinedSeconds)
        self.expireVersions(crowd, now: now)
        let pass = self.passToJoin(crowd, app: app, entry: entry, now: now)
        if self.intake.mayBeReplay(in: self.memory) {
            // The former owner may have pushed to the ring's members, and no record says that there was a ring.
            let quietSince = self.memory.partitions[partition].formerOwnerQuietSinceMillis
            self.audiences.crowds[crowd].passes[pass].rests(untilMillis: quietSince + self.distanceMillis(crowd))
        }
        let held = self.memory.counters.membersHeld
        let isChanged = self.place(
            in: crowd, pass: pass, isFrequent: self.intake.event.frequentUpdates, joinedSeconds: joinedSeconds, now: now
        )
        if self.memory.counters.membersHeld > held { self.noteReturned(crowd) }
        self.finishMemberEvent(app: app)
        if let late = isChanged {
            // A span of the engine's own would borrow all of it.
            let token = self.audiences.scratchToken
            self.journal.writeMember(
                token.span, late, of: crowd, pass: pass, entry: entry, in: &self.memory,
                audiences: self.audiences)
        } else {
            self.journal.ledger.settle(entry)
        }
        self.schedule(crowd, now: now)
    }
    /// Checks that there is room. A token that is a member already may move to another audience.
    private mutating func checkRoom(reference: UInt64, partition: PartitionIndex) throws(EventRejection) {
        let most = self.memory.configuration.settings.membersMax
        let held = self.memory.counters.membersHeld
        let members = self.audiences.crowds.members(of: partition)
        let hasRow = members.table.hasRoomForUpdateMember(tokenByteCount: self.audiences.scratchToken.count)
        let hasRing = members.table.hasRoomForRing
        if held < most, hasRow, hasRing { return }
        if !hasRing,
            self.audiences.crowds.find(reference: reference, partition: partition).map({ crowd in
                self.audiences.crowds[crowd].passes.contains { $0.environment == self.intake.event.environment }
            }) != true
        {
            throw EventRejection(
                field: "audience", reason: "is one more than this partition can hold: expected fewer audiences")
        }
        if members.table.find(self.audiences.scratchToken.span).isSome { return }
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
    /// What is written down of a join: the member, and its place among the late members.
    struct JoinRecord {
        var flags = MemberFlags()
        var joinedSeconds: UInt32 = 0
        /// Its number among the late members of its pass; `nil`: the round will meet it.
        var lateNumber: UInt32?
        /// Whether it was a member before, and not late.
        var isKnown = false
        /// Stamp of the version whose alert the member is owed where it goes; 0: none.
        var owedAlertStampSeconds: Int64 = 0
    }
    /// Puts the token into that ring.
    /// - Returns: `nil`: it was there, and nothing has changed.
    private mutating func place(
        in crowd: CrowdID, pass: Int, isFrequent: Bool, joinedSeconds: UInt32, now: EngineTime
    ) -> JoinRecord? {
        let partition = self.audiences.crowds[crowd].partition
        let members = self.audiences.crowds.members(of: partition)
        let ring = self.audiences.crowds[crowd].passes[pass].ring
        let found = members.table.find(self.audiences.scratchToken.span)
        let frequent: MemberFlags = isFrequent ? .isFrequent : []
        guard found.isSome else {
            let member = members.table.insert(
                self.audiences.scratchToken.span, in: ring, joinedSeconds: joinedSeconds, flags: frequent)
            self.memory.counters.membersHeld += 1
            self.noteListener(member, crowd: crowd, pass: pass, now: now)
            let frequent = self.markReturn(of: member, to: crowd, joinedSeconds, members: members, now: now)
            let notBefore = self.reunite(member, of: crowd, with: members)
            let late = self.enter(
                member, as: .anew, crowd: crowd, pass: pass, members: members, notBeforeMillis: notBefore, now: now)
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
                owedAlertStampSeconds: self.owedAlertStampSeconds(found, of: crowd, pass: pass))
        }
        // The latest join wins.
        let former = members.ringOwners[old.index]
        let entrance =
            former == crowd ? self.entrance(of: found, goingTo: pass, of: crowd, members: members) : .anew
        let notBefore = self.exited(found, members: members, now: now)
        flags = members.table.flags(of: found)
        flags.remove(.isFrequent)
        flags.formUnion(frequent)
        if former != crowd {
            flags.formUnion(.isMoved)
            self.audiences.crowds[crowd].moved(joinedSeconds: joinedSeconds, nowSeconds: now.wallSeconds)
        }
        members.table.setFlags(flags, of: found)
        members.table.move(found, to: ring)
        members.table.setJoinedSeconds(joinedSeconds, of: found)
        self.noteListener(found, crowd: crowd, pass: pass, now: now)
        let late = self.enter(
            found, as: entrance, crowd: crowd, pass: pass, members: members, notBeforeMillis: notBefore, now: now)
        if entrance == .anew { self.schedule(former, now: now) }
        return JoinRecord(
            flags: flags, joinedSeconds: joinedSeconds, lateNumber: late, isKnown: entrance == .served,
            owedAlertStampSeconds: entrance == .owedAlert
                ? self.owedAlertStampSeconds(found, of: crowd, pass: pass) : 0)
    }
    /// Takes the member into the ring.
    /// - Parameter notBeforeMillis: earliest time of a push, steady; its phone may have got one shortly before.
    private mutating func enter(
        _ member: MemberID, as entrance: Crowd.Entrance, crowd: CrowdID, pass: Int, members: CrowdTable.Members,
        notBeforeMillis: Int64, now: EngineTime
    ) -> UInt32? {
        let before = self.owed(crowd, pass: pass)
        let lateNumber = self.audiences.crowds[crowd].entered(
            member, as: entrance, pass: pass, notBeforeMillis: notBeforeMillis,
            distanceMillis: self.distanceMillis(crowd), nowMillis: now.steadyMillis, in: &members.table)
        self.noteDue(crowd, pass: pass, before: before)
        return lateNumber
    }
    /// Notes that the member has said that it listens, if the pass is over the listeners of a channel.
    private mutating func noteListener(_ member: MemberID, crowd: CrowdID, pass: Int, now: EngineTime) {
        self.audiences.crowds[crowd].passes[pass].listens(
            RecentListeners.Join(member: member, recordMillis: self.intake.writtenMillis, nowMillis: now.wallMillis))
    }
    /// Notes that the member is about to leave its ring: nothing is owed to it there.
    /// - Returns: when its phone may be pushed to again, steady.
    @discardableResult private mutating func exited(
        _ member: MemberID, members: CrowdTable.Members, now: EngineTime
    ) -> Int64 {
        let ring = members.table.ring(of: member)
        let crowd = members.ringOwners[ring.index]
        guard let pass = self.audiences.crowds[crowd].passIndex(of: ring) else { return .min }
        let before = self.owed(crowd, pass: pass)
        let notBefore = self.audiences.crowds[crowd].passes[pass].left(
            member, distanceMillis: self.distanceMillis(crowd), nowMillis: now.steadyMillis, in: &members.table)
        if members.table.flags(of: member).contains(.isInFlight),
            let push = self.audiences.pushes.identifier(of: member, partition: self.audiences.crowds[crowd].partition)
        {
            self.audiences.pushes[push].isDetached = true
        }
        self.settleMembers(crowd, pass: pass, before: before, into: .left)
        return notBefore
    }
    /// The least time between two pushes to a member, milliseconds.
    func distanceMillis(_ crowd: CrowdID) -> Int64 {
        self.memory.configuration.apps[Int(self.audiences.crowds[crowd].app)].minimumDistanceMillis
    }

    // MARK: Leaving
    private mutating func leave(app: UInt16, partition: PartitionIndex, now: EngineTime) {
        let entry = self.journal.ledger.open(log: self.intake.log, offset: self.intake.record.offset, settled: false)
        self.finishMemberEvent(app: app)
        let members = self.audiences.crowds.members(of: partition)
        let member = members.table.find(self.audiences.scratchToken.span)
        var isMeant = member.isSome
        if isMeant, !self.intake.event.audienceInText.isEmpty {
            let crowd = members.ringOwners[members.table.ring(of: member).index]
            isMeant = self.audiences.crowds[crowd].reference == self.reference(app: app)
        }
        guard isMeant else { return self.journal.ledger.settle(entry) }
        let crowd = self.remove(member, members: members, entry: entry, now: now)
        self.schedule(crowd, now: now)
    }
    /// Removes the member from the table, and from `state`. While a push to it is in flight its number is kept.
    /// - Parameter entry: settled once Kafka has the record; none: no event waits for it.
    /// - Returns: the crowd whose member it was.
    @discardableResult mutating func remove(
        _ member: MemberID, members: CrowdTable.Members, entry: EntryID = .none, now: EngineTime
    ) -> CrowdID {
        let crowd = members.ringOwners[members.table.ring(of: member).index]
        let notBefore = self.exited(member, members: members, now: now)
        self.memory.counters.membersHeld -= 1
        let key = Audiences.DepartedKey(
            partition: self.audiences.crowds[crowd].partition, position: members.table.position(of: member))
        self.writeGone(member, key: key, from: crowd, members: members, entry: entry, now: now)
        self.audiences.departures.note(key, notBeforeMillis: notBefore, nowMillis: now.steadyMillis)
        guard members.table.flags(of: member).contains(.isInFlight) else {
            members.table.remove(member)
            return crowd
        }
        members.table.unlink(member)
        if let push = self.audiences.pushes.identifier(of: member, partition: key.partition) {
            self.audiences.departed[key] = push
        }
        return crowd
    }
    /// Takes back a token that had left. A push to it may still be in flight, and its phone may have been pushed to a
    /// moment ago.
    /// - Returns: when it may be pushed to, steady.
    private mutating func reunite(_ member: MemberID, of crowd: CrowdID, with members: CrowdTable.Members) -> Int64 {
        let key = Audiences.DepartedKey(
            partition: self.audiences.crowds[crowd].partition, position: members.table.position(of: member))
        if !self.audiences.departed.isEmpty, let push = self.audiences.departed.removeValue(forKey: key) {
            members.table.free(self.audiences.pushes[push].member)
            self.audiences.pushes[push].member = member
            members.table.insertFlag(.isInFlight, of: member)
        }
        return self.audiences.departures.notBeforeMillis(key)
    }

    /// Ends the event of a join or a leave.
    mutating func finishMemberEvent(
        app: UInt16, outcome: Outcome = .applied, cause: OutcomeDetails.Cause = .none
    ) {
        var details = OutcomeDetails()
        details.cause = cause
        details.fill(tokenHash: PushComposer.hash(ofToken: self.audiences.scratchToken.span))
        self.journal.finishMemberEvent(self.intake, app: app, outcome: outcome, details: details, in: &self.memory)
    }

    // MARK: Counting
    /// What members of a pass are owed, and the version of the alert that some may wait for alone.
    struct Owed {
        var members = Pass.Owed()
        var alertStampSeconds: Int64 = 0
    }
    func owed(_ crowd: CrowdID, pass: Int) -> Owed {
        Owed(
            members: self.audiences.crowds[crowd].passes[pass].owed,
            alertStampSeconds: self.audiences.crowds[crowd].alertStampSeconds)
    }
    /// - Parameter alert: the version whose alert may have gone alone.
    func owed(_ crowd: CrowdID, pass: Int, alert: Version?) -> Owed {
        Owed(
            members: self.audiences.crowds[crowd].passes[pass].owed, alertStampSeconds: alert?.stampSeconds ?? 0)
    }
    /// Notes that members are owed more than before.
    mutating func noteDue(_ crowd: CrowdID, pass: Int, before: Owed) {
        self.noteDue(
            self.audiences.crowds[crowd].passes[pass].owed - before.members, of: crowd,
            alertStampSeconds: before.alertStampSeconds)
    }
    /// - Parameter alertStampSeconds: stamp of the alert that some of them wait for alone.
    mutating func noteDue(_ due: Pass.Owed, of crowd: CrowdID, alertStampSeconds: Int64) {
        self.memory.counters.members.due &+= UInt64(truncatingIfNeeded: due.all)
        let effects = self.audiences.crowds[crowd].becameDue(due, alertStampSeconds: alertStampSeconds)
        self.carryOut(effects, of: crowd)
        self.noteWaiting(due.all)
    }
    /// Notes that fewer members are owed something, for this reason.
    /// - Parameters:
    ///   - due: members that the newest version is due to from now on.
    ///   - isNewerThere: whether it has just been taken, so that `before` is what was due of the version before.
    mutating func settleMembers(
        _ crowd: CrowdID, pass: Int, before: Owed, due: Int = 0, isNewerThere: Bool = false,
        into settlement: MemberSettlement
    ) {
        var settled = before.members - self.audiences.crowds[crowd].passes[pass].owed
        settled.all += due
        self.settle(
            settled, of: crowd, alertStampSeconds: before.alertStampSeconds, due: due, isNewerThere: isNewerThere,
            into: settlement)
    }
    /// Notes that members are no longer owed something; the rest as of `settleMembers`.
    mutating func settle(
        _ settled: Pass.Owed, of crowd: CrowdID, alertStampSeconds: Int64, due: Int = 0, isNewerThere: Bool = false,
        into settlement: MemberSettlement
    ) {
        self.memory.counters.members.due &+= UInt64(due)
        self.memory.counters.members.count(settlement, UInt64(truncatingIfNeeded: settled.all))
        let effects = self.audiences.crowds[crowd].settled(
            settled, due: due, alertStampSeconds: alertStampSeconds, isNewerThere: isNewerThere, into: settlement)
        self.carryOut(effects, of: crowd)
        self.noteWaiting(due - settled.all)
    }
    mutating func noteWaiting(_ step: Int) {
        self.memory.counters.members.waiting &+= UInt64(truncatingIfNeeded: step)
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

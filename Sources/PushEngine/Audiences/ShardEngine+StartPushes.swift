import APNSProtocol
import PushModel

/// Start members that are served (fan-out, "`start` to start members").
extension ShardEngine {
    /// Fills `request` with the next push of a start round; false: none can leave.
    mutating func sendNextStart(_ reference: PassReference, into request: inout PushRequest, now: EngineTime) -> Bool {
        let (crowd, round) = (reference.crowd, reference.pass)
        guard self.isStanding(reference) else { return false }
        self.expireStart(crowd, now: now)
        guard self.mayStart(crowd) else { return false }
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        while let (member, attempt) = self.nextStart(crowd, round: round, members: members, now: now) {
            // Its push of another start has to be answered first.
            if members.table.flags(of: member).contains(.isInFlight) {
                self.hold(member, of: crowd, round: round, untilMillis: .max, attempt: attempt)
                continue
            }
            let allowed = self.startAllowedMillis(member, members: members, now: now)
            guard allowed > now.steadyMillis else {
                self.sendStart(member, of: crowd, round: round, attempt: attempt, into: &request, now: now)
                return true
            }
            self.holdBack(member, of: crowd, round: round, untilMillis: allowed, attempt: attempt, now: now)
        }
        return false
    }
    private func isStanding(_ reference: PassReference) -> Bool {
        self.audiences.crowds[reference.crowd].generation == reference.generation
            && self.audiences.crowds[reference.crowd].standing == .living
            && reference.pass < self.audiences.crowds[reference.crowd].starts.rounds.count
    }
    /// The round has left its lane's queue.
    mutating func startTurnOver(_ reference: PassReference, now: EngineTime) {
        guard self.isStanding(reference) else { return }
        self.audiences.crowds[reference.crowd].starts.rounds[reference.pass].isQueued = false
        self.schedule(reference.crowd, now: now)
    }

    /// Who is next; it is owed nothing more but what is sent now.
    private mutating func nextStart(
        _ crowd: CrowdID, round: Int, members: CrowdTable.Members, now: EngineTime
    ) -> (member: MemberID, attempt: UInt8)? {
        let resends = self.resendsStarts(crowd)
        if let member = self.audiences.crowds[crowd].starts.rounds[round].retries.nextDue(
            sendsNamed: resends, nowMillis: now.steadyMillis)
        {
            let entry = self.audiences.crowds[crowd].starts.rounds[round].retries.remove(member)
            return (member, entry?.attempt ?? 0)
        }
        if !self.audiences.crowds[crowd].starts.rounds[round].retries.isFull,
            let member = self.audiences.crowds[crowd].starts.rounds[round].popLate(isFree: resends)
        {
            members.table.removeFlag(.isLate, of: member)
            self.audiences.crowds[crowd].starts.rounds[round].noteServedEarly(member, in: &members.table)
            return (member, 0)
        }
        while !self.audiences.crowds[crowd].starts.rounds[round].retries.isFull,
            let entry = self.audiences.crowds[crowd].starts.rounds[round].next(in: members.table)
        {
            let position = Int64(entry.position)
            let isOwed = self.isOwed(entry, of: crowd, round: round, members: members)
            if isOwed {
                guard self.isTurn(crowd, position: position, now: now) else { return nil }
                guard resends || self.audiences.crowds[crowd].starts.rounds[round].isAnnounced(position) else {
                    self.noteDry(crowd)
                    return nil
                }
            }
            self.audiences.crowds[crowd].starts.rounds[round].met(entry, wasOwed: isOwed)
            if isOwed { return (entry.member, 0) }
        }
        return nil
    }
    /// More could leave than is announced.
    private mutating func noteDry(_ crowd: CrowdID) {
        guard self.audiences.crowds[crowd].starts.isRecordUnderWay,
            self.audiences.crowds[crowd].starts.sentSinceRecord > 0
        else { return }
        self.audiences.crowds[crowd].starts.pace.noteDry()
    }
    private mutating func hold(
        _ member: MemberID, of crowd: CrowdID, round: Int, untilMillis: Int64, attempt: UInt8
    ) {
        self.audiences.crowds[crowd].starts.rounds[round].retries.set(
            StartRetries.Entry(notBeforeMillis: untilMillis, attempt: attempt), for: member)
        self.audiences.crowds[crowd].starts.isRecordDue = true
    }
    /// The token has had its starts of this hour. It waits if there is room and the start lives for so long.
    private mutating func holdBack(
        _ member: MemberID, of crowd: CrowdID, round: Int, untilMillis: Int64, attempt: UInt8, now: EngineTime
    ) {
        let count = self.audiences.crowds[crowd].starts.rounds[round].retries.count
        let expires = self.audiences.crowds[crowd].starts.orderExpiresSeconds
        let isInTime = untilMillis - now.steadyMillis < expires * 1_000 - now.wallMillis
        self.memory.counters.startsHeldBack += 1
        if isInTime, count < StartRetries.countMax / 2 {
            return self.hold(member, of: crowd, round: round, untilMillis: untilMillis, attempt: attempt)
        }
        self.settleStart(crowd, of: self.audiences.crowds[crowd].starts.orderStamp, into: \.expired)
    }

    // MARK: Within the hour
    /// When the member's token may be sent another start, steady (`start.per-hour`). Counted are the starts that went round within the hour in
    /// its audiences of this partition, if it was a member and may have been sent them: from their last push on.
    func startAllowedMillis(_ member: MemberID, members: CrowdTable.Members, now: EngineTime) -> Int64 {
        // The member's bytes stay while it is looked for.
        let token = unsafe Span(_unsafeElements: members.table.tokenBytes(member))
        let own = self.home(of: member, members: members).crowd
        let limit = self.memory.configuration.apps[Int(self.audiences.crowds[own].app)].startsPerHour
        var millis: [Int64] = []
        var other = members.table.firstMembership(ofStartToken: token)
        while other.isSome {
            self.noteStarts(of: other, isOwn: other == member, members: members, now: now, into: &millis)
            other = members.table.nextMembership(after: other)
        }
        guard millis.count >= limit else { return .min }
        millis.sort()
        return millis[millis.count - limit] + RollingBudget.windowMillis
    }
    private func noteStarts(
        of member: MemberID, isOwn: Bool, members: CrowdTable.Members, now: EngineTime, into millis: inout [Int64]
    ) {
        let crowd = self.home(of: member, members: members).crowd
        guard !self.audiences.crowds[crowd].starts.past.isEmpty else { return }
        let current = self.audiences.crowds[crowd].starts.orderStamp
        let joinedSeconds = members.table.joinedSeconds(of: member)
        for past in self.audiences.crowds[crowd].starts.past where !past.isOver(nowMillis: now.steadyMillis) {
            if past.start.names(current) {
                guard !isOwn,
                    self.wasSentStart(member, members: members) || self.mayBeStarted(member, members: members)
                else { continue }
            } else {
                guard past.mayHaveReached(joinedSeconds: joinedSeconds) else { continue }
            }
            millis.append(past.lastSentMillis)
        }
    }

    // MARK: Sending
    private mutating func sendStart(
        _ member: MemberID, of crowd: CrowdID, round: Int, attempt: UInt8, into request: inout PushRequest,
        now: EngineTime
    ) {
        guard let order = self.audiences.crowds[crowd].starts.order else { return }
        let partition = self.audiences.crowds[crowd].partition
        let members = self.audiences.crowds.members(of: partition)
        members.table.insertFlag(.isInFlight, of: member)
        let id = self.audiences.pushes.make()
        self.audiences.pushes[id].isStart = true
        self.audiences.pushes[id].crowd = crowd
        self.audiences.pushes[id].crowdGeneration = self.audiences.crowds[crowd].generation
        self.audiences.pushes[id].pass = round
        self.audiences.pushes[id].member = member
        self.audiences.pushes[id].partition = partition
        self.audiences.pushes[id].partitionGeneration = self.memory.partitions[partition].generation
        self.audiences.pushes[id].life = order.life
        self.audiences.pushes[id].stampSeconds = order.stampSeconds
        self.audiences.pushes[id].recordMillis = order.layer.recordMillis
        self.audiences.pushes[id].sentMillis = now.steadyMillis
        self.audiences.pushes[id].priority = order.isHigh ? .high : .low
        self.audiences.pushes[id].app = self.audiences.crowds[crowd].app
        self.audiences.pushes[id].lane = self.startLane(crowd, round: round)
        self.audiences.pushes[id].attempt = attempt
        self.audiences.pushes[id].apnsID = self.dispatch.makeUUID()
        var first = self.audiences.crowds[crowd].starts.rounds[round].firstPush
        self.audiences.pushes.link(id, into: &first)
        self.audiences.crowds[crowd].starts.rounds[round].firstPush = first
        self.audiences.crowds[crowd].starts.rounds[round].inFlightCount += 1
        self.audiences.crowds[crowd].starts.noteSent(order.stamp, now: now)
        self.audiences.crowds[crowd].starts.sentSinceRecord += 1
        self.audiences.crowds[crowd].starts.isRecordDue = true
        self.memory.requestLeft(partition)
        self.memory.counters.pushesSent += 1
        self.memory.counters.memberPushesSent += 1
        if order.isHigh { self.memory.counters.pushesHighPriority += 1 }
        if attempt > 0 {
            self.memory.counters.startMembers.repeated += 1
            self.audiences.crowds[crowd].starts.report.add(1, to: \.repeated)
        }
        self.fill(&request, id: id, order: order)
        if self.startRecordDueIsNear(crowd) { self.schedule(crowd, now: now) }
    }
    /// The next chunk is announced before this one has gone.
    private func startRecordDueIsNear(_ crowd: CrowdID) -> Bool {
        guard !self.audiences.crowds[crowd].starts.isRecordUnderWay else { return false }
        for round in self.audiences.crowds[crowd].starts.rounds.indices
        where self.audiences.crowds[crowd].starts.rounds[round].isUnderWay
            && self.audiences.crowds[crowd].starts.rounds[round].isShort
            && self.audiences.crowds[crowd].starts.rounds[round].nextHorizon < StartRound.end
        { return true }
        return false
    }
    private mutating func fill(_ request: inout PushRequest, id: MemberPushID, order: StartOrder) {
        let (crowd, member) = (self.audiences.pushes[id].crowd, self.audiences.pushes[id].member)
        let members = self.audiences.crowds.members(of: self.audiences.pushes[id].partition)
        let newest = self.audiences.crowds[crowd].newest
        let round = self.audiences.pushes[id].pass
        // Mostly there is none; a crowd that is handed to a function is copied.
        let channel =
            self.audiences.crowds[crowd].channels.isEmpty
            ? []
            : self.audiences.crowds[crowd].openChannel(
                self.audiences.crowds[crowd].starts.rounds[round].environment)
        request.fill(
            .device, id: self.audiences.pushes.pushID(of: id), app: self.audiences.crowds[crowd].app,
            priority: self.audiences.pushes[id].priority, expirationSeconds: order.expiresSeconds,
            apnsID: self.audiences.pushes[id].apnsID
        ) {
            // The member's bytes stay while they are copied.
            let token = unsafe members.table.tokenBytes(member)
            Hex.append(unsafe Span(_unsafeElements: token), to: &$0)
        } body: {
            self.audiences.crowds[crowd].starts.appendBody(
                newest: newest, isChannelCapable: members.table.flags(of: member).contains(.isChannelCapable),
                channel: channel, to: &$0)
        }
    }
}

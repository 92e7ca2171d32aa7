import APNSProtocol
import PushModel

/// Start members that are served, and what their answers mean (fan-out, "`start` to start members").
extension ShardEngine {
    /// Fills `request` with the next push of a start round; `false`: none can leave.
    mutating func sendNextStart(_ reference: PassReference, into request: inout PushRequest, now: EngineTime) -> Bool {
        let (crowd, round) = (reference.crowd, reference.pass)
        guard self.isStanding(reference) else { return false }
        self.expireStart(crowd, now: now)
        guard self.mayStart(crowd) else { return false }
        let terms = self.startTerms(crowd)
        let perHour = self.memory.configuration.apps[Int(self.audiences.crowds[crowd].app)].startsPerHour
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        while let (member, attempt) = self.audiences.crowds[crowd].starts.nextTurn(
            of: round, terms, in: &members.table, now: now)
        {
            let allowed = self.audiences.crowds.startAllowedMillis(
                member, perHour: perHour, members: members, now: now)
            guard allowed > now.steadyMillis else {
                self.sendStart(
                    member, of: crowd, round: round, attempt: attempt, members: members, into: &request, now: now)
                return true
            }
            self.memory.counters.startsHeldBack += 1
            let waits = self.audiences.crowds[crowd].starts.heldBack(
                member, of: round, untilMillis: allowed, attempt: attempt, now: now)
            if !waits { self.settleStart(crowd, of: self.audiences.crowds[crowd].starts.orderStamp, into: \.expired) }
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
        self.audiences.crowds[reference.crowd].starts.dequeued(reference.pass)
        self.schedule(reference.crowd, now: now)
    }

    // MARK: Sending

    private mutating func sendStart(
        _ member: MemberID, of crowd: CrowdID, round: Int, attempt: UInt8, members: CrowdTable.Members,
        into request: inout PushRequest, now: EngineTime
    ) {
        guard let order = self.audiences.crowds[crowd].starts.order else { return }
        let partition = self.audiences.crowds[crowd].partition
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
        let isShort = self.audiences.crowds[crowd].starts.pushLeft(
            id, of: round, in: &self.audiences.pushes, now: now)
        self.memory.requestLeft(partition)
        self.memory.counters.pushesSent += 1
        self.memory.counters.memberPushesSent += 1
        if order.isHigh { self.memory.counters.pushesHighPriority += 1 }
        if attempt > 0 {
            self.memory.counters.startMembers.repeated += 1
            self.audiences.crowds[crowd].startRepeated()
        }
        self.fill(&request, id: id, expiresSeconds: order.expiresSeconds, members: members)
        // The next chunk is announced before this one has gone.
        if isShort { self.schedule(crowd, now: now) }
    }
    private mutating func fill(
        _ request: inout PushRequest, id: MemberPushID, expiresSeconds: Int64, members: CrowdTable.Members
    ) {
        let (crowd, member) = (self.audiences.pushes[id].crowd, self.audiences.pushes[id].member)
        let newest = self.audiences.crowds[crowd].versions.newest
        let round = self.audiences.pushes[id].pass
        // Mostly there is no channel; a crowd that is handed to a function is copied.
        let channel =
            self.audiences.crowds[crowd].versions.channels.isEmpty
            ? []
            : self.audiences.crowds[crowd].versions.openChannel(
                self.audiences.crowds[crowd].starts.rounds[round].environment)
        request.fill(
            .device, id: self.audiences.pushes.pushID(of: id), app: self.audiences.crowds[crowd].app,
            priority: self.audiences.pushes[id].priority, expirationSeconds: expiresSeconds,
            apnsID: self.audiences.pushes[id].apnsID
        ) {
            Hex.append(members.table.token(of: member), to: &$0)
        } body: {
            self.audiences.crowds[crowd].starts.appendBody(
                newest: newest, isChannelCapable: members.table.flags(of: member).contains(.isChannelCapable),
                channel: channel, to: &$0)
        }
    }

    // MARK: Answers

    /// Takes the answer to a push of a start, which is in flight.
    mutating func startAnswered(_ id: MemberPushID, _ answer: PushAnswer, now: EngineTime) {
        let push = self.audiences.pushes[id]
        let crowd = push.crowd
        self.audiences.crowds[crowd].starts.pushAnswered(id, of: push.pass, in: &self.audiences.pushes)
        self.audiences.pushes.release(id)
        self.memory.requestAnswered(push.partition)
        let members = self.audiences.crowds.members(of: push.partition)
        members.table.removeFlag(.isInFlight, of: push.member)
        if let reason = self.judgeStart(answer, push: push, members: members, now: now) {
            self.settleStart(crowd, of: push.start, into: reason)
        }
        if self.audiences.crowds[crowd].starts.trace == .told { self.traceAnswer(answer, push: push) }
        self.audiences.crowds[crowd].starts.settled(push.member, of: push.pass, nowMillis: now.steadyMillis)
        self.schedule(crowd, now: now)
    }
    /// - Returns: how it ended; `nil`: the member is still owed the start.
    private mutating func judgeStart(
        _ answer: PushAnswer, push: MemberPush, members: CrowdTable.Members, now: EngineTime
    ) -> WritableKeyPath<MemberCounters, UInt64>? {
        switch answer.result {
        case .accepted: return self.startAccepted(answer, push: push, now: now)
        case .notProcessed, .channel:
            self.memory.counters.apps[Int(push.app)].notProcessed += 1
            self.dispatch.topicAnswered(.nothing, lane: push.lane, in: &self.memory, now: now)
            return self.startAgain(push, members: members, delayMillis: 0, now: now)
        case .unknown(let detail):
            self.memory.counters.apps[Int(push.app)].unknown += 1
            self.dispatch.topicAnswered(.nothing, lane: push.lane, in: &self.memory, now: now)
            if self.startTerms(push.crowd).resends {
                self.audiences.crowds[push.crowd].starts.mayHaveArrived(push)
                return self.startAgain(
                    push, members: members, delayMillis: self.retryDelayMillis(push, nil), now: now)
            }
            self.tellFailedStart(push, members: members, status: 0, reason: detail, outcome: .unknown)
            return \.unknown
        case .response(let response):
            guard response.verdict != .accepted else { return self.startAccepted(answer, push: push, now: now) }
            self.memory.counters.apps[Int(push.app)].countRefusal(response.reason)
            return self.startRefused(response, push: push, members: members, now: now)
        }
    }
    private mutating func startAccepted(
        _ answer: PushAnswer, push: MemberPush, now: EngineTime
    ) -> WritableKeyPath<MemberCounters, UInt64> {
        self.memory.counters.apps[Int(push.app)].accepted += 1
        self.dispatch.heardAccepted(lane: push.lane, in: &self.memory, now: now)
        self.sampleMember(push, apnsMicros: answer.apnsMicros, now: now)
        self.audiences.crowds[push.crowd].startAccepted(push.start, wallMillis: now.wallMillis)
        return \.accepted
    }
    private mutating func startRefused(
        _ response: PushResponse, push: MemberPush, members: CrowdTable.Members, now: EngineTime
    ) -> WritableKeyPath<MemberCounters, UInt64>? {
        let consequence = response.verdict.consequence
        self.dispatch.heard(consequence, lane: push.lane, in: &self.memory, now: now)
        switch consequence.push {
        case .accepted: return \.accepted
        case .tokenDead(let invalidSinceMillis, let isSuspicious):
            if self.isEarlier(invalidSinceMillis, push, members) {
                return self.startAgain(
                    push, members: members, delayMillis: self.earlierDeathDelayMillis(), isEarlierDeath: true, now: now)
            }
            self.tellFailedStart(
                push, members: members, status: response.status, reason: response.reason, outcome: .rejected)
            if isSuspicious, self.dispatch.doubtsVerdicts(lane: push.lane) {
                self.memory.counters.tokenRemovalsStopped += 1
                return \.failed
            }
            self.memory.counters.tokensDead += 1
            self.startTokenDied(push.member, members: members, now: now)
            return \.gone
        case .refused:
            self.tellFailedStart(
                push, members: members, status: response.status, reason: response.reason, outcome: .deadLettered)
            return \.failed
        case .goesAgain: return self.startAgain(push, members: members, delayMillis: 0, now: now)
        case .waitsForRoute:
            return self.startAgain(
                push, members: members,
                delayMillis: self.retryDelayMillis(push, response.retryAfterSeconds, isOfRoute: true), now: now)
        case .waitsForToken:
            return self.startAgain(
                push, members: members, delayMillis: self.retryDelayMillis(push, response.retryAfterSeconds), now: now)
        }
    }
    private mutating func startAgain(
        _ push: MemberPush, members: CrowdTable.Members, delayMillis: Int64, isEarlierDeath: Bool = false,
        now: EngineTime
    ) -> WritableKeyPath<MemberCounters, UInt64>? {
        let endsSeconds = self.audiences.crowds[push.crowd].startEndsSeconds()
        return self.audiences.crowds[push.crowd].starts.surelyNotArrived(
            push, endsSeconds: endsSeconds, delayMillis: delayMillis,
            attempt: push.nextAttempt(isEarlierDeath: isEarlierDeath), in: members.table, now: now)
    }
    /// Removes a dead token from all its audiences.
    private mutating func startTokenDied(_ member: MemberID, members: CrowdTable.Members, now: EngineTime) {
        for other in members.memberships(of: members.table.token(of: member)) {
            let crowd = self.audiences.crowds.startHome(of: other, members: members).crowd
            let flags = members.table.flags(of: other)
            if !flags.contains(.isInFlight) {
                self.forgetStart(other, members: members)
            } else if !flags.contains(.isGhost) {
                self.leave(other, members: members, now: now)
            }
            self.schedule(crowd, now: now)
        }
    }
    /// Writes an outcome record for a member that was not started, or whose start nobody knows.
    private mutating func tellFailedStart(
        _ push: MemberPush, members: CrowdTable.Members, status: UInt16, reason: String, outcome: Outcome
    ) {
        if outcome != .unknown {
            self.audiences.crowds[push.crowd].startRefused(
                push.start, status: status, reason: reason, isOfMessage: outcome == .deadLettered)
        }
        guard self.audiences.crowds[push.crowd].starts.orderStamp == push.start,
            self.audiences.crowds[push.crowd].starts.reports.untoldMembersMax > 0
        else { return }
        let details = self.details(of: push, status: status, reason: reason, members: members)
        self.tellFailedStart(outcome, of: push.crowd, details: details)
    }
    /// Writes an outcome record of a member that the start that goes round has not reached, or may not have. If there
    /// are very many members, the last are only counted.
    mutating func tellFailedStart(_ outcome: Outcome, of crowd: CrowdID, details: borrowing OutcomeDetails) {
        guard let order = self.audiences.crowds[crowd].starts.order, self.audiences.crowds[crowd].tellsStartMember()
        else { return }
        self.journal.tellFailedStart(
            outcome, of: order, audience: self.audiences.crowds[crowd].id, app: self.audiences.crowds[crowd].app,
            details: details, partition: self.audiences.crowds[crowd].partition, in: &self.memory)
    }
}

import APNSProtocol
import PushModel

/// How start members are served, and what answers to their pushes mean (fan-out contract: Starts of an audience).
extension FanOut {
    /// Fills `request` with the next push of a start round; `false`: none can leave.
    mutating func sendNextStart(
        _ reference: PassReference, into request: inout PushRequest, in core: inout ShardCore, now: EngineTime
    ) -> Bool {
        let (crowd, round) = (reference.crowd, reference.pass)
        self.expireStart(crowd, in: &core, now: now)
        guard core.memory.mayStart(self.crowds[crowd]) else { return false }
        let terms = core.memory.startTerms(self.crowds[crowd])
        let perHour = core.memory.startsPerHour(self.crowds[crowd])
        let members = self.crowds.members(of: crowd)
        while let (member, failures) = self.crowds[crowd].nextStart(
            of: round, terms, in: &members.table, now: now)
        {
            let allowed = self.crowds.startAllowedMillis(member, perHour: perHour, members: members, now: now)
            guard allowed > now.steadyMillis else {
                self.sendStart(
                    member, of: crowd, round: round, failures: failures, members: members, into: &request, in: &core,
                    now: now)
                return true
            }
            core.memory.counters.startsHeldBack += 1
            let waits = self.crowds[crowd].startHeldBack(
                member, of: round, untilMillis: allowed, failures: failures, now: now)
            if !waits { self.settleStarts(1, into: \.expired, in: &core) }
        }
        return false
    }

    // MARK: Sending

    private mutating func sendStart(
        _ member: MemberID, of crowd: CrowdID, round: Int, failures: FailureStreak, members: CrowdTable.Members,
        into request: inout PushRequest, in core: inout ShardCore, now: EngineTime
    ) {
        members.table.insertFlag(.isInFlight, of: member)
        let id = self.pushes.make()
        let isShort = self.crowds[crowd].startLeft(
            id, to: member, of: crowd, round: round, failures: failures, in: &self.pushes, now: now)
        self.pushLeaves(id, in: &core)
        if !failures.isNone { core.memory.counters.startMembers.repeated += 1 }
        request.fill(
            .device, id: self.pushes.pushID(of: id), app: self.pushes[id].app, priority: self.pushes[id].priority,
            expirationSeconds: self.crowds[crowd].startExpiresSeconds, apnsID: self.pushes[id].apnsID
        ) {
            Hex.append(members.table.token(of: member), to: &$0)
        } body: {
            self.crowds[crowd].appendStartBody(
                round: round, isChannelCapable: members.table.flags(of: member).contains(.isChannelCapable), to: &$0)
        }
        // The next members are announced before all announced members have been sent the start.
        if isShort { self.schedule(crowd, in: &core, now: now) }
    }

    // MARK: Answers

    /// Takes the answer to a push of a start. The push is still in the store.
    mutating func startAnswered(_ id: MemberPushID, _ answer: PushAnswer, in core: inout ShardCore, now: EngineTime) {
        let push = self.pushes[id]
        let crowd = push.crowd
        self.crowds[crowd].startAnswered(id, of: push.pass, in: &self.pushes)
        self.pushes.release(id)
        core.memory.requestAnswered(push.partition)
        let members = self.crowds.members(of: push.partition)
        members.table.removeFlag(.isInFlight, of: push.member)
        if let reason = self.judgeStart(answer, push: push, members: members, in: &core, now: now) {
            self.settleStarts(1, into: reason, in: &core)
            self.crowds[crowd].startSettled(of: push.start, into: reason)
        }
        if self.crowds[crowd].isStartTraced { self.traceAnswer(answer, push: push, in: &core) }
        self.crowds[crowd].wakeStart(push.member, of: push.pass, nowMillis: now.steadyMillis)
        self.schedule(crowd, in: &core, now: now)
    }
    /// Decides what an answer means for the member.
    /// - Returns: how the push ended; `nil`: the member is still owed the start.
    private mutating func judgeStart(
        _ answer: PushAnswer, push: MemberPush, members: CrowdTable.Members, in core: inout ShardCore, now: EngineTime
    ) -> WritableKeyPath<MemberCounters, UInt64>? {
        switch answer.result {
        case .accepted: return self.startAccepted(answer, push: push, in: &core, now: now)
        case .notProcessed, .channel:
            core.memory.counters.apps[Int(push.app)].notProcessed += 1
            core.dispatch.apnsTopicAnswered(.nothing, lane: push.lane, in: &core.memory, now: now)
            return self.startAgain(push, members: members, delayMillis: 0, now: now)
        case .unknown(let detail):
            core.memory.counters.apps[Int(push.app)].unknown += 1
            core.dispatch.apnsTopicAnswered(.nothing, lane: push.lane, in: &core.memory, now: now)
            if core.memory.startTerms(self.crowds[push.crowd]).resends {
                self.crowds[push.crowd].startMayHaveArrived(push)
                return self.startAgain(
                    push, members: members, delayMillis: self.retryDelayMillis(push, nil, in: &core), now: now)
            }
            self.recordFailedStart(push, members: members, status: 0, reason: detail, outcome: .unknown, in: &core)
            return \.unknown
        case .response(let response):
            guard response.verdict != .accepted else {
                return self.startAccepted(answer, push: push, in: &core, now: now)
            }
            core.memory.counters.apps[Int(push.app)].countRefusal(response.reason)
            return self.startRefused(response, push: push, members: members, in: &core, now: now)
        }
    }
    private mutating func startAccepted(
        _ answer: PushAnswer, push: MemberPush, in core: inout ShardCore, now: EngineTime
    ) -> WritableKeyPath<MemberCounters, UInt64> {
        core.memory.counters.apps[Int(push.app)].accepted += 1
        core.dispatch.heardAccepted(lane: push.lane, in: &core.memory, now: now)
        self.sampleMember(push, apnsMicros: answer.apnsMicros, in: &core, now: now)
        self.crowds[push.crowd].startAccepted(push.start, wallMillis: now.wallMillis)
        return \.accepted
    }
    private mutating func startRefused(
        _ response: PushResponse, push: MemberPush, members: CrowdTable.Members, in core: inout ShardCore,
        now: EngineTime
    ) -> WritableKeyPath<MemberCounters, UInt64>? {
        let consequence = response.verdict.consequence
        core.dispatch.heard(consequence, lane: push.lane, in: &core.memory, now: now)
        switch consequence.push {
        case .accepted: return \.accepted
        case .tokenDead(let invalidSinceMillis, let isSuspicious):
            if self.isEarlier(invalidSinceMillis, push, members) {
                let delayMillis = self.earlierDeathDelayMillis(in: &core)
                self.noticeEarlierDeath(
                    of: push, response, diedMillis: invalidSinceMillis, delayMillis: delayMillis, members: members,
                    in: &core)
                return self.startAgain(
                    push, members: members, delayMillis: delayMillis, isEarlierDeath: true, now: now)
            }
            let isTokenKept = isSuspicious && core.dispatch.doubtsVerdicts(lane: push.lane)
            self.recordFailedStart(
                push, members: members, status: response.status, reason: response.reason, outcome: .rejected,
                isTokenKept: isTokenKept, in: &core)
            if isTokenKept {
                core.memory.counters.tokenRemovalsStopped += 1
                return \.failed
            }
            core.memory.counters.tokensDead += 1
            self.startTokenDied(push.member, members: members, in: &core, now: now)
            return \.gone
        case .refused:
            self.recordFailedStart(
                push, members: members, status: response.status, reason: response.reason, outcome: .deadLettered,
                in: &core)
            return \.failed
        case .goesAgain: return self.startAgain(push, members: members, delayMillis: 0, now: now)
        case .waitsForRoute:
            return self.startAgain(
                push, members: members,
                delayMillis: self.retryDelayMillis(push, response.retryAfterSeconds, isOfRoute: true, in: &core),
                now: now)
        case .waitsForToken:
            return self.startAgain(
                push, members: members, delayMillis: self.retryDelayMillis(push, response.retryAfterSeconds, in: &core),
                now: now)
        }
    }
    private mutating func startAgain(
        _ push: MemberPush, members: CrowdTable.Members, delayMillis: Int64, isEarlierDeath: Bool = false,
        now: EngineTime
    ) -> WritableKeyPath<MemberCounters, UInt64>? {
        self.crowds[push.crowd].startAgain(
            push, delayMillis: delayMillis, isEarlierDeath: isEarlierDeath, in: &members.table, now: now)
    }
    /// Removes a dead token from all its audiences.
    private mutating func startTokenDied(
        _ member: MemberID, members: CrowdTable.Members, in core: inout ShardCore, now: EngineTime
    ) {
        for other in members.memberships(of: members.table.token(of: member)) {
            let crowd = self.crowds.startHome(of: other, members: members).crowd
            let flags = members.table.flags(of: other)
            if !flags.contains(.isInFlight) {
                self.forgetStart(other, members: members, in: &core)
            } else if !flags.contains(.isGhost) {
                self.leave(other, members: members, in: &core, now: now)
            }
            self.schedule(crowd, in: &core, now: now)
        }
    }
    /// Writes an outcome record for a start push that failed for good, or whose result is unknown.
    private mutating func recordFailedStart(
        _ push: MemberPush, members: CrowdTable.Members, status: UInt16, reason: String, outcome: Outcome,
        isTokenKept: Bool = false, in core: inout ShardCore
    ) {
        let mayBeRecorded = self.crowds[push.crowd].startFailed(
            push.start, status: status, reason: reason, outcome: outcome)
        guard mayBeRecorded else { return }
        var details = self.details(of: push, status: status, reason: reason, members: members)
        if isTokenKept { details.tokenStanding = .doubted }
        self.recordFailedStart(outcome, of: push.crowd, details: details, in: &core)
    }
    /// Writes an outcome record for a member that the current start has not reached, or may not have reached. If there
    /// are very many such members, the last are only counted.
    mutating func recordFailedStart(
        _ outcome: Outcome, of crowd: CrowdID, details: borrowing OutcomeDetails, in core: inout ShardCore
    ) {
        guard let order = self.crowds[crowd].recordsStartMember() else { return }
        core.journal.recordFailedStart(
            outcome, of: order, crowd: self.crowds[crowd], details: details, in: &core.memory)
    }
}

import APNSProtocol
import PushModel

/// What became of a push to a start member.
extension ShardEngine {
    /// Outcome records about single members of one start and partition; the others are counted.
    static var failedStartsToldMax: Int { 1_024 }

    /// Takes the answer to a push of a start, which is in flight.
    mutating func startAnswered(_ id: MemberPushID, _ answer: PushAnswer, now: EngineTime) {
        let push = self.audiences.pushes[id]
        let (crowd, round) = (push.crowd, push.pass)
        var first = self.audiences.crowds[crowd].starts.rounds[round].firstPush
        self.audiences.pushes.unlink(id, from: &first)
        self.audiences.crowds[crowd].starts.rounds[round].firstPush = first
        self.audiences.pushes.release(id)
        self.memory.requestAnswered(push.partition)
        self.audiences.crowds[crowd].starts.rounds[round].inFlightCount -= 1
        self.audiences.crowds[crowd].starts.isRecordDue = true
        let members = self.audiences.crowds.members(of: push.partition)
        members.table.removeFlag(.isInFlight, of: push.member)
        if let reason = self.judgeStart(answer, push: push, members: members, now: now) {
            self.settleStart(crowd, of: push.start, into: reason)
        }
        if self.audiences.crowds[crowd].starts.isTraced { self.traceAnswer(answer, push: push) }
        self.wakeStart(push, members: members, now: now)
        self.schedule(crowd, now: now)
    }
    /// - Returns: how it ended; `nil`: the member is owed the start still.
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
            if self.resendsStarts(push.crowd) {
                if self.audiences.crowds[push.crowd].starts.orderStamp == push.start {
                    self.audiences.crowds[push.crowd].starts.rounds[push.pass].noteMaybeSent(push.member)
                }
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
        if self.audiences.crowds[push.crowd].starts.report.start == push.start {
            self.audiences.crowds[push.crowd].starts.report.noteAccepted(wallMillis: now.wallMillis)
        }
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
    /// It surely was not started: it is tried again, as long as that start goes round and it is a member.
    private mutating func startAgain(
        _ push: MemberPush, members: CrowdTable.Members, delayMillis: Int64, isEarlierDeath: Bool = false,
        now: EngineTime
    ) -> WritableKeyPath<MemberCounters, UInt64>? {
        let (crowd, round) = (push.crowd, push.pass)
        guard !members.table.flags(of: push.member).contains(.isGhost) else {
            // It need not be remembered that it was sent this one.
            self.audiences.crowds[crowd].starts.rounds[round].ghosts[push.member] = StartStamp()
            return \.left
        }
        guard self.audiences.crowds[crowd].starts.orderStamp == push.start else { return \.superseded }
        // It would keep a place among those who wait, and then be too late.
        let expiresMillis = self.audiences.crowds[crowd].startEndsSeconds * 1_000
        guard now.wallMillis + delayMillis < expiresMillis else { return \.expired }
        self.audiences.crowds[crowd].starts.rounds[round].retries.set(
            StartRetries.Entry(
                notBeforeMillis: now.steadyMillis + delayMillis,
                attempt: push.nextAttempt(isEarlierDeath: isEarlierDeath)),
            for: push.member)
        return nil
    }
    /// Whoever had to wait for the answer, as another start goes round meanwhile, has its turn.
    private mutating func wakeStart(_ push: MemberPush, members: CrowdTable.Members, now: EngineTime) {
        guard var entry = self.audiences.crowds[push.crowd].starts.rounds[push.pass].retries[push.member],
            entry.notBeforeMillis == .max
        else { return }
        entry.notBeforeMillis = now.steadyMillis
        self.audiences.crowds[push.crowd].starts.rounds[push.pass].retries.set(entry, for: push.member)
    }
    /// A dead token leaves all its audiences.
    private mutating func startTokenDied(_ member: MemberID, members: CrowdTable.Members, now: EngineTime) {
        let token = unsafe Array(members.table.tokenBytes(member))
        for other in self.memberships(of: token.span, members: members) {
            let crowd = self.home(of: other, members: members).crowd
            if members.table.flags(of: other).contains(.isInFlight) {
                if !members.table.flags(of: other).contains(.isGhost) {
                    self.leave(other, members: members, now: now)
                }
            } else {
                self.writeStartTombstone(other, members: members)
                self.removeStart(other, members: members)
            }
            self.schedule(crowd, now: now)
        }
    }
    /// An outcome record of a member that was not started, or of which nobody knows.
    private mutating func tellFailedStart(
        _ push: MemberPush, members: CrowdTable.Members, status: UInt16, reason: String, outcome: Outcome
    ) {
        if outcome != .unknown, self.audiences.crowds[push.crowd].starts.report.start == push.start {
            self.audiences.crowds[push.crowd].starts.report.note(
                status: status, reason: reason, isOfMessage: outcome == .deadLettered)
        }
        guard let order = self.audiences.crowds[push.crowd].starts.order, order.stamp == push.start,
            self.audiences.crowds[push.crowd].starts.toldCount < Self.failedStartsToldMax
        else { return }
        self.audiences.crowds[push.crowd].starts.toldCount += 1
        let details = self.details(of: push, status: status, reason: reason, members: members)
        self.journal.tellFailedStart(
            outcome, of: order, audience: self.audiences.crowds[push.crowd].id,
            app: self.audiences.crowds[push.crowd].app, details: details, partition: push.partition, in: &self.memory)
    }
}

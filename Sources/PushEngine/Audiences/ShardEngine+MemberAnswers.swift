import APNSProtocol
import PushModel

/// What became of a push to a member (fan-out contract: Member failures).
extension ShardEngine {
    /// Takes the answer to a push to a member. One to an attempt that is no longer in flight changes nothing.
    mutating func memberAnswered(_ answer: PushAnswer, now: EngineTime) {
        guard let id = self.audiences.pushes.id(of: answer.id) else { return }
        if self.audiences.pushes[id].isStart { return self.startAnswered(id, answer, now: now) }
        let push = self.audiences.pushes[id]
        let isCrowdThere = self.audiences.pushAnswered(id)
        self.memory.requestAnswered(push.partition)
        let members = self.audiences.crowds.members(of: push.partition)
        let hasLeft = members.table.ring(of: push.member).isNone
        if hasLeft {
            let key = Audiences.DepartedKey(
                partition: push.partition, position: members.table.position(of: push.member))
            self.audiences.departed[key] = nil
        } else {
            members.table.removeFlag(.isInFlight, of: push.member)
        }
        if isCrowdThere {
            // The last record may still name it as unanswered.
            self.audiences.crowds[push.crowd].progressed()
            self.noteWaiting(-1)
        }
        let end = self.judge(answer, push: push, members: members, hasLeft: hasLeft, now: now)
        if isCrowdThere {
            if case .ended(let reason) = end { self.memory.counters.members.count(reason) }
            let effects = self.audiences.crowds[push.crowd].answered(
                answer, end: end, stampSeconds: push.stampSeconds, wallMillis: now.wallMillis)
            self.carryOut(effects, of: push.crowd)
            if self.audiences.traces.isTraced(push.crowd) { self.traceAnswer(answer, push: push) }
        }
        if hasLeft {
            members.table.free(push.member)
        } else {
            self.noteAlertAnswered(answer.result, end: end, push: push, members: members)
            self.wake(push.member, members: members, push: push, now: now)
        }
        if isCrowdThere, !self.isScheduled(push.crowd) { self.schedule(push.crowd, now: now) }
    }
    /// Whether an answer leaves unchanged when the crowd has something to do.
    ///
    /// An answer makes members of the crowd due, and its progress. The crowd's only pass is in its queue; once that
    /// finds nobody to serve, it schedules the crowd. Progress is due by the deadline that is set, or once the record
    /// under way is acknowledged. Answers do not affect versions and their ends.
    private func isScheduled(_ crowd: CrowdID) -> Bool {
        guard self.audiences.crowds[crowd].passes.count == 1, self.audiences.crowds[crowd].passes[0].isQueued else {
            return false
        }
        guard !self.audiences.crowds[crowd].records.isProgressUnderWay else { return true }
        return (self.audiences.deadlines.deadline(of: crowd) ?? .max)
            <= self.audiences.crowds[crowd].records.nextProgressMillis
    }
    private mutating func judge(
        _ answer: PushAnswer, push: MemberPush, members: CrowdTable.Members, hasLeft: Bool, now: EngineTime
    ) -> MemberEnd {
        let lane = self.lane(of: push)
        switch answer.result {
        case .accepted:
            self.memory.counters.apps[Int(push.app)].accepted += 1
            self.dispatch.heardAccepted(lane: lane, in: &self.memory, now: now)
            self.sampleMember(push, apnsMicros: answer.apnsMicros, now: now)
            return .ended(.accepted)
        case .notProcessed, .channel:
            self.memory.counters.apps[Int(push.app)].notProcessed += 1
            self.dispatch.topicAnswered(.nothing, lane: lane, in: &self.memory, now: now)
            return self.again(
                push, members: members, hasLeft: hasLeft, delayMillis: 0, keepsPriority: true, keepsDistance: false,
                now: now)
        case .unknown:
            self.memory.counters.apps[Int(push.app)].unknown += 1
            self.dispatch.topicAnswered(.nothing, lane: lane, in: &self.memory, now: now)
            return self.again(
                push, members: members, hasLeft: hasLeft, delayMillis: self.retryDelayMillis(push, nil),
                keepsPriority: false,
                dropsAlert: self.memory.configuration.apps[self.appIndex(of: push)].alertOnUnknown == .drop,
                now: now)
        case .response(let response):
            guard response.verdict != .accepted else { return .ended(.accepted) }
            self.memory.counters.apps[Int(push.app)].countRefusal(response.reason)
            return self.refused(response, push: push, members: members, hasLeft: hasLeft, lane: lane, now: now)
        }
    }
    private func lane(of push: MemberPush) -> LaneIndex { push.lane }
    private func appIndex(of push: MemberPush) -> Int { Int(push.app) }

    private mutating func refused(
        _ response: PushResponse, push: MemberPush, members: CrowdTable.Members, hasLeft: Bool, lane: LaneIndex,
        now: EngineTime
    ) -> MemberEnd {
        func again(
            _ engine: inout ShardEngine, _ delayMillis: Int64, keepsDistance: Bool = true,
            isEarlierDeath: Bool = false
        ) -> MemberEnd {
            engine.again(
                push, members: members, hasLeft: hasLeft, delayMillis: delayMillis, keepsPriority: true,
                keepsDistance: keepsDistance, isEarlierDeath: isEarlierDeath, now: now)
        }
        let consequence = response.verdict.consequence
        self.dispatch.heard(consequence, lane: lane, in: &self.memory, now: now)
        switch consequence.push {
        case .accepted: return .ended(.accepted)
        case .tokenDead(let invalidSinceMillis, let isSuspicious):
            guard !hasLeft else { return .ended(.gone) }
            if self.isEarlier(invalidSinceMillis, push, members) {
                return again(&self, self.earlierDeathDelayMillis(), isEarlierDeath: true)
            }
            if isSuspicious, self.dispatch.doubtsVerdicts(lane: lane) {
                self.memory.counters.tokenRemovalsStopped += 1
                self.tellFailure(push, response: response, outcome: .rejected)
                return .ended(.failed)
            }
            self.memory.counters.tokensDead += 1
            self.tellFailure(push, response: response, outcome: .rejected)
            self.remove(push.member, members: members, now: now)
            return .ended(.gone)
        case .refused:
            self.tellFailure(push, response: response, outcome: .deadLettered)
            return .ended(.failed)
        case .goesAgain: return again(&self, 0, keepsDistance: false)
        case .waitsForRoute:
            return again(&self, self.retryDelayMillis(push, response.retryAfterSeconds, isOfRoute: true))
        case .waitsForToken: return again(&self, self.retryDelayMillis(push, response.retryAfterSeconds))
        }
    }
    /// Whether a token is said to have died before it joined, and that is not believed yet: see
    /// `earlierDeathsIgnoredMax`.
    func isEarlier(_ invalidSinceMillis: Int64?, _ push: MemberPush, _ members: CrowdTable.Members) -> Bool {
        guard let invalidSinceMillis, push.earlierDeaths < Self.earlierDeathsIgnoredMax else { return false }
        return invalidSinceMillis < Int64(members.table.joinedSeconds(of: push.member)) * 1_000
    }
    /// Delay of the next attempt. It does not grow, as the members behind wait when there are very many.
    mutating func earlierDeathDelayMillis() -> Int64 {
        self.dispatch.backOffMillis(
            attempt: 0, retryAfterSeconds: nil, millisMax: .max, settings: self.memory.configuration.settings)
    }
    /// Delay until a member, or a start member, is tried again.
    mutating func retryDelayMillis(
        _ push: MemberPush, _ retryAfterSeconds: Int64?, isOfRoute: Bool = false
    ) -> Int64 {
        self.dispatch.backOffMillis(
            attempt: push.tries, retryAfterSeconds: retryAfterSeconds,
            millisMax: isOfRoute ? self.memory.configuration.settings.routeBackoffMaxMillis : .max,
            settings: self.memory.configuration.settings)
    }
    /// Lets the member be owed it still, unless a newer version's round reaches it, or it has left.
    /// - Parameter keepsDistance: whether the failed push counts for the distance. One that surely did not reach the
    ///   phone does not: the one before it was longer ago. A connection that is down to one stream refuses hundreds at
    ///   once, and a pass would end a second later because of it.
    private mutating func again(
        _ push: MemberPush, members: CrowdTable.Members, hasLeft: Bool, delayMillis: Int64, keepsPriority: Bool,
        keepsDistance: Bool = true, dropsAlert: Bool = false, isEarlierDeath: Bool = false, now: EngineTime
    ) -> MemberEnd {
        guard !hasLeft else { return .ended(.left) }
        let crowd = members.ringOwners[members.table.ring(of: push.member).index]
        // It belongs to another audience now.
        guard !push.isDetached, crowd == push.crowd else { return .ended(.superseded) }
        let distance = keepsDistance ? push.sentMillis + self.distanceMillis(crowd) : .min
        let failure = Crowd.Failure(
            notBeforeMillis: max(now.steadyMillis + delayMillis, distance), keepsPriority: keepsPriority,
            dropsAlert: dropsAlert, isEarlierDeath: isEarlierDeath)
        switch self.audiences.crowds[crowd].failed(push, failure, in: members.table) {
        case .superseded: return .ended(.superseded)
        case .owesAlertBeside(let count):
            self.noteDue(Pass.Owed(all: count), of: crowd, alertStampSeconds: 0)
            return .ended(.superseded)
        case .waits:
            self.noteWaiting(1)
            return .waits
        }
    }
    /// Notes that the alert has reached a member that moved to another ring before the answer. It is no longer owed
    /// there.
    private mutating func noteAlertAnswered(
        _ result: PushAnswer.Result, end: MemberEnd, push: MemberPush, members: CrowdTable.Members
    ) {
        guard push.isDetached, push.hasAlert, members.table.ring(of: push.member).isSome else { return }
        switch (end, result) {
        case (.ended(.accepted), _): break
        case (_, .unknown)
        where self.memory.configuration.apps[self.appIndex(of: push)].alertOnUnknown == .drop:
            break
        default: return
        }
        let ring = members.table.ring(of: push.member)
        guard members.ringOwners[ring.index] == push.crowd else { return }
        self.audiences.crowds[push.crowd].alertCame(
            stampSeconds: push.alertStampSeconds, to: push.member, in: ring)
    }
    /// Lets a member that waited for the answer have its turn.
    private mutating func wake(
        _ member: MemberID, members: CrowdTable.Members, push: MemberPush, now: EngineTime
    ) {
        let ring = members.table.ring(of: member)
        guard ring.isSome else { return }
        let crowd = members.ringOwners[ring.index]
        let isWoken = self.audiences.crowds[crowd].wake(
            member, in: ring, restedMillis: push.sentMillis + self.distanceMillis(crowd))
        if isWoken, crowd != push.crowd { self.schedule(crowd, now: now) }
    }
}

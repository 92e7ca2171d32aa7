import APNSProtocol
import PushModel

/// Takes answers to pushes to members (fan-out contract: Member failures).
extension FanOut {
    /// Takes the answer to a push to a member. The answer to an attempt that is no longer in flight changes nothing.
    mutating func memberAnswered(_ answer: PushAnswer, in core: inout ShardCore, now: EngineTime) {
        guard let id = self.pushes.id(of: answer.id) else { return }
        if self.pushes[id].isStart { return self.startAnswered(id, answer, in: &core, now: now) }
        let push = self.pushes[id]
        let isCrowdThere = self.pushAnswered(id)
        core.memory.requestAnswered(push.partition)
        let members = self.crowds.members(of: push.partition)
        let hasLeft = members.table.ring(of: push.member).isNone
        if hasLeft {
            let key = FanOut.DepartedKey(partition: push.partition, position: members.table.position(of: push.member))
            self.departed[key] = nil
        } else {
            members.table.removeFlag(.isInFlight, of: push.member)
        }
        if isCrowdThere { self.countWaiting(-1, in: &core) }
        let end = self.judge(answer, push: push, members: members, hasLeft: hasLeft, in: &core, now: now)
        if isCrowdThere {
            if case .ended(let reason) = end { core.memory.counters.members.count(reason) }
            let effects = self.crowds[push.crowd].answered(
                answer, end: end, stampSeconds: push.stampSeconds, wallMillis: now.wallMillis)
            self.carryOut(effects, of: push.crowd, in: &core)
            if self.traces.isTraced(push.crowd) { self.traceAnswer(answer, push: push, in: &core) }
        }
        if hasLeft {
            members.table.free(push.member)
        } else {
            self.alertAnswered(answer.result, end: end, push: push, members: members, in: core)
            self.wake(push.member, members: members, push: push, in: &core, now: now)
        }
        if isCrowdThere, !self.isScheduled(push.crowd) { self.schedule(push.crowd, in: &core, now: now) }
    }
    /// Whether a crowd needs no rescheduling after an answer.
    private func isScheduled(_ crowd: CrowdID) -> Bool {
        guard let most = self.crowds[crowd].deadlineMaxAfterAnswer else { return false }
        return most == .max || (self.deadlines.deadline(of: crowd) ?? .max) <= most
    }
    private mutating func judge(
        _ answer: PushAnswer, push: MemberPush, members: CrowdTable.Members, hasLeft: Bool, in core: inout ShardCore,
        now: EngineTime
    ) -> MemberEnd {
        let lane = push.lane
        switch answer.result {
        case .accepted:
            core.memory.counters.apps[Int(push.app)].accepted += 1
            core.dispatch.heardAccepted(lane: lane, in: &core.memory, now: now)
            self.sampleMember(push, apnsMicros: answer.apnsMicros, in: &core, now: now)
            return .ended(.accepted)
        case .notProcessed, .channel:
            core.memory.counters.apps[Int(push.app)].notProcessed += 1
            core.dispatch.apnsTopicAnswered(.nothing, lane: lane, in: &core.memory, now: now)
            return self.again(
                push, members: members, hasLeft: hasLeft, delayMillis: 0, keepsPriority: true, keepsDistance: false,
                in: &core, now: now)
        case .unknown:
            core.memory.counters.apps[Int(push.app)].unknown += 1
            core.dispatch.apnsTopicAnswered(.nothing, lane: lane, in: &core.memory, now: now)
            return self.again(
                push, members: members, hasLeft: hasLeft, delayMillis: self.retryDelayMillis(push, nil, in: &core),
                keepsPriority: false,
                dropsAlert: core.memory.configuration.apps[Int(push.app)].alertOnUnknown == .drop,
                in: &core, now: now)
        case .response(let response):
            guard response.verdict != .accepted else { return .ended(.accepted) }
            core.memory.counters.apps[Int(push.app)].countRefusal(response.reason)
            return self.refused(
                response, push: push, members: members, hasLeft: hasLeft, lane: lane, in: &core, now: now)
        }
    }

    private mutating func refused(
        _ response: PushResponse, push: MemberPush, members: CrowdTable.Members, hasLeft: Bool, lane: LaneIndex,
        in core: inout ShardCore, now: EngineTime
    ) -> MemberEnd {
        func again(
            _ fanOut: inout FanOut, _ core: inout ShardCore, _ delayMillis: Int64, keepsDistance: Bool = true,
            isEarlierDeath: Bool = false
        ) -> MemberEnd {
            fanOut.again(
                push, members: members, hasLeft: hasLeft, delayMillis: delayMillis, keepsPriority: true,
                keepsDistance: keepsDistance, isEarlierDeath: isEarlierDeath, in: &core, now: now)
        }
        let consequence = response.verdict.consequence
        core.dispatch.heard(consequence, lane: lane, in: &core.memory, now: now)
        switch consequence.push {
        case .accepted: return .ended(.accepted)
        case .tokenDead(let invalidSinceMillis, let isSuspicious):
            guard !hasLeft else { return .ended(.gone) }
            if self.isEarlier(invalidSinceMillis, push, members) {
                let delayMillis = self.earlierDeathDelayMillis(in: &core)
                self.noticeEarlierDeath(
                    of: push, response, diedMillis: invalidSinceMillis, delayMillis: delayMillis, members: members,
                    in: &core)
                return again(&self, &core, delayMillis, isEarlierDeath: true)
            }
            if isSuspicious, core.dispatch.doubtsVerdicts(lane: lane) {
                core.memory.counters.tokenRemovalsStopped += 1
                self.recordFailure(push, response: response, outcome: .rejected, isTokenKept: true, in: &core)
                return .ended(.failed)
            }
            core.memory.counters.tokensDead += 1
            self.recordFailure(push, response: response, outcome: .rejected, in: &core)
            self.remove(push.member, members: members, in: &core, now: now)
            return .ended(.gone)
        case .refused:
            self.recordFailure(push, response: response, outcome: .deadLettered, in: &core)
            return .ended(.failed)
        case .goesAgain: return again(&self, &core, 0, keepsDistance: false)
        case .waitsForRoute:
            return again(
                &self, &core, self.retryDelayMillis(push, response.retryAfterSeconds, isOfRoute: true, in: &core))
        case .waitsForToken:
            return again(&self, &core, self.retryDelayMillis(push, response.retryAfterSeconds, in: &core))
        }
    }
    /// Whether APNs says that a token died before the member joined, and the engine does not believe it yet: see
    /// `earlierDeathsIgnoredMax`.
    func isEarlier(_ invalidSinceMillis: Int64?, _ push: MemberPush, _ members: CrowdTable.Members) -> Bool {
        guard let invalidSinceMillis, push.failures.earlierDeaths < ShardCore.earlierDeathsIgnoredMax else {
            return false
        }
        return invalidSinceMillis < Int64(members.table.joinedSeconds(of: push.member)) * 1_000
    }
    /// Keeps a notice, if there is room: APNs says that a member's token died before the member joined.
    /// - Parameter delayMillis: time until the member is tried again.
    func noticeEarlierDeath(
        of push: MemberPush, _ response: PushResponse, diedMillis: Int64?, delayMillis: Int64,
        members: CrowdTable.Members, in core: inout ShardCore
    ) {
        guard core.tokenRefusals.hasRoom, self.crowds.contains(push.crowd, generation: push.crowdGeneration) else {
            return
        }
        let details = self.details(of: push, status: response.status, reason: response.reason, members: members)
        core.tokenRefusals.keep(
            TokenRefusalNotice(
                standing: .diedBeforeRegistration, app: core.memory.configuration.apps[Int(push.app)].bundleID,
                id: self.crowds[push.crowd].shownID, isOfMember: true,
                tokenHash: details.tokenHash, status: response.status, reason: response.reason, diedMillis: diedMillis,
                registeredMillis: Int64(members.table.joinedSeconds(of: push.member)) * 1_000,
                earlierDeaths: Int(push.failures.earlierDeaths) + 1, retryMillis: delayMillis))
    }
    /// Delay of the next attempt after APNs has said that a token died before the member joined. The delay does not
    /// grow from attempt to attempt. If very many such members waited for long, the pass would stop.
    mutating func earlierDeathDelayMillis(in core: inout ShardCore) -> Int64 {
        core.dispatch.backOffMillis(
            attempt: 0, retryAfterSeconds: nil, millisMax: .max, settings: core.memory.configuration.settings)
    }
    /// Delay until a member or a start member is tried again.
    mutating func retryDelayMillis(
        _ push: MemberPush, _ retryAfterSeconds: Int64?, isOfRoute: Bool = false, in core: inout ShardCore
    ) -> Int64 {
        core.dispatch.backOffMillis(
            attempt: push.failures.count, retryAfterSeconds: retryAfterSeconds,
            millisMax: isOfRoute ? core.memory.configuration.settings.routeBackoffMaxMillis : .max,
            settings: core.memory.configuration.settings)
    }
    /// Lets the member be tried again, unless it has left the ring, or gets the newest version in another way.
    /// - Parameter keepsDistance: whether the failed push counts for the least distance between pushes. A push that
    ///   surely did not reach the phone does not count. A connection that is down to one stream may refuse hundreds of
    ///   pushes at once. If these counted, all their members would have to wait for that distance.
    private mutating func again(
        _ push: MemberPush, members: CrowdTable.Members, hasLeft: Bool, delayMillis: Int64, keepsPriority: Bool,
        keepsDistance: Bool = true, dropsAlert: Bool = false, isEarlierDeath: Bool = false, in core: inout ShardCore,
        now: EngineTime
    ) -> MemberEnd {
        guard !hasLeft else { return .ended(.left) }
        let crowd = members.ringOwners[members.table.ring(of: push.member).index]
        // The member belongs to another ring or audience now.
        guard !push.isDetached, crowd == push.crowd else { return .ended(.superseded) }
        let distance = keepsDistance ? push.sentMillis + core.memory.distanceMillis(self.crowds[crowd]) : .min
        let failure = Crowd.Failure(
            notBeforeMillis: max(now.steadyMillis + delayMillis, distance), keepsPriority: keepsPriority,
            dropsAlert: dropsAlert, isEarlierDeath: isEarlierDeath)
        switch self.crowds[crowd].failed(push, failure, in: members.table) {
        case .superseded: return .ended(.superseded)
        case .owesAlertBeside(let count):
            self.countDue(Pass.Owed(all: count), of: crowd, alertStampSeconds: 0, in: &core)
            return .ended(.superseded)
        case .waits:
            self.countWaiting(1, in: &core)
            return .waits
        }
    }
    /// Marks the alert as received by a member that moved to another ring before APNs accepted the push. The alert is
    /// no longer owed to the member there. An unknown result counts as accepted if `alertOnUnknown` is `drop`.
    private mutating func alertAnswered(
        _ result: PushAnswer.Result, end: MemberEnd, push: MemberPush, members: CrowdTable.Members,
        in core: borrowing ShardCore
    ) {
        guard push.isDetached, push.hasAlert, members.table.ring(of: push.member).isSome else { return }
        switch (end, result) {
        case (.ended(.accepted), _): break
        case (_, .unknown)
        where core.memory.configuration.apps[Int(push.app)].alertOnUnknown == .drop:
            break
        default: return
        }
        let ring = members.table.ring(of: push.member)
        guard members.ringOwners[ring.index] == push.crowd else { return }
        self.crowds[push.crowd].alertCame(stampSeconds: push.alertStampSeconds, to: push.member, in: ring)
    }
    /// Lets a member that waited for the answer be served.
    private mutating func wake(
        _ member: MemberID, members: CrowdTable.Members, push: MemberPush, in core: inout ShardCore, now: EngineTime
    ) {
        let ring = members.table.ring(of: member)
        guard ring.isSome else { return }
        let crowd = members.ringOwners[ring.index]
        let isWoken = self.crowds[crowd].wake(
            member, in: ring, restedMillis: push.sentMillis + core.memory.distanceMillis(self.crowds[crowd]))
        if isWoken, crowd != push.crowd { self.schedule(crowd, in: &core, now: now) }
    }
}

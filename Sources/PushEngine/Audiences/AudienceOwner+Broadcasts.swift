import APNSProtocol
import PushModel

/// Broadcasts an audience's versions on its channels (fan-out contract: Mixed audiences). If APNs refuses a version,
/// members get it by token. If APNs does not accept one in time, versions go both ways until the channel has caught up.
extension AudienceOwner {
    /// Looks at all channels. Waiting versions are broadcast or left to tokens, and the keeper gets the questions and
    /// reports that are due.
    /// - Parameter isPaused: whether an operator has stopped what the audience sends.
    /// - Returns: when the channels have to be looked at again (steady clock); `Int64.max`: at no known time.
    mutating func lookAtChannels(
        isPaused: Bool, by rules: OwnerRules, now: EngineTime, into effects: inout OwnerEffects
    ) -> Int64 {
        let end = self.newest.flatMap { $0.version.isEnd ? $0.version : nil }
        var (isChanged, next) = (false, Int64.max)
        for index in self.channels.all.indices {
            if end == nil, self.channels[index].wishes(by: rules, now: now) {
                effects.append(
                    .wish(
                        .open(rules.app.audienceChannelStorage.policy), self.channels[index].environment,
                        life: self.channels.life, stateWaits: false))
            }
            if self.advance(channel: index, isPaused: isPaused, by: rules, now: now, into: &effects) {
                isChanged = true
            }
            // The end is reported to the keeper only when no broadcast is owed. An end that has just fallen back to
            // tokens still has to be broadcast.
            if let end, !self.channels[index].isEndReported, !self.owesBroadcast(channel: index, now: now) {
                self.reportEnd(end, channel: index, by: rules, into: &effects)
                effects.append(.write)
            }
            next = min(next, self.channels[index].nextMillis(isOver: end != nil, by: rules, now: now))
        }
        self.channels.dropAlert(nowSeconds: now.wallSeconds)
        if isChanged {
            effects.append(.writeFirst)
            effects.append(.reschedule)
        }
        return next
    }
    /// Advances one channel.
    /// - Returns: whether something has to be written down before the channel continues.
    private mutating func advance(
        channel index: Int, isPaused: Bool, by rules: OwnerRules, now: EngineTime,
        into effects: inout OwnerEffects
    ) -> Bool {
        guard self.channels[index].isTried, let next = self.broadcast(channel: index, now: now)
        else {
            self.channels[index].waitsForNothing()
            return false
        }
        switch self.channels[index].waits(isPaused: isPaused, by: rules, now: now) {
        case .nothing: return false
        case .fallsBack:
            let minutes = AudienceChannels.Channel.byTokenMinutes
            self.fallBack(
                channel: index, untilMillis: now.wallMillis + rules.millis(ofMinutes: minutes), by: rules, now: now,
                into: &effects)
            return true
        case .leaves:
            let environment = self.channels[index].environment
            guard !self.waitsForTokens(next.version, alert: next.alert, channel: index, by: rules, now: now),
                let route = rules.app.route(environment, .broadcast)
            else { return false }
            self.channels[index].broadcastWaits()
            effects.append(.broadcast(environment, route: route))
            return false
        }
    }
    private func owesBroadcast(channel index: Int, now: EngineTime) -> Bool {
        self.channels[index].isTried && self.broadcast(channel: index, now: now) != nil
    }
    private mutating func waitsForTokens(
        _ version: Version, alert: Version?, channel index: Int, by rules: OwnerRules, now: EngineTime
    ) -> Bool {
        guard self.channels[index].isCatchingUp, let alert, alert.stampSeconds < version.stampSeconds,
            self.rollUps.isIncomplete(stampSeconds: version.stampSeconds)
        else {
            self.channels[index].waitsForNoTokens()
            return false
        }
        return self.channels[index].waitsForTokens(by: rules, now: now)
    }
    /// The next broadcast on a channel; `nil`: the channel has had everything, or nothing may be published yet.
    private func broadcast(channel index: Int, now: EngineTime) -> (version: Version, alert: Version?)? {
        self.newest.flatMap { self.channels.next(on: index, of: $0.versions, nowSeconds: now.wallSeconds) }
    }
    /// Lets a version go both by token and by broadcast. A phone that listens may get two pushes, which cost two budget
    /// units if both have priority 10. Without a second unit the broadcast has priority 5.
    mutating func goBothWays(
        _ version: Version, channel index: Int, by rules: OwnerRules, now: EngineTime
    ) {
        self.channels[index].goesBothWays(version)
        guard version.isHigh, self.channels[index].highStampSeconds < version.stampSeconds else { return }
        // A phone listens in one environment only, so one further unit is enough for all channels.
        guard
            self.channels.all.contains(where: { $0.highStampSeconds == version.stampSeconds })
                || self.budget.takeSecondUnits(for: version, by: rules, now: now)
        else { return }
        self.channels[index].hasUnit(for: version)
    }
    private mutating func fallBack(
        channel index: Int, untilMillis: Int64, by rules: OwnerRules, now: EngineTime,
        into effects: inout OwnerEffects
    ) {
        if self.channels[index].fallsBack(untilMillis: untilMillis) { effects.append(.fellBack) }
        if let newest = self.newestVersion, self.channels[index].isCatchingUp {
            self.goBothWays(newest, channel: index, by: rules, now: now)
        }
        self.redeclareChannels()
        self.returnUnits(now: now)
    }
    /// Chooses the content of a broadcast that is about to leave.
    /// - Parameter mayLeave: whether nothing waits for `state`, and no operator has stopped the audience.
    /// - Returns: the broadcast; `nil`: nothing has to be sent, or nothing may be sent now.
    mutating func broadcastLeaves(
        channel index: Int, mayLeave: Bool, by rules: OwnerRules, now: EngineTime
    ) -> OutgoingBroadcast? {
        guard self.channels[index].isTried, mayLeave,
            let next = self.broadcast(channel: index, now: now)
        else {
            self.channels[index].broadcastWithdrawn()
            return nil
        }
        defer { self.channels[index].broadcastLeaves(by: rules, now: now) }
        return OutgoingBroadcast(
            version: next.version, alert: next.alert, channel: self.channels[index].id,
            isHigh: self.channels[index].mayBeHigh(next.version))
    }
    /// Takes the result of a broadcast.
    mutating func broadcastEnded(
        _ errand: ChannelErrand, _ result: PushAnswer.Result, by rules: OwnerRules, now: EngineTime,
        into effects: inout OwnerEffects
    ) -> BroadcastEffect {
        // A broadcast that has not left names no channel. The result of a broadcast on a channel that has been replaced
        // does not matter.
        guard let index = self.channels.index(errand.environment),
            errand.target.isEmpty || errand.target == self.channels[index].id
        else { return .ignored }
        self.channels[index].broadcastWithdrawn()
        if !errand.target.isEmpty {
            self.rollUps.take(
                result, on: errand.target, stampSeconds: errand.stampSeconds, nowMillis: now.steadyMillis,
                into: &effects)
        }
        switch result {
        case .accepted, .channel: return self.broadcastTaken(errand, channel: index, now: now, into: &effects)
        case .response(let response):
            return self.broadcastAnswered(errand, response, channel: index, by: rules, now: now, into: &effects)
        case .notProcessed:
            return .goesAgain(
                attempt: self.channels[index].goesAgain(isRefused: false), retryAfterSeconds: nil, distanceMillis: 0)
        case .unknown:
            self.channels[index].broadcastUnanswered(
                stampSeconds: errand.stampSeconds, alertStampSeconds: errand.alertStampSeconds,
                dropsAlert: rules.app.alertOnUnknown == .drop)
            return .goesAgain(
                attempt: self.channels[index].goesAgain(isRefused: true), retryAfterSeconds: nil, distanceMillis: 0)
        }
    }
    private mutating func broadcastTaken(
        _ errand: ChannelErrand, channel index: Int, now: EngineTime, into effects: inout OwnerEffects
    ) -> BroadcastEffect {
        self.channels[index].broadcastTaken(
            stampSeconds: errand.stampSeconds, alertStampSeconds: errand.alertStampSeconds)
        let newest = self.publications.last?.versions.last { !$0.isExpired(nowSeconds: now.wallSeconds) }
        if self.channels[index].takenStampSeconds >= newest?.stampSeconds ?? 0 { self.channels[index].caughtUp() }
        self.returnUnits(now: now)
        effects.append(.broadcastTaken)
        effects.append(.write)
        return .done
    }
    private mutating func broadcastAnswered(
        _ errand: ChannelErrand, _ response: PushResponse, channel index: Int, by rules: OwnerRules,
        now: EngineTime, into effects: inout OwnerEffects
    ) -> BroadcastEffect {
        var distanceMillis: Int64 = 0
        switch response.verdict.consequence.push {
        case .accepted: return self.broadcastTaken(errand, channel: index, now: now, into: &effects)
        case .tokenDead:
            // The next look at the channels asks the keeper whether this channel exists, unless the keeper was asked a
            // short time ago.
            self.channels[index].broadcastFoundNothing()
            self.fallBack(channel: index, untilMillis: 0, by: rules, now: now, into: &effects)
            effects.append(.writeFirst)
            return .done
        case .refused:
            // APNs refused this message. It may accept the next version, which is another message.
            self.fallBack(channel: index, untilMillis: 0, by: rules, now: now, into: &effects)
            effects.append(.writeFirst)
            return .done
        case .waitsForToken: distanceMillis = self.channels[index].throttled(by: rules)
        case .goesAgain, .waitsForRoute: break
        }
        return .goesAgain(
            attempt: self.channels[index].goesAgain(isRefused: true), retryAfterSeconds: response.retryAfterSeconds,
            distanceMillis: distanceMillis)
    }
    /// Lets a broadcast wait before it is tried again.
    mutating func broadcastWaits(
        _ environment: PushEnvironment, delayMillis: Int64, distanceMillis: Int64, now: EngineTime
    ) {
        guard let index = self.channels.index(environment) else { return }
        self.channels[index].goesAgain(delayMillis: delayMillis, distanceMillis: distanceMillis, now: now)
    }
}

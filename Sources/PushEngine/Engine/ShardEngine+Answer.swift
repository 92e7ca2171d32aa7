public import APNSProtocol
public import PushModel

/// Takes APNs' answers to pushes.
extension ShardEngine {
    /// Takes an answer. If the attempt is not in flight, nothing changes.
    public mutating func answered(_ answer: PushAnswer, now: EngineTime) {
        guard !MemberPushStore.isMember(answer.id) else {
            return self.fanOut.memberAnswered(answer, in: &self.core, now: now)
        }
        guard let update = self.core.memory.updates.id(of: answer.id) else {
            if let slot = self.core.memory.slotAsking(answer.id) {
                self.questionAnswered(slot, answer: answer, now: now)
            } else if ChannelErrands.isErrand(answer.id) {
                self.errandAnswered(answer, now: now)
            }
            return
        }
        let slot = self.core.memory.updates[update].slot
        guard self.core.memory.slots[slot].inFlight == update else { return }
        self.core.memory.requestAnswered(self.core.memory.slots[slot].partition)
        if self.core.memory.updates[update].top.isTraced {
            self.core.memory.traceNotices.append(.answered(answer), of: self.core.memory.updates[update].top.source)
        }
        switch answer.result {
        case .accepted:
            self.accepted(slot, answer: answer, now: now)
        case .response(let response):
            if response.verdict == .accepted {
                self.accepted(slot, answer: answer, now: now)
            } else {
                self.core.memory.counters.apps[self.core.memory.appIndex(of: slot)].countRefusal(response.reason)
                let details = OutcomeDetails(answer: answer, status: response.status, reason: response.reason)
                self.refused(
                    slot, verdict: response.verdict, details: details, retryAfterSeconds: response.retryAfterSeconds,
                    now: now)
                self.core.journal.requireStateRecord(slot, in: &self.core.memory, now: now)
            }
        case .notProcessed, .channel:
            self.notProcessed(slot, now: now)
        case .unknown(let detail):
            self.unknown(slot, details: OutcomeDetails(answer: answer, status: 0, reason: detail), now: now)
        }
        self.core.dispatch.reschedule(slot, in: &self.core.memory, now: now)
    }

    // MARK: Accepted

    private mutating func accepted(_ slot: SlotID, answer: PushAnswer, now: EngineTime) {
        let update = self.core.memory.slots[slot].inFlight
        let lane = self.core.memory.slots[slot].lane
        self.core.dispatch.heardAccepted(lane: lane, in: &self.core.memory, now: now)
        self.core.memory.counters.apps[self.core.memory.appIndex(of: slot)].accepted += 1
        self.core.sample(update, apnsMicros: answer.apnsMicros)
        self.core.dispatch.spendBudget(update, in: self.core.memory, now: now)
        self.core.dispatch.forgetFailures(slot, in: &self.core.memory)
        self.rememberBroadcast(slot, now: now)
        self.core.coalescer.endUnder(update, in: &self.core.memory)
        self.core.settleEndings()
        var details = OutcomeDetails(answer: answer, status: 200, reason: "")
        details.fill(from: self.core.memory.updates[update])
        self.core.journal.finishAcceptedTop(of: update, slot: slot, details: details, in: &self.core.memory)
        self.core.memory.rememberAccepted(update, of: slot, now: now)
        self.core.coalescer.dropUpdate(update, of: slot, in: &self.core.memory)
        self.core.coalescer.dropOlderThanAccepted(slot, in: &self.core.memory)
        self.core.settleEndings()
        self.core.journal.requireStateRecord(slot, in: &self.core.memory, now: now)
    }

    // MARK: Refusals

    private mutating func refused(
        _ slot: SlotID, verdict: Verdict, details: OutcomeDetails, retryAfterSeconds: Int64?, now: EngineTime
    ) {
        let update = self.core.memory.slots[slot].inFlight
        self.core.dispatch.refundBudget(update, in: &self.core.memory)
        self.withdrawStart(update, now: now)
        let consequence = verdict.consequence
        self.core.dispatch.heard(consequence, lane: self.core.memory.slots[slot].lane, in: &self.core.memory, now: now)
        switch consequence.push {
        case .accepted: return
        case .tokenDead(let invalidSinceMillis, let isSuspicious):
            self.tokenDied(
                slot, invalidSinceMillis: invalidSinceMillis, isSuspicious: isSuspicious, details: details, now: now)
        case .refused(byExpiration: true) where self.core.memory.slots[slot].storage == .mostRecent:
            // The answer shows that the channel stores nothing, even if the engine believed otherwise. The push is sent
            // again with an expiration of 0.
            self.takeDistanceBack(update)
            self.core.dispatch.setStorage(.none, of: slot, in: &self.core.memory, now: now)
            self.requeue(slot)
        case .refused: self.messageRefused(slot, details: details, now: now)
        case .goesAgain:
            self.takeDistanceBack(update)
            self.requeue(slot)
            // The minimum distance has just been cancelled. Without a back-off, a channel would be tried as fast as
            // connections open.
            if self.core.memory.slots[slot].kind == .channel {
                self.core.dispatch.backOff(slot, retryAfterSeconds: nil, in: &self.core.memory, now: now)
            }
        case .waitsForRoute:
            self.takeDistanceBack(update)
            self.requeue(slot)
            self.core.dispatch.backOff(
                slot, retryAfterSeconds: retryAfterSeconds,
                millisMax: self.core.memory.configuration.settings.routeBackoffMaxMillis,
                in: &self.core.memory, now: now)
        case .waitsForToken:
            self.requeue(slot)
            self.core.dispatch.throttle(slot, in: &self.core.memory, now: now)
            self.core.dispatch.backOff(slot, retryAfterSeconds: retryAfterSeconds, in: &self.core.memory, now: now)
        }
    }

    private mutating func tokenDied(
        _ slot: SlotID, invalidSinceMillis: Int64?, isSuspicious: Bool, details: OutcomeDetails, now: EngineTime
    ) {
        let update = self.core.memory.slots[slot].inFlight
        if self.core.memory.updates[update].isStart {
            // The token is part of the start, so no other token can be waited for.
            var details = details
            details.fill(from: self.core.memory.updates[update])
            return self.startFailed(slot, outcome: .rejected, details: details, now: now)
        }
        guard self.core.memory.updates[update].tokenGeneration == self.core.memory.slots[slot].tokenGeneration else {
            // The verdict is about a token that has been replaced, so the push goes to the newer one.
            self.core.memory.formerTokens.rememberRefused(
                generation: self.core.memory.updates[update].tokenGeneration, sinceMillis: invalidSinceMillis, of: slot)
            return self.requeue(slot)
        }
        let refusal = self.refusal(
            of: slot, invalidSinceMillis: invalidSinceMillis, isSuspicious: isSuspicious)
        let (tokenHash, registeredMillis) = (
            self.core.memory.updates[update].tokenHash, self.core.memory.slots[slot].registeredWallMillis
        )
        defer {
            self.notice(
                refusal, of: slot, tokenHash: tokenHash, diedMillis: invalidSinceMillis,
                registeredMillis: registeredMillis, details: details, now: now)
        }
        if self.fallsBackToOtherToken(slot, after: refusal, now: now) { return }
        if refusal == .earlier {
            self.core.memory.slots[slot].earlierDeaths += 1
            self.requeue(slot)
            return self.core.dispatch.backOff(slot, retryAfterSeconds: nil, in: &self.core.memory, now: now)
        }
        // The refusal is believed or doubted. An activity's update now waits for another token, because APNs asks not
        // to send to this token again. If the refusal is doubted, a newer event ends the wait, too.
        self.count(refusal)
        self.core.memory.formerTokens.forget(slot)
        self.core.memory.rememberRefusedToken(slot, standing: refusal == .doubted ? .doubted : .dead, now: now)
        guard self.core.memory.slots[slot].kind == .activity else {
            return self.channelGone(slot, details: details, now: now)
        }
        self.requeue(slot)
        if refusal == .doubted {
            // A newer event tries the token again. The back-off keeps a quick succession of events from doing so.
            self.core.dispatch.backOff(slot, retryAfterSeconds: nil, in: &self.core.memory, now: now)
        }
        self.core.journal.markDirty(slot, in: &self.core.memory, now: now)
    }

    /// Keeps a notice for the log about an activity's token that APNs has refused. The caller has already changed the
    /// slot as the refusal requires.
    /// - Parameters:
    ///   - tokenHash: hash of the token that APNs refused.
    ///   - diedMillis: when the token died, as APNs says; `nil`: APNs gave no time.
    ///   - registeredMillis: when that token was registered.
    private mutating func notice(
        _ refusal: TokenRefusal, of slot: SlotID, tokenHash: UInt64, diedMillis: Int64?, registeredMillis: Int64,
        details: borrowing OutcomeDetails, now: EngineTime
    ) {
        guard self.core.tokenRefusals.hasRoom, self.core.memory.slots[slot].isLive,
            self.core.memory.slots[slot].kind == .activity
        else { return }
        // If the newest token is set aside, the update goes to the previous token without a wait.
        let setAside = self.core.memory.formerTokens.newest(of: slot)
        let deaths = setAside?.earlierDeaths ?? self.core.memory.slots[slot].earlierDeaths
        // Each of the two times may be `Int64.min`.
        let rests = max(self.core.memory.slots[slot].notBeforeMillis, self.core.memory.slots[slot].backoffUntilMillis)
        let retryMillis = max(rests, now.steadyMillis) - now.steadyMillis
        // The slot is live, so its bytes are valid.
        let id = unsafe String(decoding: self.core.memory.slots.idBytes(slot), as: UTF8.self)
        self.core.tokenRefusals.keep(
            TokenRefusalNotice(
                standing: refusal.noticed, app: self.core.memory.app(of: slot).bundleID,
                id: TokenText.shortened(id), isOfMember: false, tokenHash: tokenHash, status: details.status,
                reason: details.reason, diedMillis: diedMillis, registeredMillis: registeredMillis,
                earlierDeaths: refusal == .earlier ? Int(deaths) : 0,
                retryMillis: refusal == .earlier && setAside == nil ? retryMillis : nil))
    }

    private func refusal(of slot: SlotID, invalidSinceMillis: Int64?, isSuspicious: Bool) -> TokenRefusal {
        if let invalidSinceMillis, invalidSinceMillis < self.core.memory.slots[slot].registeredWallMillis,
            self.core.memory.slots[slot].earlierDeaths < ShardCore.earlierDeathsIgnoredMax
        {
            return .earlier
        }
        return isSuspicious && self.core.dispatch.doubtsVerdicts(lane: self.core.memory.slots[slot].lane)
            ? .doubted : .dead
    }

    private mutating func count(_ refusal: TokenRefusal) {
        switch refusal {
        case .dead: self.core.memory.counters.tokensDead += 1
        case .doubted: self.core.memory.counters.tokenRemovalsStopped += 1
        case .earlier: break
        }
    }

    /// Lets waiting updates go to the activity's other token, if it has one. The other token is the previous one, to
    /// which APNs has accepted pushes, or the newest, whose refusal was not certain.
    /// - Returns: whether there was another token.
    private mutating func fallsBackToOtherToken(_ slot: SlotID, after refusal: TokenRefusal, now: EngineTime) -> Bool {
        if self.core.memory.fallBackToFormerToken(of: slot, after: refusal) {
            self.count(refusal)
            self.core.dispatch.forgetFailures(slot, in: &self.core.memory)
            self.requeue(slot)
        } else if let standing = self.core.memory.returnToNewestToken(of: slot, after: refusal, now: now) {
            self.count(refusal)
            self.requeue(slot)
            if standing.isUsable {
                self.core.dispatch.backOff(slot, retryAfterSeconds: nil, in: &self.core.memory, now: now)
            }
        } else {
            return false
        }
        self.core.journal.markDirty(slot, in: &self.core.memory, now: now)
        return true
    }

    /// Ends the newest event of the update in flight, because APNs will never accept its push. If an older event is
    /// under it, the update is sent with that event. A start ends with all its events.
    private mutating func messageRefused(_ slot: SlotID, details: OutcomeDetails, now: EngineTime) {
        let update = self.core.memory.slots[slot].inFlight
        var details = details
        details.fill(from: self.core.memory.updates[update])
        if self.core.memory.updates[update].isStart {
            return self.startFailed(slot, outcome: .deadLettered, details: details, now: now)
        }
        if self.core.memory.updates[update].isEnd { self.core.memory.reviveAfterFailedEnd(slot) }
        let top = self.core.memory.updates[update].top
        self.core.journal.finishLayer(top, of: slot, outcome: .deadLettered, details: details, in: &self.core.memory)
        if self.core.coalescer.endTop(of: update, in: &self.core.memory) { self.requeue(slot) }
        self.core.journal.markDirty(slot, in: &self.core.memory, now: now)
    }

    /// Ends a start that did not happen, or that may not have happened. All events of its update get the start's
    /// outcome: either no card shows them, or the card that may exist does.
    mutating func startFailed(_ slot: SlotID, outcome: Outcome, details: OutcomeDetails, now: EngineTime) {
        let update = self.core.memory.slots[slot].inFlight
        for layer in self.core.memory.updates[update].under {
            self.core.journal.finishLayer(layer, of: slot, outcome: outcome, details: details, in: &self.core.memory)
        }
        let top = self.core.memory.updates[update].top
        self.core.journal.finishLayer(top, of: slot, outcome: outcome, details: details, in: &self.core.memory)
        self.core.coalescer.dropUpdate(update, of: slot, in: &self.core.memory)
        self.core.memory.rememberFailedStart(slot, outcome: outcome, timestampSeconds: top.timestampSeconds)
        if outcome == .unknown {
            self.core.coalescer.dropOlderThanAccepted(slot, in: &self.core.memory)
            self.core.settleEndings()
        }
        self.core.journal.markDirty(slot, in: &self.core.memory, now: now)
    }

    /// Lets the update that was in flight wait in the slot again, together with the events that arrived meanwhile.
    mutating func requeue(_ slot: SlotID) {
        self.core.coalescer.requeueInFlight(slot, in: &self.core.memory)
        self.core.settleEndings()
    }

    /// Treats the push as if it had never left, because APNs has not looked at it.
    private mutating func notProcessed(_ slot: SlotID, now: EngineTime) {
        let update = self.core.memory.slots[slot].inFlight
        self.core.memory.counters.apps[self.core.memory.appIndex(of: slot)].notProcessed += 1
        self.core.dispatch.apnsTopicAnswered(
            .nothing, lane: self.core.memory.slots[slot].lane, in: &self.core.memory, now: now)
        self.core.dispatch.refundBudget(update, in: &self.core.memory)
        self.core.dispatch.takeDistanceBack(update, in: &self.core.memory)
        self.core.memory.takeStampBack(update)
        self.withdrawStart(update, now: now)
        self.requeue(slot)
    }

    /// Withdraws the announcement of a start that did not reach the phone. Until the slot's next record is written,
    /// `state` still says that the start may have reached the phone.
    private mutating func withdrawStart(_ update: UpdateID, now: EngineTime) {
        guard self.core.memory.updates[update].isStart else { return }
        self.core.memory.withdrawAnnouncement(update)
        self.core.journal.markDirty(self.core.memory.updates[update].slot, in: &self.core.memory, now: now)
    }

    // MARK: Unknown results

    private mutating func unknown(_ slot: SlotID, details: OutcomeDetails, now: EngineTime) {
        let update = self.core.memory.slots[slot].inFlight
        self.core.memory.counters.apps[self.core.memory.appIndex(of: slot)].unknown += 1
        self.core.dispatch.apnsTopicAnswered(
            .nothing, lane: self.core.memory.slots[slot].lane, in: &self.core.memory, now: now)
        self.core.dispatch.spendBudget(update, in: self.core.memory, now: now)
        let app = self.core.memory.app(of: slot)
        if self.core.memory.updates[update].isStart, app.startOnUnknown == .drop {
            var details = details
            details.fill(from: self.core.memory.updates[update])
            self.startFailed(slot, outcome: .unknown, details: details, now: now)
        } else {
            let dropsAlert = app.alertOnUnknown == .drop && !self.core.memory.updates[update].isStart
            self.core.coalescer.markUnknown(update, dropsAlert: dropsAlert, in: &self.core.memory)
            self.requeue(slot)
            self.core.dispatch.backOff(slot, retryAfterSeconds: nil, in: &self.core.memory, now: now)
        }
        self.core.journal.requireStateRecord(slot, in: &self.core.memory, now: now)
    }
}

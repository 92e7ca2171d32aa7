public import APNSProtocol
public import PushModel

/// Takes APNs' answers to pushes.
extension ShardEngine {
    /// Takes an answer. An answer to an attempt that is not in flight changes nothing.
    public mutating func answered(_ answer: PushAnswer, now: EngineTime) {
        guard !MemberPushStore.isMember(answer.id) else { return self.memberAnswered(answer, now: now) }
        guard let update = self.memory.updates.id(of: answer.id) else {
            if let slot = self.memory.slotAsking(answer.id) {
                self.questionAnswered(slot, answer: answer, now: now)
            } else if ChannelErrands.isErrand(answer.id) {
                self.errandAnswered(answer, now: now)
            }
            return
        }
        let slot = self.memory.updates[update].slot
        guard self.memory.slots[slot].inFlight == update else { return }
        self.memory.requestAnswered(self.memory.slots[slot].partition)
        if self.memory.updates[update].top.isTraced {
            self.memory.traceNotes.append(.answered(answer), of: self.memory.updates[update].top.source)
        }
        switch answer.result {
        case .accepted:
            self.accepted(slot, answer: answer, now: now)
        case .response(let response):
            if response.verdict == .accepted {
                self.accepted(slot, answer: answer, now: now)
            } else {
                self.memory.counters.apps[self.memory.appIndex(of: slot)].countRefusal(response.reason)
                let details = OutcomeDetails(answer: answer, status: response.status, reason: response.reason)
                self.refused(
                    slot, verdict: response.verdict, details: details, retryAfterSeconds: response.retryAfterSeconds,
                    now: now)
                self.journal.requireStateRecord(slot, in: &self.memory, now: now)
            }
        case .notProcessed, .channel:
            self.notProcessed(slot, now: now)
        case .unknown(let detail):
            self.unknown(slot, details: OutcomeDetails(answer: answer, status: 0, reason: detail), now: now)
        }
        self.dispatch.reschedule(slot, in: &self.memory, now: now)
    }

    // MARK: Accepted

    private mutating func accepted(_ slot: SlotID, answer: PushAnswer, now: EngineTime) {
        let update = self.memory.slots[slot].inFlight
        let lane = self.memory.slots[slot].lane
        self.dispatch.heardAccepted(lane: lane, in: &self.memory, now: now)
        self.memory.counters.apps[self.memory.appIndex(of: slot)].accepted += 1
        self.sample(update, apnsMicros: answer.apnsMicros)
        self.dispatch.spendBudget(update, in: self.memory, now: now)
        self.dispatch.forgetFailures(slot, in: &self.memory)
        self.noteBroadcastAccepted(slot, now: now)
        self.coalescer.endUnder(update, in: &self.memory)
        self.settleEndings()
        var details = OutcomeDetails(answer: answer, status: 200, reason: "")
        details.fill(from: self.memory.updates[update])
        self.journal.finishAcceptedTop(of: update, slot: slot, details: details, in: &self.memory)
        self.memory.noteAccepted(update, of: slot, now: now)
        self.coalescer.dropUpdate(update, of: slot, in: &self.memory)
        self.coalescer.dropOlderThanAccepted(slot, in: &self.memory)
        self.settleEndings()
        self.journal.requireStateRecord(slot, in: &self.memory, now: now)
    }

    // MARK: Not now, or never

    private mutating func refused(
        _ slot: SlotID, verdict: Verdict, details: OutcomeDetails, retryAfterSeconds: Int64?, now: EngineTime
    ) {
        let update = self.memory.slots[slot].inFlight
        self.dispatch.refundBudget(update, in: &self.memory)
        self.withdrawStart(update, now: now)
        let consequence = verdict.consequence
        self.dispatch.heard(consequence, lane: self.memory.slots[slot].lane, in: &self.memory, now: now)
        switch consequence.push {
        case .accepted: return
        case .tokenDead(let invalidSinceMillis, let isSuspicious):
            self.tokenDied(
                slot, invalidSinceMillis: invalidSinceMillis, isSuspicious: isSuspicious, details: details, now: now)
        case .refused(byExpiration: true) where self.memory.slots[slot].storage == .mostRecent:
            // The channel stores nothing, whatever was said: the push goes again with 0.
            self.takeDistanceBack(update)
            self.dispatch.setStorage(.none, of: slot, in: &self.memory, now: now)
            self.requeue(slot)
        case .refused: self.messageRefused(slot, details: details, now: now)
        case .goesAgain:
            self.takeDistanceBack(update)
            self.requeue(slot)
            // Without its distance a channel would be tried as fast as connections open.
            if self.memory.slots[slot].kind == .channel {
                self.dispatch.backOff(slot, retryAfterSeconds: nil, in: &self.memory, now: now)
            }
        case .waitsForRoute:
            self.takeDistanceBack(update)
            self.requeue(slot)
            self.dispatch.backOff(
                slot, retryAfterSeconds: retryAfterSeconds,
                millisMax: self.memory.configuration.settings.routeBackoffMaxMillis,
                in: &self.memory, now: now)
        case .waitsForToken:
            self.requeue(slot)
            self.dispatch.throttle(slot, in: &self.memory, now: now)
            self.dispatch.backOff(slot, retryAfterSeconds: retryAfterSeconds, in: &self.memory, now: now)
        }
    }

    /// How often in a row a death from before the registration is ignored. That takes some minutes, for a member some
    /// seconds; then the death is believed. Somebody may register a dead token again, or with a clock that is ahead. It
    /// would otherwise be pushed to for 12 hours.
    static var earlierDeathsIgnoredMax: UInt8 { 7 }

    private mutating func tokenDied(
        _ slot: SlotID, invalidSinceMillis: Int64?, isSuspicious: Bool, details: OutcomeDetails, now: EngineTime
    ) {
        let update = self.memory.slots[slot].inFlight
        if self.memory.updates[update].isStart {
            // The token is part of the start, so there is no other.
            var details = details
            details.fill(from: self.memory.updates[update])
            return self.startFailed(slot, outcome: .rejected, details: details, now: now)
        }
        guard self.memory.updates[update].tokenGeneration == self.memory.slots[slot].tokenGeneration else {
            // The verdict is about a token that has been replaced. The push goes to the newer one.
            self.memory.formerTokens.noteRefused(
                generation: self.memory.updates[update].tokenGeneration, sinceMillis: invalidSinceMillis, of: slot)
            return self.requeue(slot)
        }
        let refusal = self.refusal(
            of: slot, invalidSinceMillis: invalidSinceMillis, isSuspicious: isSuspicious)
        if self.turnsToOtherToken(slot, after: refusal, now: now) { return }
        if refusal == .earlier {
            self.memory.slots[slot].earlierDeaths += 1
            self.requeue(slot)
            return self.dispatch.backOff(slot, retryAfterSeconds: nil, in: &self.memory, now: now)
        }
        // In both cases the update waits for another token: APNs asks not to try this one again with it.
        self.count(refusal)
        self.memory.formerTokens.forget(slot)
        self.memory.noteRefusedToken(slot, standing: refusal == .doubted ? .doubted : .dead, now: now)
        guard self.memory.slots[slot].kind == .activity else {
            return self.channelGone(slot, details: details, now: now)
        }
        self.requeue(slot)
        self.journal.markDirty(slot, in: &self.memory, now: now)
    }

    private func refusal(of slot: SlotID, invalidSinceMillis: Int64?, isSuspicious: Bool) -> TokenRefusal {
        if let invalidSinceMillis, invalidSinceMillis < self.memory.slots[slot].registeredWallMillis,
            self.memory.slots[slot].earlierDeaths < Self.earlierDeathsIgnoredMax
        {
            return .earlier
        }
        return isSuspicious && self.dispatch.doubtsVerdicts(lane: self.memory.slots[slot].lane) ? .doubted : .dead
    }

    private mutating func count(_ refusal: TokenRefusal) {
        switch refusal {
        case .dead: self.memory.counters.tokensDead += 1
        case .doubted: self.memory.counters.tokenRemovalsStopped += 1
        case .earlier: break
        }
    }

    /// Lets what waits go to the other token, if the refused one has another beside it. That is the previous token,
    /// which has been accepted, or the newest, whose own refusal was not certain.
    /// - Returns: whether there was one.
    private mutating func turnsToOtherToken(_ slot: SlotID, after refusal: TokenRefusal, now: EngineTime) -> Bool {
        if self.memory.turnToFormerToken(of: slot, after: refusal) {
            self.count(refusal)
            self.dispatch.forgetFailures(slot, in: &self.memory)
            self.requeue(slot)
        } else if let standing = self.memory.returnToNewestToken(of: slot, after: refusal, now: now) {
            self.count(refusal)
            self.requeue(slot)
            if standing.isUsable {
                self.dispatch.backOff(slot, retryAfterSeconds: nil, in: &self.memory, now: now)
            }
        } else {
            return false
        }
        self.journal.markDirty(slot, in: &self.memory, now: now)
        return true
    }

    /// Sets the event aside: APNs will never take this request. Older events that it had replaced stay replaced.
    private mutating func messageRefused(_ slot: SlotID, details: OutcomeDetails, now: EngineTime) {
        let update = self.memory.slots[slot].inFlight
        var details = details
        details.fill(from: self.memory.updates[update])
        if self.memory.updates[update].isStart {
            return self.startFailed(slot, outcome: .deadLettered, details: details, now: now)
        }
        if self.memory.updates[update].isEnd { self.memory.reviveAfterFailedEnd(slot) }
        let top = self.memory.updates[update].top
        self.journal.finishLayer(top, of: slot, outcome: .deadLettered, details: details, in: &self.memory)
        if self.coalescer.endTop(of: update, in: &self.memory) { self.requeue(slot) }
        self.journal.markDirty(slot, in: &self.memory, now: now)
    }

    /// Ends a start that did not happen and will not, or may have. Its newest content gets the start's outcome: there
    /// is no card to show it on, or one that shows it.
    mutating func startFailed(_ slot: SlotID, outcome: Outcome, details: OutcomeDetails, now: EngineTime) {
        let update = self.memory.slots[slot].inFlight
        for layer in self.memory.updates[update].under {
            self.journal.finishLayer(layer, of: slot, outcome: outcome, details: details, in: &self.memory)
        }
        let top = self.memory.updates[update].top
        self.journal.finishLayer(top, of: slot, outcome: outcome, details: details, in: &self.memory)
        self.coalescer.dropUpdate(update, of: slot, in: &self.memory)
        self.memory.noteFailedStart(slot, outcome: outcome, timestampSeconds: top.timestampSeconds)
        if outcome == .unknown {
            self.coalescer.dropOlderThanAccepted(slot, in: &self.memory)
            self.settleEndings()
        }
        self.journal.markDirty(slot, in: &self.memory, now: now)
    }

    /// Puts the update that was in flight back, under the events that arrived meanwhile.
    mutating func requeue(_ slot: SlotID) {
        self.coalescer.requeueInFlight(slot, in: &self.memory)
        self.settleEndings()
    }

    /// Treats the push as if it had never left: APNs has not looked at it.
    private mutating func notProcessed(_ slot: SlotID, now: EngineTime) {
        let update = self.memory.slots[slot].inFlight
        self.memory.counters.apps[self.memory.appIndex(of: slot)].notProcessed += 1
        self.dispatch.topicAnswered(.nothing, lane: self.memory.slots[slot].lane, in: &self.memory, now: now)
        self.dispatch.refundBudget(update, in: &self.memory)
        self.dispatch.takeDistanceBack(update, in: &self.memory)
        self.memory.takeStampBack(update)
        self.withdrawStart(update, now: now)
        self.requeue(slot)
    }

    /// Withdraws the announcement of a start that did not reach the phone; `state` says that it may have.
    private mutating func withdrawStart(_ update: UpdateID, now: EngineTime) {
        guard self.memory.updates[update].isStart else { return }
        self.memory.withdrawAnnouncement(update)
        self.journal.markDirty(self.memory.updates[update].slot, in: &self.memory, now: now)
    }

    // MARK: Nobody knows

    private mutating func unknown(_ slot: SlotID, details: OutcomeDetails, now: EngineTime) {
        let update = self.memory.slots[slot].inFlight
        self.memory.counters.apps[self.memory.appIndex(of: slot)].unknown += 1
        self.dispatch.topicAnswered(.nothing, lane: self.memory.slots[slot].lane, in: &self.memory, now: now)
        self.dispatch.spendBudget(update, in: self.memory, now: now)
        let app = self.memory.app(of: slot)
        if self.memory.updates[update].isStart, app.startOnUnknown == .drop {
            var details = details
            details.fill(from: self.memory.updates[update])
            self.startFailed(slot, outcome: .unknown, details: details, now: now)
        } else {
            let dropsAlert = app.alertOnUnknown == .drop && !self.memory.updates[update].isStart
            self.coalescer.noteUnknown(update, dropsAlert: dropsAlert, in: &self.memory)
            self.requeue(slot)
            self.dispatch.backOff(slot, retryAfterSeconds: nil, in: &self.memory, now: now)
        }
        self.journal.requireStateRecord(slot, in: &self.memory, now: now)
    }
}

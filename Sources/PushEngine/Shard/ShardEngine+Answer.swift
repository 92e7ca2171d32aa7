public import APNSProtocol
public import PushModel

extension ShardEngine {
    /// What became of a push. An answer to an attempt that is no longer in flight changes nothing.
    public mutating func answered(_ answer: PushAnswer, now: EngineTime) {
        guard let update = self.updates.id(of: answer.id) else { return }
        let slot = self.updates[update].slot
        guard self.slots[slot].inFlight == update else { return }
        self.partitions[self.slots[slot].partition].inFlightCount -= 1
        self.counters.inFlight -= 1
        switch answer.result {
        case .accepted:
            self.accepted(slot, answer: answer, now: now)
        case .response(let response):
            if response.verdict == .accepted {
                self.accepted(slot, answer: answer, now: now)
            } else {
                let details = OutcomeDetails(answer: answer, status: response.status, reason: response.reason)
                self.refused(
                    slot, verdict: response.verdict, details: details, retryAfterSeconds: response.retryAfterSeconds,
                    now: now)
                self.requireStateRecord(slot, now: now)
            }
        case .notProcessed:
            self.counters.pushesNotProcessed += 1
            self.topicAnswered(.nothing, lane: self.lane(of: slot), now: now)
            self.refundBudget(update)
            self.slots[slot].notBeforeMillis = self.updates[update].notBeforeOfPrevious
            self.takeStampBack(update)
            self.withdrawStart(update, now: now)
            self.requeueInFlight(slot, now: now)
        case .unknown(let detail):
            self.unknown(slot, details: OutcomeDetails(answer: answer, status: 0, reason: detail), now: now)
        }
        self.reschedule(slot, now: now)
    }

    // MARK: Accepted

    private mutating func accepted(_ slot: SlotID, answer: PushAnswer, now: EngineTime) {
        let update = self.slots[slot].inFlight
        let lane = self.lane(of: slot)
        self.lanes[lane].tokenGuard.answered(isSuspicious: false)
        self.topicAnswered(.taken, lane: lane, now: now)
        self.counters.pushesAccepted += 1
        if self.samples.count < Self.samplesMax {
            self.samples.append(
                AcceptedSample(
                    recordMillis: self.updates[update].top.recordMillis,
                    queuedMillis: self.updates[update].sentMillis - self.updates[update].top.takenMillis,
                    apnsMicros: answer.apnsMicros))
        }
        self.spendBudget(update, now: now)
        self.slots[slot].attempt = 0
        self.slots[slot].backoffUntilMillis = .min
        let timestamp = self.updates[update].top.timestampSeconds
        self.slots[slot].lastAcceptedSeconds = max(self.slots[slot].lastAcceptedSeconds, timestamp)
        if !self.updates[update].under.isEmpty {
            for layer in self.updates[update].under {
                self.supersede(
                    layer, of: slot, into: self.updates[update].top.source, keepsAlert: false, keepsPriority: false)
            }
            self.updates[update].under = []
        }
        var details = OutcomeDetails(answer: answer, status: 200, reason: "")
        details.fill(from: self.updates[update])
        self.finishAcceptedTop(of: update, slot: slot, details: details)
        if self.updates[update].isStart {
            self.slots[slot].awaitsTokenOfStart = !self.slots[slot].hasToken
            if self.slots[slot].life == .starting {
                self.slots[slot].life = self.slots[slot].hasToken ? .alive : .started
            }
        } else if self.updates[update].isEnd {
            self.slots[slot].life = .ended
            self.slots[slot].lastTouchedWallMillis = now.wallMillis
            self.slots[slot].lifeEndsMillis = now.steadyMillis + self.app(of: slot).retentionAfterEndMillis
        }
        self.changeWork(slot) { $0.inFlight = .none }
        self.updates.release(update)
        self.dropOlderThanAccepted(slot, now: now)
        self.requireStateRecord(slot, now: now)
    }

    /// What came while a newer event was in flight and is older than it: the device would ignore it.
    private mutating func dropOlderThanAccepted(_ slot: SlotID, now: EngineTime) {
        let accepted = self.slots[slot].lastAcceptedSeconds
        guard self.slots[slot].pending.isSome else { return }
        for update in [self.slots[slot].pending, self.slots[slot].behind] where update.isSome {
            guard !self.updates[update].isStart else { continue }
            while let first = self.updates[update].under.first, first.timestampSeconds < accepted, !first.isEnd {
                self.updates[update].under.removeFirst()
                self.supersede(first, of: slot, into: nil, keepsAlert: false, keepsPriority: false)
            }
            for layer in self.updates[update].under.indices {
                self.updates[update].under[layer].dropInherited(olderThan: accepted)
            }
            self.updates[update].top.dropInherited(olderThan: accepted)
            guard !self.updates[update].top.isEnd, self.updates[update].top.timestampSeconds < accepted else {
                continue
            }
            self.supersedeAll(of: update, into: nil)
            self.dropUpdate(update, of: slot)
        }
    }

    /// Takes an update whose events all have their outcome out of the slot.
    mutating func dropUpdate(_ update: UpdateID, of slot: SlotID) {
        self.changeWork(slot) {
            if $0.inFlight == update {
                $0.inFlight = .none
            } else if $0.pending == update {
                $0.pending = $0.behind
                $0.behind = .none
            } else if $0.behind == update {
                $0.behind = .none
            }
        }
        self.updates.release(update)
    }

    // MARK: Refused

    private mutating func refused(
        _ slot: SlotID, verdict: Verdict, details: OutcomeDetails, retryAfterSeconds: Int64?, now: EngineTime
    ) {
        let update = self.slots[slot].inFlight
        self.counters.pushesRefused += 1
        self.refundBudget(update)
        self.withdrawStart(update, now: now)
        let lane = self.lane(of: slot)
        switch verdict {
        case .tokenDead(_, let suspicious): self.lanes[lane].tokenGuard.answered(isSuspicious: suspicious)
        case .accepted, .tokenThrottled: self.lanes[lane].tokenGuard.answered(isSuspicious: false)
        case .messageRefused, .connectionUnusable, .providerTokenExpired, .providerTokenTooManyUpdates, .serverBusy,
            .credentialRefused, .topicRefused:
            // They say nothing of the token: an outage must not make a wrong environment look like a few bad tokens.
            break
        }
        switch verdict {
        case .topicRefused: self.topicAnswered(.refused, lane: lane, now: now)
        case .tokenDead, .tokenThrottled: self.topicAnswered(.taken, lane: lane, now: now)
        case .accepted, .messageRefused, .connectionUnusable, .providerTokenExpired, .providerTokenTooManyUpdates,
            .serverBusy, .credentialRefused:
            self.topicAnswered(.nothing, lane: lane, now: now)
        }
        switch verdict {
        case .accepted: return
        case .tokenDead(let invalidSinceMillis, let suspicious):
            self.tokenDied(
                slot, invalidSinceMillis: invalidSinceMillis, isSuspicious: suspicious, details: details, now: now)
        case .messageRefused:
            self.messageRefused(slot, details: details, now: now)
        case .connectionUnusable:
            self.requeueInFlight(slot, now: now)
        case .providerTokenExpired, .providerTokenTooManyUpdates, .serverBusy, .credentialRefused, .topicRefused:
            // Nothing is wrong with this push: its route holds back what has to be held back, and lets it go on soon
            // after the fault has gone.
            self.requeueInFlight(slot, now: now)
            self.backOff(
                slot, retryAfterSeconds: retryAfterSeconds, millisMax: self.configuration.routeBackoffMaxMillis,
                now: now)
        case .tokenThrottled:
            self.requeueInFlight(slot, now: now)
            self.backOff(slot, retryAfterSeconds: retryAfterSeconds, now: now)
        }
    }

    private mutating func tokenDied(
        _ slot: SlotID, invalidSinceMillis: Int64?, isSuspicious: Bool, details: OutcomeDetails, now: EngineTime
    ) {
        let update = self.slots[slot].inFlight
        if self.updates[update].isStart {
            // The token came with the start: there is no other.
            var details = details
            details.fill(from: self.updates[update])
            return self.startFailed(slot, outcome: .rejected, details: details, now: now)
        }
        guard self.updates[update].tokenGeneration == self.slots[slot].tokenGeneration else {
            // The verdict is about a token that has been replaced: the push goes to the newer one.
            return self.requeueInFlight(slot, now: now)
        }
        if let invalidSinceMillis, invalidSinceMillis < self.slots[slot].registeredWallMillis {
            self.requeueInFlight(slot, now: now)
            return self.backOff(slot, retryAfterSeconds: nil, now: now)
        }
        // Either way the update waits for another token: APNs asks that this one not be tried again with it.
        if isSuspicious, self.lanes[self.lane(of: slot)].tokenGuard.isStopped {
            self.counters.tokenRemovalsStopped += 1
            self.slots[slot].tokenStanding = .doubted
        } else {
            self.counters.tokensDead += 1
            self.slots[slot].tokenStanding = .dead
        }
        self.slots[slot].tokenMissingSinceMillis = now.steadyMillis
        self.requeueInFlight(slot, now: now)
        self.markDirty(slot, now: now)
    }

    /// APNs will never take this request. The event is set aside; older ones that it had replaced stay replaced.
    private mutating func messageRefused(_ slot: SlotID, details: OutcomeDetails, now: EngineTime) {
        let update = self.slots[slot].inFlight
        var details = details
        details.fill(from: self.updates[update])
        if self.updates[update].isStart {
            return self.startFailed(slot, outcome: .deadLettered, details: details, now: now)
        }
        let top = self.updates[update].top
        if top.isEnd { self.reviveAfterFailedEnd(slot) }
        self.finishLayer(top, of: slot, outcome: .deadLettered, details: details, now: now)
        if let next = self.updates[update].under.popLast() {
            self.updates[update].top = next
            self.updates[update].stampSeconds = nil
            self.requeueInFlight(slot, now: now)
        } else {
            self.dropUpdate(update, of: slot)
        }
        self.markDirty(slot, now: now)
    }

    /// The start did not happen and will not, or nobody knows. Its newest content has the start's outcome: there is no card to show it on,
    /// or one that shows it.
    mutating func startFailed(_ slot: SlotID, outcome: Outcome, details: OutcomeDetails, now: EngineTime) {
        let update = self.slots[slot].inFlight
        for layer in self.updates[update].under {
            self.finishLayer(layer, of: slot, outcome: outcome, details: details, now: now)
        }
        let timestamp = self.updates[update].top.timestampSeconds
        self.finishLayer(self.updates[update].top, of: slot, outcome: outcome, details: details, now: now)
        self.dropUpdate(update, of: slot)
        if outcome == .unknown {
            self.slots[slot].awaitsTokenOfStart = !self.slots[slot].hasToken
            // The card, if there is one, must not go back to something older.
            self.slots[slot].lastAcceptedSeconds = max(self.slots[slot].lastAcceptedSeconds, timestamp)
            self.dropOlderThanAccepted(slot, now: now)
        }
        if self.slots[slot].life == .starting {
            self.slots[slot].life =
                outcome == .unknown ? .started : self.slots[slot].hasToken ? .alive : .awaiting
        }
        self.markDirty(slot, now: now)
    }

    /// An end that never reached the device: the card lives on.
    mutating func reviveAfterFailedEnd(_ slot: SlotID) {
        guard self.slots[slot].life == .ending else { return }
        let slotIsStarted = self.slots[slot].awaitsTokenOfStart
        self.slots[slot].life = self.slots[slot].hasToken ? .alive : slotIsStarted ? .started : .awaiting
    }

    // MARK: Nobody knows

    private mutating func unknown(_ slot: SlotID, details: OutcomeDetails, now: EngineTime) {
        let update = self.slots[slot].inFlight
        self.counters.pushesUnknown += 1
        self.topicAnswered(.nothing, lane: self.lane(of: slot), now: now)
        self.spendBudget(update, now: now)
        let app = self.app(of: slot)
        if self.updates[update].isStart, app.startOnUnknown == .drop {
            var details = details
            details.fill(from: self.updates[update])
            self.startFailed(slot, outcome: .unknown, details: details, now: now)
        } else {
            if app.alertOnUnknown == .drop, !self.updates[update].isStart {
                self.updates[update].top.alert = ByteRange()
            }
            self.updates[update].top.mayBeSent = true
            self.requeueInFlight(slot, now: now)
            self.backOff(slot, retryAfterSeconds: nil, now: now)
        }
        self.requireStateRecord(slot, now: now)
    }

    /// The push did not reach the phone: a stamp first given to this attempt is free again. So there is never more than one stamp that
    /// `state` does not know, which is what a replay steps over (contract §4, wire stamp).
    private mutating func takeStampBack(_ update: UpdateID) {
        guard let before = self.updates[update].stampBeforeSeconds else { return }
        self.slots[self.updates[update].slot].lastStampSeconds = before
        self.updates[update].stampSeconds = nil
    }

    /// This start did not reach the phone; `state` says that it may have.
    private mutating func withdrawStart(_ update: UpdateID, now: EngineTime) {
        guard self.updates[update].isStart else { return }
        self.updates[update].stampSeconds = nil
        self.updates[update].isAnnounced = false
        self.markDirty(self.updates[update].slot, now: now)
    }

    // MARK: Budget and backoff

    /// A process before this one may have sent one push of the slot, and not more, that `state` does not know of (contract §5): its unit
    /// is counted as spent now. So is one for each that has died over the same: each before the next took over, and after the event was
    /// written. At most once per slot and assignment.
    /// - Parameter recordMillis: when the first event was written that may have been sent.
    mutating func countUnrecordedPush(_ slot: SlotID, recordMillis: Int64, now: EngineTime) {
        guard !self.slots[slot].countedUnrecordedPush, self.couldHaveUnrecordedPush(slot) else { return }
        self.slots[slot].countedUnrecordedPush = true
        let owners = self.partitions[self.slots[slot].partition].ownersWallMillis
        for begun in owners.suffix(Int(self.slots[slot].ownersSinceRecord))
        where begun > recordMillis {
            let age = max(0, now.wallMillis - begun)
            self.budgets.restore(&self.slots[slot].budget, ageMillis: age, nowMillis: now.steadyMillis)
        }
        self.budgets.restore(&self.slots[slot].budget, ageMillis: 0, nowMillis: now.steadyMillis)
    }

    /// False: nobody owned the partition before, or the owner before gave it back in order.
    func couldHaveUnrecordedPush(_ slot: SlotID) -> Bool {
        !self.slots[slot].isHandedOver && self.partitions[self.slots[slot].partition].hadOwner
    }

    private mutating func spendBudget(_ update: UpdateID, now: EngineTime) {
        guard self.updates[update].sentPriority == .high else { return }
        self.budgets.answered(self.slots[self.updates[update].slot].budget, nowMillis: now.steadyMillis)
    }

    private mutating func refundBudget(_ update: UpdateID) {
        guard self.updates[update].sentPriority == .high else { return }
        self.budgets.refunded(&self.slots[self.updates[update].slot].budget)
    }

    /// Doubles from attempt to attempt, with half of it drawn at random so that a fleet does not come back at once.
    private mutating func backOff(
        _ slot: SlotID, retryAfterSeconds: Int64?, millisMax: Int64 = .max, now: EngineTime
    ) {
        let attempt = self.slots[slot].attempt
        self.slots[slot].attempt = attempt < 20 ? attempt + 1 : attempt
        let full = min(
            millisMax, self.configuration.retryBackoffMaxMillis,
            self.configuration.retryBackoffMinMillis << Int64(attempt))
        let drawn = full / 2 + Int64.random(in: 0...max(1, full / 2), using: &self.random)
        // A server's wish is honoured up to an hour; more is taken as nonsense.
        let asked = min(max(retryAfterSeconds ?? 0, 0), 3_600) * 1_000
        self.slots[slot].backoffUntilMillis = now.steadyMillis + max(drawn, asked)
    }
}

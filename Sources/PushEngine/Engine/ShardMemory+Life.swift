import PushModel

/// Where an activity stands (contract: Life cycle), and what its pushes and events change about that.
extension ShardMemory {
    /// A start, update, end or registration came: the 12 hours begin again.
    @inline(__always) mutating func touch(_ slot: SlotID, now: EngineTime) {
        self.slots[slot].lastTouchedWallMillis = now.wallMillis
        self.slots[slot].lifeEndsMillis = now.steadyMillis + self.configuration.settings.lifetimeMillis
    }

    /// Members of an audience joined: it is remembered for 12 hours from then on.
    /// - Parameter isNew: nothing else is known of it.
    mutating func touch(_ slot: SlotID, joinedSeconds: Int64, isNew: Bool, now: EngineTime) {
        let joinedMillis = min(joinedSeconds * 1_000, now.wallMillis)
        let left = max(0, self.configuration.settings.lifetimeMillis - (now.wallMillis - joinedMillis))
        let ends = now.steadyMillis + left
        guard isNew || ends > self.slots[slot].lifeEndsMillis, self.slots[slot].life != .ended else { return }
        self.slots[slot].lifeEndsMillis = ends
        self.slots[slot].lastTouchedWallMillis = joinedMillis
    }
    /// A card of its own: nothing known of the one before holds for it but the budget, which is the device's.
    mutating func beginNewLife(_ slot: SlotID) {
        self.clearToken(of: slot)
        self.slots[slot].life = .awaiting
        self.slots[slot].awaitsTokenOfStart = false
        self.slots[slot].lastAcceptedSeconds = .min
        // Stamps of an audience tell its versions apart in all its lives.
        if self.slots[slot].kind != .audience { self.slots[slot].lastStampSeconds = 0 }
    }

    /// A start, update or end comes.
    /// - Parameter isExpired: it will not be sent, so it does not end anything.
    /// - Returns: why the event has no place in this life; `nil`: it has.
    @inline(__always) mutating func enterLife(
        _ kind: EventKind, isExpired: Bool, of slot: SlotID
    ) -> (outcome: Outcome, cause: OutcomeDetails.Cause)? {
        switch (kind, self.slots[slot].life) {
        case (.update, .ending), (.update, .ended), (.end, .ending), (.end, .ended):
            return (.late, .afterEnd)
        case (.start, .alive) where self.slots[slot].kind == .audience:
            // It is known, and has not been started.
            self.slots[slot].life = .starting
        case (.start, .alive), (.start, .starting), (.start, .started), (.start, .ending):
            return (.duplicate, .alreadyStarted)
        case (.start, .ended), (.start, .awaiting):
            if self.slots[slot].life == .ended { self.beginNewLife(slot) }
            self.slots[slot].life = .starting
        case (.end, .awaiting), (.end, .alive), (.end, .starting), (.end, .started):
            if !isExpired { self.slots[slot].life = .ending }
        case (.update, .awaiting), (.update, .alive), (.update, .starting), (.update, .started), (.register, _),
            (.unregister, _), (.open, _):
            break
        }
        return nil
    }

    /// APNs took the update.
    @inline(__always) mutating func noteAccepted(_ update: UpdateID, of slot: SlotID, now: EngineTime) {
        self.slots[slot].earlierDeaths = 0
        self.slots[slot].lastAcceptedSeconds = max(
            self.slots[slot].lastAcceptedSeconds, self.updates[update].top.timestampSeconds)
        if self.slots[slot].tokenStanding != .proven { self.noteAcceptedToken(update, of: slot) }
        if self.updates[update].isStart {
            self.slots[slot].awaitsTokenOfStart = !self.slots[slot].hasToken
            if self.slots[slot].life == .starting {
                self.slots[slot].life = self.slots[slot].hasToken ? .alive : .started
            }
        } else if self.updates[update].isEnd {
            self.formerTokens.forget(slot)
            self.slots[slot].life = .ended
            self.slots[slot].lastTouchedWallMillis = now.wallMillis
            self.slots[slot].lifeEndsMillis = now.steadyMillis + self.app(of: slot).retentionAfterEndMillis
        }
    }

    /// A start did not happen and will not, or nobody knows (`unknown`).
    /// - Parameter timestampSeconds: of its newest content.
    mutating func noteFailedStart(_ slot: SlotID, outcome: Outcome, timestampSeconds: Int64) {
        let mayHaveHappened = outcome == .unknown
        if mayHaveHappened {
            self.slots[slot].awaitsTokenOfStart = !self.slots[slot].hasToken
            // The card, if there is one, must not go back to something older.
            self.slots[slot].lastAcceptedSeconds = max(self.slots[slot].lastAcceptedSeconds, timestampSeconds)
        }
        guard self.slots[slot].life == .starting else { return }
        self.slots[slot].life = mayHaveHappened ? .started : self.slots[slot].hasToken ? .alive : .awaiting
    }

    /// An end that never reached the device: the card lives on.
    mutating func reviveAfterFailedEnd(_ slot: SlotID) {
        guard self.slots[slot].life == .ending else { return }
        // A start of an audience may still wait beneath the end.
        guard self.slots[slot].kind != .audience || !self.owners[slot].hasWaitingStart else {
            return self.slots[slot].life = .starting
        }
        let isStarted = self.slots[slot].awaitsTokenOfStart
        let isAlive = self.slots[slot].hasToken && !(isStarted && self.slots[slot].kind == .audience)
        self.slots[slot].life = isAlive ? .alive : isStarted ? .started : .awaiting
    }

    /// A version of the audience has not been told to every partition that asked.
    @inline(__always) func hasOpenVersion(_ slot: SlotID) -> Bool {
        self.slots[slot].kind == .audience && self.owners[slot].openCount > 0
    }
    /// Every partition has the audience's end: it is remembered for so long from now on.
    mutating func noteEndTold(_ slot: SlotID, now: EngineTime) {
        guard self.slots[slot].life == .ended else { return }
        self.slots[slot].lastTouchedWallMillis = now.wallMillis
        self.slots[slot].lifeEndsMillis = now.steadyMillis + self.app(of: slot).retentionAfterEndMillis
    }
    /// Its life is over, but something else has to come first: it is looked at again soon.
    /// - Parameter millis: how soon.
    mutating func prolongLife(_ slot: SlotID, millis: Int64 = 1_000, now: EngineTime) {
        self.slots[slot].lifeEndsMillis = now.steadyMillis + millis
    }

    /// Something came for it: it does not leave.
    @inline(__always) mutating func stay(_ slot: SlotID) { self.slots[slot].isLeaving = false }

    /// Nothing more comes of it: its next state record is a tombstone, unless an event comes first.
    mutating func beginLeaving(_ slot: SlotID) { self.slots[slot].isLeaving = true }

    // MARK: Device token

    /// This is the newest token of the slot. One registered again says that it lives.
    /// - Parameters:
    ///   - hasMoved: it is of another environment than the one before.
    ///   - recordMillis: when it was registered, milliseconds since 1970.
    /// - Returns: whether it is another one than before.
    mutating func takeToken(_ token: Span<UInt8>, of slot: SlotID, hasMoved: Bool, recordMillis: Int64) -> Bool {
        let isNew = !self.slots.hasToken(token, slot)
        let isProven = !hasMoved && (isNew ? self.isFormerToken(token, of: slot) : self.hasProvenToken(slot))
        self.tokenComes(of: slot, isNew: isNew, isKept: isNew && isProven, hasMoved: hasMoved)
        self.slots[slot].awaitsTokenOfStart = false
        self.slots[slot].registeredWallMillis = recordMillis
        self.slots[slot].earlierDeaths = 0
        self.slots[slot].tokenStanding = isProven ? .proven : .usable
        if isNew { self.slots.setToken(token, of: slot) }
        return isNew
    }

    /// The app has unregistered its token.
    mutating func loseToken(_ slot: SlotID, now: EngineTime) {
        self.clearToken(of: slot)
        self.slots[slot].tokenMissingSinceMillis = now.steadyMillis
        if self.slots[slot].life == .alive { self.slots[slot].life = .awaiting }
    }

    private mutating func clearToken(of slot: SlotID) {
        self.formerTokens.forget(slot)
        self.slots.clearToken(of: slot)
        self.slots[slot].tokenStanding = .usable
    }

    /// APNs has refused the token.
    mutating func noteRefusedToken(_ slot: SlotID, standing: TokenStanding, now: EngineTime) {
        self.slots[slot].tokenStanding = standing
        self.slots[slot].tokenMissingSinceMillis = now.steadyMillis
    }

    /// The channel is kept for an audience.
    /// - Parameter audience: empty: for one that has not come yet.
    mutating func noteKept(_ slot: SlotID, for audience: [UInt8], now: EngineTime) {
        self.keptFor[slot] = audience
        self.noteRefusedToken(slot, standing: .kept, now: now)
    }

    /// A refused token is tried again with the next update: the refusal may have been a fault of ours.
    mutating func trustToken(of slot: SlotID) { self.slots[slot].tokenStanding = .usable }

    /// Whether the app has the larger budget for this activity.
    mutating func setFrequentUpdates(_ isFrequent: Bool, of slot: SlotID) {
        self.slots[slot].frequentUpdates = isFrequent
    }

    /// A card that has a token is there.
    mutating func noteAlive(_ slot: SlotID) {
        if self.slots[slot].life == .awaiting || self.slots[slot].life == .started { self.slots[slot].life = .alive }
    }
}

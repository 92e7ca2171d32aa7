import PushModel

/// The phase of an activity's life (contract: Life cycle), and how pushes and events change it.
extension ShardMemory {
    /// Begins the 12 hours again: a start, update, end or registration arrived.
    @inline(__always) mutating func touch(_ slot: SlotID, now: EngineTime) {
        self.slots[slot].lastTouchedWallMillis = now.wallMillis
        self.slots[slot].lifeEndsMillis = now.steadyMillis + self.configuration.settings.lifetimeMillis
    }

    /// Remembers an audience for 12 hours from now on: members joined.
    /// - Parameter isNew: whether nothing else is known of it.
    mutating func touch(_ slot: SlotID, joinedSeconds: Int64, isNew: Bool, now: EngineTime) {
        let joinedMillis = min(joinedSeconds * 1_000, now.wallMillis)
        let left = max(0, self.configuration.settings.lifetimeMillis - (now.wallMillis - joinedMillis))
        let ends = now.steadyMillis + left
        guard isNew || ends > self.slots[slot].lifeEndsMillis, self.slots[slot].life != .ended else { return }
        self.slots[slot].lifeEndsMillis = ends
        self.slots[slot].lastTouchedWallMillis = joinedMillis
    }
    /// Begins a life with a card of its own. Nothing known of the previous card holds for it except the budget, which
    /// is the device's.
    mutating func beginNewLife(_ slot: SlotID) {
        self.clearToken(of: slot)
        self.slots[slot].life = .awaiting
        self.slots[slot].awaitsTokenOfStart = false
        self.slots[slot].lastAcceptedSeconds = .min
        // Stamps of an audience tell its versions apart in all its lives.
        if self.slots[slot].kind != .audience { self.slots[slot].lastStampSeconds = 0 }
    }

    /// Takes a start, update or end into the life.
    /// - Parameter isExpired: whether it will not be sent, so that it does not end anything.
    /// - Returns: why the event has no place in this life; `nil`: it has one.
    @inline(__always) mutating func enterLife(
        _ kind: EventKind, isExpired: Bool, of slot: SlotID
    ) -> (outcome: Outcome, cause: OutcomeDetails.Cause)? {
        switch (kind, self.slots[slot].life) {
        case (.update, .ending), (.update, .ended), (.end, .ending), (.end, .ended):
            return (.late, .afterEnd)
        case (.start, .alive) where self.slots[slot].kind == .audience:
            // The activity is known, and has not been started.
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

    /// Notes that APNs took the update.
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

    /// Notes that a start did not happen and will not, or that nobody knows (`unknown`).
    /// - Parameter timestampSeconds: the time of its newest content.
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

    /// Goes on with the card after an end that never reached the device.
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

    /// Whether some partition that asked has not been sent a version of the audience.
    @inline(__always) func hasOpenVersion(_ slot: SlotID) -> Bool {
        self.slots[slot].kind == .audience && self.owners[slot].openCount > 0
    }
    /// Notes that every partition has the audience's end. It is remembered for the retention from now on.
    mutating func noteEndTold(_ slot: SlotID, now: EngineTime) {
        guard self.slots[slot].life == .ended else { return }
        self.slots[slot].lastTouchedWallMillis = now.wallMillis
        self.slots[slot].lifeEndsMillis = now.steadyMillis + self.app(of: slot).retentionAfterEndMillis
    }
    /// Delays the end of a life that is over, because something else has to be done first.
    /// - Parameter millis: how soon it is looked at again.
    mutating func prolongLife(_ slot: SlotID, millis: Int64 = 1_000, now: EngineTime) {
        self.slots[slot].lifeEndsMillis = now.steadyMillis + millis
    }

    /// Keeps the slot from leaving: something arrived for it.
    @inline(__always) mutating func stay(_ slot: SlotID) { self.slots[slot].isLeaving = false }

    /// Begins to leave: nothing more becomes of the slot. Its next state record is a tombstone, unless an event arrives
    /// first.
    mutating func beginLeaving(_ slot: SlotID) { self.slots[slot].isLeaving = true }

    // MARK: Device token

    /// Takes the newest token of the slot. One that is registered again is taken to be usable.
    /// - Parameters:
    ///   - hasMoved: whether it is of another environment than the previous one.
    ///   - recordMillis: when it was registered, milliseconds since 1970.
    /// - Returns: whether it differs from the previous one.
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

    /// Removes the token that the app has unregistered.
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

    /// Notes that APNs has refused the token.
    mutating func noteRefusedToken(_ slot: SlotID, standing: TokenStanding, now: EngineTime) {
        self.slots[slot].tokenStanding = standing
        self.slots[slot].tokenMissingSinceMillis = now.steadyMillis
    }

    /// Notes that the channel is kept for an audience.
    /// - Parameter audience: empty: the audience has not arrived yet.
    mutating func noteKept(_ slot: SlotID, for audience: [UInt8], now: EngineTime) {
        self.keptFor[slot] = audience
        self.noteRefusedToken(slot, standing: .kept, now: now)
    }

    /// Trusts a refused token again for the next update: the refusal may have been a fault of ours.
    mutating func trustToken(of slot: SlotID) { self.slots[slot].tokenStanding = .usable }

    /// Notes whether the app has the larger budget for this activity.
    mutating func setFrequentUpdates(_ isFrequent: Bool, of slot: SlotID) {
        self.slots[slot].frequentUpdates = isFrequent
    }

    /// Notes that the card has a token, so it is on a phone.
    mutating func noteAlive(_ slot: SlotID) {
        if self.slots[slot].life == .awaiting || self.slots[slot].life == .started { self.slots[slot].life = .alive }
    }
}

import PushModel

/// The phase of an activity's life (contract: Life cycle), and how pushes and events change it.
extension ShardMemory {
    /// Begins the slot's lifetime (`lifetimeMillis`) again, because an event arrived.
    @inline(__always) mutating func touch(_ slot: SlotID, now: EngineTime) {
        self.slots[slot].lastTouchedWallMillis = now.wallMillis
        self.slots[slot].lifeEndsMillis = now.steadyMillis + self.configuration.settings.lifetimeMillis
    }

    /// Keeps an audience for `lifetimeMillis` from the time at which members joined.
    /// - Parameter isNew: whether nothing else is known of the audience.
    mutating func touch(_ slot: SlotID, joinedSeconds: Int64, isNew: Bool, now: EngineTime) {
        let joinedMillis = min(joinedSeconds * 1_000, now.wallMillis)
        let left = max(0, self.configuration.settings.lifetimeMillis - (now.wallMillis - joinedMillis))
        let ends = now.steadyMillis + left
        guard isNew || ends > self.slots[slot].lifeEndsMillis, self.slots[slot].life != .ended else { return }
        self.slots[slot].lifeEndsMillis = ends
        self.slots[slot].lastTouchedWallMillis = joinedMillis
    }
    /// Begins a life with a card of its own. What the slot knows of the previous card does not apply to the new card.
    /// The budget continues, because it is the device's.
    mutating func beginNewLife(_ slot: SlotID) {
        self.clearToken(of: slot)
        self.slots[slot].life = .awaiting
        self.slots[slot].awaitsTokenOfStart = false
        self.slots[slot].lastAcceptedSeconds = .min
        // An audience keeps its stamps, because they distinguish its versions across all its lives.
        if self.slots[slot].kind != .audience { self.slots[slot].lastStampSeconds = 0 }
    }

    /// Applies a start, update or end to the life.
    /// - Parameter isExpired: whether the event has expired, so that it will not be sent and ends nothing.
    /// - Returns: why the event cannot belong to this life; `nil`: it can.
    @inline(__always) mutating func enterLife(
        _ kind: EventKind, isExpired: Bool, of slot: SlotID
    ) -> (outcome: Outcome, cause: OutcomeDetails.Cause)? {
        switch (kind, self.slots[slot].life) {
        case (.update, .ending), (.update, .ended), (.end, .ending), (.end, .ended):
            return (.late, .afterEnd)
        case (.start, .alive) where self.slots[slot].kind == .audience:
            // The audience is known from updates or joins, and has not been started.
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

    /// Remembers that APNs took the update.
    @inline(__always) mutating func rememberAccepted(_ update: UpdateID, of slot: SlotID, now: EngineTime) {
        self.slots[slot].earlierDeaths = 0
        self.slots[slot].lastAcceptedSeconds = max(
            self.slots[slot].lastAcceptedSeconds, self.updates[update].top.timestampSeconds)
        if self.slots[slot].tokenStanding != .proven { self.rememberAcceptedToken(update, of: slot) }
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

    /// Remembers a start that did not happen, or whose result is unknown (`unknown`).
    /// - Parameter timestampSeconds: the time of the newest event in the start's update; used only for `unknown`.
    mutating func rememberFailedStart(_ slot: SlotID, outcome: Outcome, timestampSeconds: Int64) {
        let mayHaveHappened = outcome == .unknown
        if mayHaveHappened {
            self.slots[slot].awaitsTokenOfStart = !self.slots[slot].hasToken
            // The card, if there is one, must not go back to something older.
            self.slots[slot].lastAcceptedSeconds = max(self.slots[slot].lastAcceptedSeconds, timestampSeconds)
        }
        guard self.slots[slot].life == .starting else { return }
        self.slots[slot].life = mayHaveHappened ? .started : self.slots[slot].hasToken ? .alive : .awaiting
    }

    /// Continues with the card after an end that never reached the device.
    mutating func reviveAfterFailedEnd(_ slot: SlotID) {
        guard self.slots[slot].life == .ending else { return }
        // A start of an audience may still be waiting beneath the end.
        guard self.slots[slot].kind != .audience || !self.owners[slot].hasWaitingStart else {
            return self.slots[slot].life = .starting
        }
        let isStarted = self.slots[slot].awaitsTokenOfStart
        let isAlive = self.slots[slot].hasToken && !(isStarted && self.slots[slot].kind == .audience)
        self.slots[slot].life = isAlive ? .alive : isStarted ? .started : .awaiting
    }

    /// Whether the event of some version of the audience has no outcome yet.
    @inline(__always) func hasOpenVersion(_ slot: SlotID) -> Bool {
        self.slots[slot].kind == .audience && self.owners[slot].openCount > 0
    }
    /// Starts the retention of an ended audience, because every partition has the version that ends it.
    mutating func rememberEnd(_ slot: SlotID, now: EngineTime) {
        guard self.slots[slot].life == .ended else { return }
        self.slots[slot].lastTouchedWallMillis = now.wallMillis
        self.slots[slot].lifeEndsMillis = now.steadyMillis + self.app(of: slot).retentionAfterEndMillis
    }
    /// Delays the end of a life that is over, because something else has to be done first.
    /// - Parameter millis: time until the slot is looked at again.
    mutating func prolongLife(_ slot: SlotID, millis: Int64 = 1_000, now: EngineTime) {
        self.slots[slot].lifeEndsMillis = now.steadyMillis + millis
    }

    /// Keeps the slot in memory, because something arrived for it.
    @inline(__always) mutating func stay(_ slot: SlotID) { self.slots[slot].isLeaving = false }

    /// Begins to forget the slot. Its next state record is a tombstone, unless an event arrives first.
    mutating func beginLeaving(_ slot: SlotID) { self.slots[slot].isLeaving = true }

    // MARK: Device token

    /// Takes the newest token of the slot. A token that is registered again counts as usable.
    /// - Parameters:
    ///   - hasMoved: whether the slot was in another environment before.
    ///   - recordMillis: when the token was registered, milliseconds since 1970.
    /// - Returns: whether the token is new: the slot had another token, or none.
    mutating func takeToken(_ token: Span<UInt8>, of slot: SlotID, hasMoved: Bool, recordMillis: Int64) -> Bool {
        let isNew = !self.slots.hasToken(token, slot)
        let isProven = !hasMoved && (isNew ? self.isFormerToken(token, of: slot) : self.hasProvenToken(slot))
        self.tokenComes(of: slot, isNew: isNew, isKept: isNew && isProven, hasMoved: hasMoved)
        self.slots[slot].awaitsTokenOfStart = false
        self.slots[slot].registeredWallMillis = recordMillis
        self.slots[slot].earlierDeaths = 0
        self.slots[slot].tokenStanding = isProven ? .proven : .usable
        self.slots[slot].couldBeReached = true
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

    /// Remembers that APNs has refused the token.
    mutating func rememberRefusedToken(_ slot: SlotID, standing: TokenStanding, now: EngineTime) {
        self.slots[slot].tokenStanding = standing
        self.slots[slot].tokenMissingSinceMillis = now.steadyMillis
    }

    /// Remembers that the channel is kept for an audience.
    /// - Parameter audience: the audience's id; empty: no event of the audience has arrived yet.
    mutating func rememberKept(_ slot: SlotID, for audience: [UInt8], now: EngineTime) {
        self.keptFor[slot] = audience
        self.rememberRefusedToken(slot, standing: .kept, now: now)
    }

    /// Lets the next push try a refused token or channel again.
    mutating func trustToken(of slot: SlotID) { self.slots[slot].tokenStanding = .usable }

    /// Lets the next push try a doubted token again. A token of another standing is left as it is.
    mutating func trustDoubtedToken(of slot: SlotID) {
        if self.slots[slot].tokenStanding == .doubted { self.trustToken(of: slot) }
    }

    /// Why an update that found no usable token in time is given up.
    func causeOfGivingUp(_ slot: SlotID) -> OutcomeDetails.Cause {
        guard self.slots[slot].hasToken else { return .noToken }
        switch self.slots[slot].tokenStanding {
        case .kept: return .channelKept
        case .doubted where self.slots[slot].kind == .activity: return .doubtedToken
        case .usable, .proven, .former, .doubted, .dead:
            return self.slots[slot].kind == .channel ? .channelGone : .deadToken
        }
    }

    /// Sets whether the app has the larger budget for this activity.
    mutating func setFrequentUpdates(_ isFrequent: Bool, of slot: SlotID) {
        self.slots[slot].frequentUpdates = isFrequent
    }

    /// Marks the slot as alive. An activity is alive when its card has a token, because the card is then on a phone.
    mutating func markAlive(_ slot: SlotID) {
        if self.slots[slot].life == .awaiting || self.slots[slot].life == .started { self.slots[slot].life = .alive }
    }
}

import PushModel

/// Decides which of the last two tokens of an activity is used (contract: Dead tokens).
extension ShardMemory {
    /// Whether APNs has accepted a push to the slot's token and has not refused the token since.
    func hasProvenToken(_ slot: SlotID) -> Bool {
        switch self.slots[slot].tokenStanding {
        case .proven, .former: self.slots[slot].hasToken
        case .usable, .doubted, .dead, .kept: false
        }
    }

    /// Whether the token is kept as the slot's previous one.
    func isFormerToken(_ token: Span<UInt8>, of slot: SlotID) -> Bool {
        guard let former = self.formerTokens[slot], former.role == .former else { return false }
        return former.bytes.span.holdsSameBytes(as: token)
    }

    /// The hash of the slot's token, if APNs has accepted pushes to it and the new token replaces it; `nil`: no such
    /// token is replaced.
    func hashOfLivingToken(of slot: SlotID, replacedBy token: Span<UInt8>) -> UInt64? {
        guard self.hasProvenToken(slot), !self.slots.hasToken(token, slot) else { return nil }
        // The slot is live, so its bytes are valid.
        let bytes = unsafe self.slots.tokenBytes(slot)
        return unsafe PushComposer.hash(ofToken: Span(_unsafeElements: bytes))
    }

    /// Registers a token. The replaced token is kept if APNs has accepted a push to it, or accepts the one that is in
    /// flight.
    /// - Parameters:
    ///   - isNew: whether the registered token differs from the slot's token.
    ///   - isKept: whether the registered token was kept as the slot's previous one.
    ///   - hasMoved: whether the registered token belongs to another environment, where the previous token would be
    ///     wrong.
    mutating func tokenComes(of slot: SlotID, isNew: Bool, isKept: Bool, hasMoved: Bool) {
        guard !hasMoved, !isKept else { return self.formerTokens.forget(slot) }
        guard isNew else {
            // If the slot uses its previous token, that token has been registered again, and is now the newest.
            if self.slots[slot].tokenStanding == .former { self.formerTokens.forget(slot) }
            return
        }
        guard self.slots[slot].hasToken else { return }
        switch self.slots[slot].tokenStanding {
        case .proven, .former: self.formerTokens.keep(self.otherToken(of: slot, as: .former), of: slot)
        case .usable:
            // APNs has accepted no push to the replaced token yet. If an older token is kept, it stays.
            if self.isUnderWay(slot) {
                self.formerTokens.keepOnceAccepted(self.otherToken(of: slot, as: .former), of: slot)
            }
        case .doubted, .dead, .kept: self.formerTokens.forget(slot)
        }
    }

    /// Whether a push to the slot's token has no answer yet.
    private func isUnderWay(_ slot: SlotID) -> Bool {
        let update = self.slots[slot].inFlight
        return update.isSome && !self.updates[update].isStart
            && self.updates[update].tokenGeneration == self.slots[slot].tokenGeneration
    }

    /// A copy of the slot's token, to be kept while another token takes its place in the slot.
    private func otherToken(of slot: SlotID, as role: FormerToken.Role) -> FormerToken {
        // The bytes are valid because the slot is live, and are copied.
        let bytes = unsafe Array(self.slots.tokenBytes(slot))
        return FormerToken(
            role: role, bytes: bytes, generation: self.slots[slot].tokenGeneration,
            registeredWallMillis: self.slots[slot].registeredWallMillis,
            earlierDeaths: self.slots[slot].earlierDeaths)
    }

    /// Remembers that APNs accepted the update, which proves the update's token. If the slot still uses that token, no
    /// other token need be kept.
    mutating func rememberAcceptedToken(_ update: UpdateID, of slot: SlotID) {
        guard self.slots[slot].kind == .activity, !self.updates[update].isStart else { return }
        let generation = self.updates[update].tokenGeneration
        guard generation == self.slots[slot].tokenGeneration else {
            self.formerTokens.rememberAccepted(generation: generation, of: slot)
            // The update's token may have been registered again since. It is then the slot's newest token.
            let bytes = unsafe self.slots.tokenBytes(slot)
            guard self.isFormerToken(unsafe Span(_unsafeElements: bytes), of: slot) else { return }
            self.slots[slot].tokenStanding = .proven
            return self.formerTokens.forget(slot)
        }
        switch self.slots[slot].tokenStanding {
        case .usable: self.slots[slot].tokenStanding = .proven
        // APNs accepts the previous token, so its refusal of the newest token is now believed.
        case .former: if self.formerTokens[slot] != nil { self.counters.tokensDead += 1 }
        case .proven, .doubted, .dead, .kept: return
        }
        self.formerTokens.forget(slot)
    }

    /// Replaces the slot's refused token with the previous one, if the previous one is kept.
    /// - Parameter refusal: how certain the refusal is. If it is not certain, the refused token is kept until APNs has
    ///   accepted a push to the previous one.
    /// - Returns: whether the token was replaced.
    mutating func fallBackToFormerToken(of slot: SlotID, after refusal: TokenRefusal) -> Bool {
        guard let former = self.formerTokens[slot], former.role == .former else { return false }
        switch refusal {
        case .dead: self.formerTokens.forget(slot)
        case .doubted:
            self.formerTokens.keep(self.otherToken(of: slot, as: .newest(isDoubted: true)), of: slot)
        case .earlier:
            self.slots[slot].earlierDeaths += 1
            self.formerTokens.keep(self.otherToken(of: slot, as: .newest(isDoubted: false)), of: slot)
        }
        self.setToken(former, of: slot, standing: .former)
        return true
    }

    /// Returns to the newest token, because APNs has refused the previous one, too. This happens only if the newest
    /// token's own refusal was not certain.
    /// - Parameter refusal: how certain the refusal of the previous token is. `earlier` changes nothing: the token may
    ///   have died before it was registered again.
    /// - Returns: the newest token's standing now; `nil`: there is none to return to.
    mutating func returnToNewestToken(of slot: SlotID, after refusal: TokenRefusal, now: EngineTime) -> TokenStanding? {
        guard refusal != .earlier, let newest = self.formerTokens[slot], case .newest(let isDoubted) = newest.role
        else { return nil }
        self.formerTokens.forget(slot)
        let standing: TokenStanding = isDoubted ? .doubted : .usable
        self.setToken(newest, of: slot, standing: standing)
        self.slots[slot].tokenMissingSinceMillis = now.steadyMillis
        return standing
    }

    private mutating func setToken(_ token: FormerToken, of slot: SlotID, standing: TokenStanding) {
        self.slots.setToken(token.bytes.span, of: slot)
        self.slots[slot].registeredWallMillis = token.registeredWallMillis
        self.slots[slot].earlierDeaths = token.earlierDeaths
        self.slots[slot].tokenStanding = standing
    }
}

/// How the engine treats APNs' verdict that a token is dead.
enum TokenRefusal {
    /// The verdict is believed.
    case dead
    /// The verdict may be a fault of ours (`TokenRemovalGuard`).
    case doubted
    /// APNs says that the token died before it was registered.
    case earlier
}

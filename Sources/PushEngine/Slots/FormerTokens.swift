/// The second token of an activity that has two to choose from.
struct FormerToken {
    enum Role: Equatable {
        /// The last token to which APNs has accepted a push. The slot has the newest token, to which APNs has accepted
        /// no push yet.
        case former
        /// The newest token. The slot has the previous token, which has not been tried again yet. APNs refused the
        /// newest token, but may have been wrong.
        /// - Parameter isDoubted: whether the removal guard kept the token. If not, APNs said that the token died
        ///   before it was registered.
        case newest(isDoubted: Bool)
    }

    var role: Role
    /// The raw token.
    var bytes: [UInt8]
    /// The token's generation in its slot.
    var generation: UInt32
    /// The value of `Slot.registeredWallMillis` for this token.
    var registeredWallMillis: Int64
    var earlierDeaths: UInt8
}

/// The second tokens of activities: mostly the token before the newest, until APNs has said something about the newest
/// (contract: Dead tokens). Few slots have a second token, and only for a short time, so these tokens are kept outside
/// the slots.
///
/// An app may report a token that is dead on arrival. Without the previous token the card would not change until the
/// app reports another. These tokens are not stored in `state`: a restart forgets them.
struct FormerTokens: ~Copyable {
    /// Maximum number of second tokens that a shard keeps. At the limit a previous token is not kept, so a refusal of
    /// the newest token is final.
    static let countMax = 16_384

    private var tokens: [SlotID: FormerToken] = [:] { didSet { self.isEmpty = self.tokens.isEmpty } }
    /// Whether `tokens` is empty, as it nearly always is. The value is read for each record of `state`.
    private(set) var isEmpty = true
    /// Tokens that were replaced while their first push was in flight. The answer to that push decides whether they are
    /// kept.
    private var untried: [SlotID: FormerToken] = [:]

    var count: Int { self.tokens.count + self.untried.count }

    subscript(_ slot: SlotID) -> FormerToken? {
        // The check comes first, because the dictionary is nearly always empty.
        self.tokens.isEmpty ? nil : self.tokens[slot]
    }

    /// The slot's newest token, if it is set aside while the previous one is tried.
    func newest(of slot: SlotID) -> FormerToken? {
        guard let token = self[slot], token.role != .former else { return nil }
        return token
    }

    /// Keeps a token for the slot, instead of the one kept before. If the shard already keeps `countMax` tokens, a slot
    /// without a kept token gets none.
    mutating func keep(_ token: FormerToken, of slot: SlotID) {
        guard self.tokens[slot] != nil || self.count < Self.countMax else { return }
        self.tokens[slot] = token
    }

    /// Keeps a token as soon as APNs accepts the token's push, which is in flight.
    mutating func keepOnceAccepted(_ token: FormerToken, of slot: SlotID) {
        guard self.untried[slot] != nil || self.count < Self.countMax else { return }
        self.untried[slot] = token
    }

    /// Keeps an older token of the slot, because APNs has accepted a push to it.
    mutating func rememberAccepted(generation: UInt32, of slot: SlotID) {
        guard !self.untried.isEmpty, let token = self.untried[slot], token.generation == generation else { return }
        self.untried[slot] = nil
        self.tokens[slot] = token
    }

    /// Remembers that APNs has called an older token of the slot dead.
    /// - Parameter sinceMillis: when the token died, as APNs says. A kept token that was registered later stays kept.
    mutating func rememberRefused(generation: UInt32, sinceMillis: Int64?, of slot: SlotID) {
        if !self.untried.isEmpty, self.untried[slot]?.generation == generation { self.untried[slot] = nil }
        guard let token = self[slot], token.generation == generation,
            sinceMillis ?? .max >= token.registeredWallMillis
        else { return }
        self.tokens[slot] = nil
    }

    mutating func forget(_ slot: SlotID) {
        if !self.tokens.isEmpty { self.tokens[slot] = nil }
        if !self.untried.isEmpty { self.untried[slot] = nil }
    }
}

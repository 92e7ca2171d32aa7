/// The other token of an activity that has two to choose from.
struct FormerToken {
    enum Role: Equatable {
        /// The slot has the newest token, for which APNs has accepted nothing. This is the last one for which it has.
        case former
        /// The slot has the one before, which has not been tried again. This is the newest, whose refusal may not have been about it.
        /// - Parameter isDoubted: the removal guard stopped it. Otherwise it is said to have died before it was registered.
        case newest(isDoubted: Bool)
    }

    var role: Role
    /// Raw.
    var bytes: [UInt8]
    /// Which of the slot's tokens it was.
    var generation: UInt32
    /// What the slot says of its own token.
    var registeredWallMillis: Int64
    var earlierDeaths: UInt8
}

/// The tokens before the newest, while nothing is known of the newest (contract: Dead tokens). Few slots have one, and for a short time, so they
/// lie beside the slots.
///
/// An app may report a token that is dead on arrival. Without the one before the card would stand still until it reports another. Nothing of
/// this lies in `state`: a restart forgets it.
struct FormerTokens: ~Copyable {
    /// A shard keeps so many. Beyond these the one before is not kept, and a refusal of the newest is the last word.
    static let countMax = 16_384

    private var tokens: [SlotID: FormerToken] = [:] { didSet { self.isEmpty = self.tokens.isEmpty } }
    /// No slot has one, as most of the time. Asked for each record of `state`.
    private(set) var isEmpty = true
    /// Replaced while their first push was under way: its answer decides whether they are kept.
    private var untried: [SlotID: FormerToken] = [:]

    var count: Int { self.tokens.count + self.untried.count }

    subscript(_ slot: SlotID) -> FormerToken? {
        // Most of the time there is none at all.
        self.tokens.isEmpty ? nil : self.tokens[slot]
    }

    /// The slot's newest token, if it is set aside while the one before is tried.
    func newest(of slot: SlotID) -> FormerToken? {
        guard let token = self[slot], token.role != .former else { return nil }
        return token
    }

    /// Takes the place of what is kept for the slot.
    mutating func keep(_ token: FormerToken, of slot: SlotID) {
        guard self.tokens[slot] != nil || self.count < Self.countMax else { return }
        self.tokens[slot] = token
    }

    /// Keeps it once APNs has accepted the push that is under way to it.
    mutating func keepOnceAccepted(_ token: FormerToken, of slot: SlotID) {
        guard self.untried[slot] != nil || self.count < Self.countMax else { return }
        self.untried[slot] = token
    }

    /// APNs has accepted a push to an older token of the slot.
    mutating func noteAccepted(generation: UInt32, of slot: SlotID) {
        guard !self.untried.isEmpty, let token = self.untried[slot], token.generation == generation else { return }
        self.untried[slot] = nil
        self.tokens[slot] = token
    }

    /// APNs has said that an older token of the slot is dead.
    /// - Parameter sinceMillis: since when; before its registration it says nothing.
    mutating func noteRefused(generation: UInt32, sinceMillis: Int64?, of slot: SlotID) {
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

public import APNSProtocol

/// One life of an audience, for which a channel is kept.
public struct KeptOwner: Hashable, Sendable {
    /// The audience's id, UTF-8.
    public var audience: [UInt8]
    /// Which of its lives: seconds since 1970, as `state` has it.
    public var life: Int64

    public init(audience: [UInt8], life: Int64) {
        self.audience = audience
        self.life = life
    }
}

/// What `state` knows about one channel, from the wish for it until Apple's list no longer shows it. Each record is one channel: an audience
/// gets a warm one by a single write, and its next life has a record of its own while the channel of the life before lingers.
public struct KeptChannel: Equatable, Sendable {
    /// How far it is. Times are told by `sinceMillis`.
    public enum Phase: UInt8, Sendable, CaseIterable {
        /// An audience has asked. No request has left, or those that left made nothing.
        case wanted = 1
        /// A creation is about to leave, has left, or was lost. `strangers` says what the list had before it.
        case asked
        /// Apple has made it. Without an owner it is a warm one.
        case open
        /// The audience's life is over; the channel lingers.
        case ended
        /// A deletion is about to leave, has left, or was lost.
        case deleting
        /// Apple has deleted it, or somebody else has. The id is kept until a list confirms that.
        case deleted
        /// Not known to be ours: a lost answer may have made it. It is shown, and nothing else is done with it.
        case possiblyOurs
    }

    /// Whom it is for; `nil`: nobody.
    public var owner: KeptOwner?
    /// What it keeps for phones that are away.
    public var policy: MessageStoragePolicy
    /// Its place in the life of a channel.
    public var phase: Phase
    /// When the phase began, wall milliseconds.
    public var sinceMillis: Int64
    /// The owner has been told what the phase has to say: `open` and `ended` the id, `deleted` that it is gone.
    public var isAnnounced = false
    /// As Apple spells it, ASCII. Empty in `wanted` and `asked`, and nowhere else.
    public var id: [UInt8] = []
    /// When Apple's answer came, wall milliseconds; 0 before that.
    public var openedMillis: Int64 = 0
    /// When its audience's life ended, wall milliseconds; `nil`: it has not.
    public var endedMillis: Int64?
    /// How many times of the schedule have been served after the end (`BeaconSchedule`).
    public var beaconsSent = 0
    /// What is broadcast again after the end: by the schedule where nothing is kept, else until Apple has taken it. The keeper does not read it;
    /// empty: nothing is.
    public var end: [UInt8] = []
    /// Hashes of the ids that the list had before the creation and that were not ours, in ascending order. Used in `asked`.
    public var strangers: [UInt64] = []

    public init(owner: KeptOwner?, policy: MessageStoragePolicy, phase: Phase, sinceMillis: Int64) {
        self.owner = owner
        self.policy = policy
        self.phase = phase
        self.sinceMillis = sinceMillis
    }

    /// Apple has made the channel, and nobody has asked to delete it.
    public var isRegistered: Bool {
        switch self.phase {
        case .open, .ended: true
        case .wanted, .asked, .deleting, .deleted, .possiblyOurs: false
        }
    }

    /// A channel that Apple has made and that waits for an audience.
    public var isWarm: Bool { self.phase == .open && self.owner == nil }

    mutating func enter(_ phase: Phase, wallMillis: Int64) {
        self.phase = phase
        self.sinceMillis = wallMillis
    }
}

extension KeptChannel {
    /// FNV-1a, 64 bits: how an id of somebody else's is remembered over a creation. 10,000 ids of the list meet by chance once in 10^11 lists.
    public static func hash(ofID id: [UInt8]) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in id { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        return hash
    }
}

public import APNSProtocol

/// One life of an audience, for which a channel is kept.
public struct KeptOwner: Hashable, Sendable {
    /// The audience's id, UTF-8.
    public var audience: [UInt8]
    /// The life's number: seconds since 1970, as in `state`.
    public var life: Int64

    public init(audience: [UInt8], life: Int64) {
        self.audience = audience
        self.life = life
    }
}

/// The record of one channel in `state`. It exists from the wish for the channel until Apple's list no longer shows the
/// channel. A single write gives a warm channel to an audience. The audience's next life has a record of its own, while
/// the channel of the former life lingers.
public struct KeptChannel: Equatable, Sendable {
    /// The phase of a channel. `sinceMillis` says when it began.
    public enum Phase: UInt8, Sendable, CaseIterable {
        /// An audience has asked for a channel. No creation has left, or those that left made nothing.
        case wanted = 1
        /// A creation is about to leave, has left, or was lost. `strangers` has hashes of the ids without a record in
        /// the list before the creation.
        case asked
        /// Apple has made the channel. Without an owner it is warm: it waits for an audience.
        case open
        /// The audience's life is over; the channel lingers.
        case ended
        /// A deletion is about to leave, has left, or was lost.
        case deleting
        /// Apple or somebody else has deleted the channel. The id is kept until a list confirms the deletion.
        case deleted
        /// The channel is not known to be ours. A creation whose answer was lost, or a second execution of an answered
        /// one, may have made it. It is shown, and neither used nor deleted.
        case possiblyOurs
    }

    /// The channel's owner; `nil` for none.
    public var owner: KeptOwner?
    /// What the channel stores for phones that are away.
    public var policy: MessageStoragePolicy
    /// The channel's phase.
    public var phase: Phase
    /// When the phase began, wall milliseconds.
    public var sinceMillis: Int64
    /// Whether the owner was informed of the phase: of the id in `open` and `ended`, of the deletion in `deleted`.
    public var isAnnounced = false
    /// The id as Apple spells it, ASCII. Empty in `wanted` and `asked` only.
    public var id: [UInt8] = []
    /// When Apple's answer arrived, wall milliseconds; 0 before.
    public var openedMillis: Int64 = 0
    /// When the life of the channel's audience ended, wall milliseconds; `nil` before.
    public var endedMillis: Int64?
    /// Number of scheduled beacons that have been served since the end (`BeaconSchedule`).
    public var beaconsSent = 0
    /// The `end` to broadcast again; empty for none. On a channel without storage, `BeaconSchedule` decides how often.
    /// On a channel with storage, it is sent until Apple has accepted it. The keeper does not interpret these bytes.
    public var end: [UInt8] = []
    /// Hashes of the ids without a record in the list before the creation, in ascending order. Used in `asked`.
    public var strangers: [UInt64] = []

    public init(owner: KeptOwner?, policy: MessageStoragePolicy, phase: Phase, sinceMillis: Int64) {
        self.owner = owner
        self.policy = policy
        self.phase = phase
        self.sinceMillis = sinceMillis
    }

    /// Whether Apple has made the channel, and nobody is known to have deleted it or requested its deletion.
    public var isRegistered: Bool {
        switch self.phase {
        case .open, .ended: true
        case .wanted, .asked, .deleting, .deleted, .possiblyOurs: false
        }
    }

    /// Whether Apple has made the channel, and it waits for an audience.
    public var isWarm: Bool { self.phase == .open && self.owner == nil }

    mutating func enter(_ phase: Phase, wallMillis: Int64) {
        self.phase = phase
        self.sinceMillis = wallMillis
    }
}

extension KeptChannel {
    /// Hash of an id of somebody else (FNV-1a, 64 bits), which is remembered during a creation. Among 10,000 ids there
    /// is a collision once in 10^11 lists.
    public static func hash(ofID id: [UInt8]) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in id { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        return hash
    }
}

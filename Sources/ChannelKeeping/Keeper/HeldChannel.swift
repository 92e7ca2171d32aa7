import APNSProtocol

/// A record of the keeper, and what is known about it beyond `state`.
struct HeldChannel {
    let number: Int64
    var channel: KeptChannel
    /// Whether the record must be written to `state`.
    var isDirty = false
    /// The unacknowledged write; the next waits for it.
    var write: UInt64?
    /// Whether the channel is leaving, or has left, `state`. It can no longer be found.
    var isLeaving = false
    /// Receipts that are resolved once `state` has the record. They are its audience's uncommitted messages, which the
    /// reader of `routed` limits.
    var receipts: [UInt64] = []

    /// News to announce before the record continues: a refusal, or that the channel has vanished.
    var news: KeeperNews?
    /// The unacknowledged announcement.
    var announcement: UInt64?

    /// A time whose meaning depends on the phase, steady milliseconds. In `ended`: the end's time by a clock that never
    /// steps. In `deleted`: when the channel was certainly gone.
    var anchorMillis: Int64 = 0
    /// When the first list without the channel was requested, steady milliseconds.
    var absentSinceMillis: Int64?
    /// Whether a second list without the channel was requested so much later that no lag explains its absence.
    var isAbsentForGood = false
    /// When the audience's owner began to doubt that Apple has the channel, steady milliseconds; `nil` without a doubt.
    var doubtedMillis: Int64?
    var isBeaconInFlight = false
    /// No beacon leaves before this time, steady milliseconds.
    var beaconNotBeforeMillis = Int64.min

    init(number: Int64, channel: KeptChannel) {
        self.number = number
        self.channel = channel
    }

    /// Whether `state` says what `channel` says.
    var isDurable: Bool { !self.isDirty && self.write == nil && !self.isLeaving }

    /// The next news for the channel's owner.
    var unsentNews: KeeperNews? {
        if let news = self.news { return news }
        guard !self.channel.isAnnounced else { return nil }
        switch self.channel.phase {
        case .open, .ended: return .opened(id: self.channel.id)
        case .deleted: return .closed(id: self.channel.id)
        case .wanted, .asked, .deleting, .possiblyOurs: return nil
        }
    }
}

/// A record, and the time when something is due for it.
struct DueNumber: Comparable {
    /// Steady milliseconds.
    var millis: Int64
    var number: Int64

    static func < (one: Self, other: Self) -> Bool { (one.millis, one.number) < (other.millis, other.number) }
}

/// What a record waits for. The table indexes records by it, so that nobody has to search through all of them.
struct HeldDuties: Equatable {
    /// Whether the record's write can be requested.
    var isToBeWritten: Bool
    /// The record's phase; `nil` if it is leaving.
    var phase: KeptChannel.Phase?
    /// Whether something can be announced to the channel's owner.
    var isToBeAnnounced = false
    /// Whether an audience waits for the channel, and is not refused.
    var isWish = false
    /// Whether the channel waits for an audience. It can be given away once its record is durable.
    var isWarm = false
    var isWarmAndDurable = false
    /// Whether the channel's deletion can be requested.
    var isToBeDeleted = false
    /// The policy that separates wishes and warm channels.
    var policy: MessageStoragePolicy
    /// When the end must be broadcast again, and when the channel has lingered; on the steady clock.
    var beaconMillis: Int64?
    var lingeredMillis: Int64?

    init(_ held: HeldChannel, schedule: BeaconSchedule, beaconGraceMillis: Int64) {
        self.isToBeWritten = held.isDirty && held.write == nil
        self.policy = held.channel.policy
        guard !held.isLeaving else { return }
        let phase = held.channel.phase
        self.phase = phase
        self.isWarm = held.channel.isWarm
        guard held.isDurable else { return }
        self.isWarmAndDurable = self.isWarm
        self.isToBeAnnounced = held.announcement == nil && held.channel.owner != nil && held.unsentNews != nil
        self.isWish = phase == .wanted && held.news == nil
        self.isToBeDeleted = phase == .deleting
        guard phase == .ended, !held.isBeaconInFlight else { return }
        let next = held.channel.end.isEmpty ? nil : schedule.offsetMillis(of: held.channel.beaconsSent)
        self.beaconMillis = next.map { max(held.anchorMillis + $0, held.beaconNotBeforeMillis) }
        // An end that cannot be sent delays the deletion for a while.
        self.lingeredMillis = held.anchorMillis + schedule.lingerMillis + (next == nil ? 0 : beaconGraceMillis)
    }
}

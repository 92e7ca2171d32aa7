import APNSProtocol

/// The record of one channel, and what the keeper knows about it beyond `state`.
struct HeldChannel {
    let number: Int64
    var channel: KeptChannel
    /// Whether the record must be written to `state`.
    var isDirty = false
    /// The number of the unacknowledged write; `nil` for none. The record's next write waits for it.
    var write: UInt64?
    /// Whether the record is leaving `state`: its tombstone is being written. It can no longer be found by audience, id
    /// or phase.
    var isLeaving = false
    /// Receipts of the audience's messages. They are resolved once `state` has the record. The reader of `routed`
    /// limits the number of unresolved ones.
    var receipts: [UInt64] = []

    /// News to announce before the record's phase changes: a refusal, or that the channel has vanished.
    var news: KeeperNews?
    /// The number of the unacknowledged announcement; `nil` for none.
    var announcement: UInt64?

    /// A time whose meaning depends on the phase, steady milliseconds. In `ended`: when the audience's life ended. In
    /// `deleted`: a time at which the channel was certainly gone.
    var anchorMillis: Int64 = 0
    /// When the first list without the channel was requested, steady milliseconds; `nil` if the last list shows it.
    var absentSinceMillis: Int64?
    /// Whether a later list lacks the channel, too, and was requested at least `settleMillis` after the first. A lag of
    /// the list can then no longer explain the absence.
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

/// The number of a record, and the time when something is due for it.
struct DueNumber: Comparable {
    /// When something is due, steady milliseconds.
    var millis: Int64
    var number: Int64

    static func < (one: Self, other: Self) -> Bool { (one.millis, one.number) < (other.millis, other.number) }
}

/// The things that a record waits for. `KeptTable` indexes records by them, so that no search goes through all records.
struct HeldDuties: Equatable {
    /// Whether the record's write can be requested.
    var isToBeWritten: Bool
    /// The record's phase; `nil` if it is leaving.
    var phase: KeptChannel.Phase?
    /// Whether something can be announced to the channel's owner.
    var isToBeAnnounced = false
    /// Whether an audience waits for the channel and has not been refused.
    var isWish = false
    /// Whether the channel waits for an audience. It can be given away once its record is durable.
    var isWarm = false
    var isWarmAndDurable = false
    /// Whether the channel's deletion can be requested.
    var isToBeDeleted = false
    /// The storage policy. A wish is served only by a warm channel with this policy.
    var policy: MessageStoragePolicy
    /// When the end must be broadcast again, steady milliseconds; `nil` for never.
    var beaconMillis: Int64?
    /// When the channel has lingered and must be deleted, steady milliseconds; `nil` if it does not linger.
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
        // An end that still has to be sent delays the deletion by `beaconGraceMillis`.
        self.lingeredMillis = held.anchorMillis + schedule.lingerMillis + (next == nil ? 0 : beaconGraceMillis)
    }
}

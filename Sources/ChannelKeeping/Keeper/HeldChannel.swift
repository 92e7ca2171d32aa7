import APNSProtocol

/// A record of the keeper, and what is known about it beside what `state` says.
struct HeldChannel {
    let number: Int64
    var channel: KeptChannel
    /// `state` has to be told.
    var isDirty = false
    /// The write that is not acknowledged; the next waits for it.
    var write: UInt64?
    /// Whether the channel leaves, or has left, `state`. Nobody finds it now.
    var isLeaving = false
    /// What is resolved once `state` has it. As many as its audience's messages that are not committed, which the reader of `routed` bounds.
    var receipts: [UInt64] = []

    /// To be told before it goes on: a refusal, or that it has vanished.
    var news: KeeperNews?
    /// The announcement that is not acknowledged.
    var announcement: UInt64?

    /// Steady milliseconds. In `ended`: when it would have ended by a clock that never steps. In `deleted`: since when it is gone for sure.
    var anchorMillis: Int64 = 0
    /// When the first list was asked for that did not show it, steady milliseconds.
    var absentSinceMillis: Int64?
    /// A second one did not, and was asked for so much later that no lag explains it.
    var isAbsentForGood = false
    /// Since when its audience's owner doubts that Apple has it, steady milliseconds; `nil`: nobody does.
    var doubtedMillis: Int64?
    var isBeaconInFlight = false
    /// No beacon before this, steady milliseconds.
    var beaconNotBeforeMillis = Int64.min

    init(number: Int64, channel: KeptChannel) {
        self.number = number
        self.channel = channel
    }

    /// `state` says what `channel` says.
    var isDurable: Bool { !self.isDirty && self.write == nil && !self.isLeaving }

    /// What its owner is to be told next.
    var newsToTell: KeeperNews? {
        if let news = self.news { return news }
        guard !self.channel.isAnnounced else { return nil }
        switch self.channel.phase {
        case .open, .ended: return .opened(id: self.channel.id)
        case .deleted: return .closed(id: self.channel.id)
        case .wanted, .asked, .deleting, .possiblyOurs: return nil
        }
    }
}

/// When something is to be done about a record.
struct DueNumber: Comparable {
    /// Steady.
    var millis: Int64
    var number: Int64

    static func < (one: Self, other: Self) -> Bool { (one.millis, one.number) < (other.millis, other.number) }
}

/// What a record waits for, so that nobody has to look through all records for those that do.
struct HeldDuties: Equatable {
    /// Its write can be asked for.
    var isToBeWritten: Bool
    /// `nil`: it is leaving.
    var phase: KeptChannel.Phase?
    /// Its owner can be told something.
    var isToBeAnnounced = false
    /// An audience waits for it, and is not refused.
    var isWish = false
    /// It waits for an audience; one that is durable can be given away.
    var isWarm = false
    var isWarmAndDurable = false
    /// Its deletion can be asked for.
    var isToBeDeleted = false
    /// What `isWish`, `isWarm` and `isWarmAndDurable` are told apart by.
    var policy: MessageStoragePolicy
    /// When its end is to be broadcast again, and when it has lingered; steady.
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
        self.isToBeAnnounced = held.announcement == nil && held.channel.owner != nil && held.newsToTell != nil
        self.isWish = phase == .wanted && held.news == nil
        self.isToBeDeleted = phase == .deleting
        guard phase == .ended, !held.isBeaconInFlight else { return }
        let next = held.channel.end.isEmpty ? nil : schedule.offsetMillis(of: held.channel.beaconsSent)
        self.beaconMillis = next.map { max(held.anchorMillis + $0, held.beaconNotBeforeMillis) }
        // One that cannot be sent holds up the deletion for a while.
        self.lingeredMillis = held.anchorMillis + schedule.lingerMillis + (next == nil ? 0 : beaconGraceMillis)
    }
}

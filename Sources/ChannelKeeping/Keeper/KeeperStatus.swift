/// What a keeper has counted since it began.
public struct KeeperCounters: Equatable, Sendable {
    /// Channels Apple has made for it.
    public var created = 0
    /// Creations without an answer, those that an owner before left behind included.
    public var answersLost = 0
    /// Ids adopted after a lost answer.
    public var adopted = 0
    /// Ids shown as possibly ours after a lost answer.
    public var shown = 0
    /// Ids that were not, as `shownMax` are.
    public var shownBeyondMax = 0
    /// Channels of ours that are deleted.
    public var deleted = 0
    /// Wishes that were refused.
    public var refused = 0
    /// Ends that were broadcast again.
    public var beacons = 0
    /// Channels of ours that somebody else has deleted.
    public var vanished = 0

    /// Nothing counted.
    public init() {}
}

/// What the last list said.
struct ListingStanding {
    /// When it was asked for, steady milliseconds.
    var askedMillis: Int64
    /// Ids in it, and ours that it does not show yet.
    var count: Int
    /// Ids of others, at most `shownMax` of them.
    var unknown: [[UInt8]]
    var unknownCount: Int
}

/// State of a keeper, for metrics and questions.
public struct KeeperStatus: Equatable, Sendable {
    /// An id that a lost answer may have made.
    public struct PossiblyOurs: Equatable, Sendable {
        /// As Apple spells it.
        public var id: [UInt8]
        /// Wall milliseconds.
        public var sinceMillis: Int64
    }
    /// Number of channels on Apple's list, others' included; `nil`: no list yet.
    public var count: Int?
    /// What `count` is measured by.
    public var quota: ChannelQuota
    /// Records in `state`, those on their way out included.
    public var recordCount: Int
    /// Wishes, and creations that are under way.
    public var waitingCount: Int
    /// Channels that wait for an audience.
    public var warmCount: Int
    /// With an audience that lives.
    public var openCount: Int
    /// With an audience whose life is over.
    public var lingeringCount: Int
    /// Shown since an answer was lost; at most `shownMax` of them.
    public var possiblyOurs: [PossiblyOurs]
    /// Others', at most `shownMax` of them.
    public var unknown: [[UInt8]]
    /// How many of others' there are.
    public var unknownCount: Int
}

extension ChannelKeeper {
    /// How it stands now.
    public var status: KeeperStatus {
        let warmCount = self.table.readyCount
        return KeeperStatus(
            count: self.listing?.count, quota: self.settings.quota, recordCount: self.table.count,
            waitingCount: self.table.count(in: .wanted) + self.table.count(in: .asked), warmCount: warmCount,
            openCount: self.table.count(in: .open) - warmCount, lingeringCount: self.table.count(in: .ended),
            possiblyOurs: self.table.numbers(in: .possiblyOurs).compactMap { number in
                self.table[number].map { .init(id: $0.channel.id, sinceMillis: $0.channel.sinceMillis) }
            },
            unknown: self.listing?.unknown ?? [], unknownCount: self.listing?.unknownCount ?? 0)
    }
}

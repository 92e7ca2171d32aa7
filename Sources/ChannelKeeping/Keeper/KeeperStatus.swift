/// Counts of a keeper since its start.
public struct KeeperCounters: Equatable, Sendable {
    /// Channels that Apple has made for the keeper.
    public var created = 0
    /// Creations whose result was unknown, including those of a former owner.
    public var answersLost = 0
    /// Ids adopted, because a lost answer or a second execution of a creation may have made them.
    public var adopted = 0
    /// Ids shown as possibly ours, because a lost answer or a second execution of a creation may have made them.
    public var shown = 0
    /// Ids that were not shown, because `shownMax` already were.
    public var shownBeyondMax = 0
    /// Channels of ours that were deleted.
    public var deleted = 0
    /// Wishes that were refused.
    public var refused = 0
    /// Ends that were broadcast again.
    public var beacons = 0
    /// Channels of ours that somebody else has deleted.
    public var vanished = 0

    /// Counters at zero.
    public init() {}
}

/// The result of the last list.
struct ListingStanding {
    /// When the list was requested, steady milliseconds.
    var askedMillis: Int64
    /// Number of ids in the list, plus the number of our channels that the list does not show yet.
    var count: Int
    /// Ids in the list that had no record when it arrived, at most `shownMax`.
    var unknown: [[UInt8]]
    var unknownCount: Int
}

/// State of a keeper, for metrics and status requests.
public struct KeeperStatus: Equatable, Sendable {
    /// A channel that a lost creation, or the second execution of an answered one, may have made.
    public struct PossiblyOurs: Equatable, Sendable {
        /// The id as Apple spells it.
        public var id: [UInt8]
        /// When the channel was first shown, wall milliseconds.
        public var sinceMillis: Int64
    }
    /// Number of channels of the app, including those of others; `nil` before Apple's first list.
    public var count: Int?
    /// The quota that limits `count`.
    public var quota: ChannelQuota
    /// Number of records in `state`, including those that are leaving.
    public var recordCount: Int
    /// Number of wishes and of unfinished creations.
    public var waitingCount: Int
    /// Number of channels that wait for an audience.
    public var warmCount: Int
    /// Number of channels whose audience's life has not ended.
    public var openCount: Int
    /// Number of channels whose audience's life is over, and that linger.
    public var lingeringCount: Int
    /// Channels shown as possibly ours, at most `shownMax`.
    public var possiblyOurs: [PossiblyOurs]
    /// Ids in the last list that had no record when it arrived, at most `shownMax`.
    public var unknown: [[UInt8]]
    /// Number of all ids in the last list that had no record when it arrived.
    public var unknownCount: Int
}

extension ChannelKeeper {
    /// The present state.
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

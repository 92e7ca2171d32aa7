public import APNSProtocol

/// The limits and times of a keeper.
public struct KeeperSettings: Equatable, Sendable {
    /// The maximum number of channels, and the numbers at which an alarm and refusals begin.
    public var quota = ChannelQuota()
    /// `channels.exclusive`: nobody else creates channels in this app, so an id that is new after a lost answer is
    /// ours.
    public var isExclusive = false
    /// Number of warm channels that wait for an audience.
    public var poolSize = 0
    /// The storage policy of a warm channel.
    public var poolPolicy = MessageStoragePolicy.none
    /// `channel.linger`: how long a channel stays after its audience's end, milliseconds.
    public var lingerMillis: Int64 = 8 * 3_600_000

    /// How long a minute of the beacon schedule takes, in milliseconds. `scale(toMinuteMillis:)` shortens it.
    public private(set) var minuteMillis: Int64 = 60_000

    /// Longest time from handing over a request until it is carried out, milliseconds. It includes the wait for a
    /// connection, and is the same for this keeper and the previous one.
    public var requestTimeoutMillis: Int64 = 35_000
    /// How old Apple's list may be when it arrives, milliseconds. This is an assumption: Apple documents no limit.
    public var listLagMillis: Int64 = 25_000
    /// How long the keeper waits after a lost answer before it requests a list, milliseconds. It is the longest
    /// duration of a request plus the list's lag. So the list shows what a delayed creation has made.
    public var settleMillis: Int64 { max(0, self.requestTimeoutMillis) + max(0, self.listLagMillis) }
    /// Longest time between two lists, milliseconds.
    public var listIntervalMillis: Int64 = 600_000

    /// Maximum number of records in `state`, including those that are leaving. A further wish is refused as `full`.
    public var keptMax = ChannelRequest.countMax
    /// Maximum number of wishes and unfinished creations together. A further wish is refused as `tooManyWaiting`.
    public var waitingMax = 1_000
    /// Maximum number of ids that are shown as possibly ours. Further ids are counted, and shown as unknown.
    public var shownMax = 256
    /// Maximum number of beacons without an answer. Others wait.
    public var beaconsInFlightMax = 16
    /// Time between two deletions, milliseconds.
    public var deleteSpacingMillis: Int64 = 1_000
    /// Time between two steps that repair differences between the list and `state`, milliseconds.
    public var reconcileSpacingMillis: Int64 = 10_000
    /// How long a beacon that cannot be sent delays the deletion, milliseconds.
    public var beaconGraceMillis: Int64 = 3_600_000
    /// How long every further wish is refused after Apple has refused for good or the quota is reached, milliseconds.
    public var holdMillis: Int64 = 300_000
    /// Upper bound of the first delay after 429 and 5xx, milliseconds. It doubles with each failure in a row.
    public var backoffMinMillis: Int64 = 1_000
    /// Longest delay after 429 and 5xx, milliseconds. Apple asks for 15 minutes after a 5xx, with back-off.
    public var backoffMaxMillis: Int64 = 900_000

    /// The defaults.
    public init() {}

    /// Shortens times in proportion to a shorter minute, for a demonstration. `lingerMillis`, `holdMillis` and the
    /// back-off stay.
    public mutating func scale(toMinuteMillis minuteMillis: Int64) {
        func scaled(_ millis: Int64) -> Int64 { max(1, millis * minuteMillis / self.minuteMillis) }
        self.requestTimeoutMillis = scaled(self.requestTimeoutMillis)
        self.listLagMillis = scaled(self.listLagMillis)
        self.listIntervalMillis = scaled(self.listIntervalMillis)
        self.deleteSpacingMillis = scaled(self.deleteSpacingMillis)
        self.reconcileSpacingMillis = scaled(self.reconcileSpacingMillis)
        self.beaconGraceMillis = scaled(self.beaconGraceMillis)
        self.minuteMillis = minuteMillis
    }
}

public import APNSProtocol

/// How a keeper behaves, and how much it takes on.
public struct KeeperSettings: Equatable, Sendable {
    /// How many channels there may be.
    public var quota = ChannelQuota()
    /// `channels.exclusive`: nobody else creates channels in this app, so an id that is new after a lost answer is ours.
    public var isExclusive = false
    /// Warm channels that wait for an audience.
    public var poolSize = 0
    /// What a warm channel keeps.
    public var poolPolicy = MessageStoragePolicy.none
    /// `channel.linger`: how long a channel stays after its audience's end, milliseconds.
    public var lingerMillis: Int64 = 8 * 3_600_000

    /// What counts as a minute between an end and its beacons, milliseconds. See `scale(toMinuteMillis:)`.
    public private(set) var minuteMillis: Int64 = 60_000

    /// No request of this keeper, or of one before it, is carried out later than this after it was handed over, milliseconds: what it may wait
    /// for a connection, and what it may take then.
    public var requestTimeoutMillis: Int64 = 35_000
    /// Apple's list may be that old when it is answered, milliseconds. Apple promises nothing.
    public var listLagMillis: Int64 = 25_000
    /// After a lost answer, and after a takeover, no list is asked for before this has passed, milliseconds. It is never less than a request may
    /// take, so that what a late creation has made is in the list.
    public var settleMillis: Int64 { max(0, self.requestTimeoutMillis) + max(0, self.listLagMillis) }
    /// The list is asked for at least so often, milliseconds.
    public var listIntervalMillis: Int64 = 600_000

    /// Records in `state`, those on their way out included. A wish beyond it is refused as `full`.
    public var keptMax = ChannelRequest.countMax
    /// Audiences that wait for a channel. A wish beyond it is refused as `tooManyWaiting`.
    public var waitingMax = 1_000
    /// Ids that are shown as possibly ours. Those beyond it are counted, and shown as unknown.
    public var shownMax = 256
    /// Beacons that have no answer yet. Others wait.
    public var beaconsInFlightMax = 16
    /// Between two deletions, milliseconds.
    public var deleteSpacingMillis: Int64 = 1_000
    /// Between two steps that mend what the list and `state` disagree on, milliseconds.
    public var reconcileSpacingMillis: Int64 = 10_000
    /// How long a beacon that cannot be sent holds up the deletion, milliseconds.
    public var beaconGraceMillis: Int64 = 3_600_000
    /// After a refusal for good every wish gets the same answer for so long, milliseconds.
    public var holdMillis: Int64 = 300_000
    /// The first delay after 429 and 5xx is at most this, milliseconds.
    public var backoffMinMillis: Int64 = 1_000
    /// No delay is longer, milliseconds. Apple asks for 15 minutes after a 5xx, with back-off.
    public var backoffMaxMillis: Int64 = 900_000

    /// The defaults.
    public init() {}

    /// For a demonstration: what is waited for, but for `lingerMillis`, takes as much less time as the minute is shorter.
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

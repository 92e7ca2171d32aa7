public import PushModel

/// What an operator, or whoever runs an engine, may choose. Limits are per shard. The values here are the product's defaults.
public struct EngineSettings: Equatable, Sendable {
    /// What is done about a record that its producer put on the wrong partition.
    public enum Placement: String, Sendable, CaseIterable { case check, trust }

    /// What is done about misplaced records.
    public var placement = Placement.check
    /// What producers' serializers may have put around an event.
    public var eventFraming = EventFraming.auto
    /// Which outcomes are written to the topic `outcomes`.
    public var outcomePublication = OutcomePublication.pushes
    /// Slots that may hold something to send. Past it partitions are not read.
    public var pendingMax = 200_000
    /// Slots in memory, idle ones included. Past it partitions are not read.
    public var activitiesMax = 2_000_000
    /// Members of audiences in memory. Past it the joins of others are dead-lettered.
    public var membersMax = 10_000_000
    /// Records waiting for Kafka's acknowledgement. Past it partitions are not read and nothing new is sent.
    public var unacknowledgedMax = 50_000
    /// An activity lives this long after its start or last update (Apple: 8 h active, 4 h shown).
    public var lifetimeMillis: Int64 = 12 * 3_600_000
    /// A pending update held longer than this is written to `state`; the same is the least time between two such writes of a slot.
    public var pendingDurableAfterMillis: Int64 = 1_000
    /// State records of one turn are gathered this long.
    public var stateFlushMillis: Int64 = 50
    /// Low priority is taken as if it had become ready this much later.
    public var agingMillis: Int64 = 2_000
    /// The ownership marker is written again this often, so that a record of somebody who has lost the partition is noticed. Well below
    /// the compaction lag of `state` (30 min).
    public var markerRefreshMillis: Int64 = 300_000
    /// After a takeover nothing is pushed before what lay in the log has been read, for so long at most: of what an owner before may have
    /// sent unrecorded the newest is known then, and no phone goes back to something older.
    public var catchUpMaxMillis: Int64 = 10_000
    /// How long a push waits after its first failed attempt, doubled from attempt to attempt; half of the wait is drawn
    /// at random.
    public var retryBackoffMinMillis: Int64 = 1_000
    /// The longest such wait. Only a `retry-after` of APNs can make it longer, up to an hour.
    public var retryBackoffMaxMillis: Int64 = 60_000
    /// The longest wait of a push that was refused for a fault of its route and not its own.
    public var routeBackoffMaxMillis: Int64 = 4_000

    /// A request that has left for APNs has an answer by then, or nobody knows what became of it, milliseconds.
    public var requestTimeoutMillis: Int64 = 20_000

    /// What counts as a minute where channels of audiences wait for minutes, milliseconds. Less in a demonstration alone: with it shrinks the time
    /// in which a lost creation may still come to light.
    public var channelMinuteMillis: Int64 = 60_000

    /// Channels with something to send that may wait for their keeper's word whether they are kept for an audience: twice as many as APNs has of an
    /// app in both environments. Events for further ones are dead-lettered.
    public var channelsAskingMax = 40_000

    /// The defaults.
    public init() {}
}

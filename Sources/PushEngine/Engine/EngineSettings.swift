public import PushModel

/// The values that an operator, or the runner of an engine, may choose. Limits are per shard. The values here are the
/// product's defaults.
public struct EngineSettings: Equatable, Sendable {
    /// What is done about a record that its producer put on the wrong partition.
    public enum Placement: String, Sendable, CaseIterable { case check, trust }

    /// What is done about misplaced records.
    public var placement = Placement.check
    /// What producers' serializers may have put around an event.
    public var eventFraming = EventFraming.auto
    /// Which outcomes are written to the topic `outcomes`.
    public var outcomePublication = OutcomePublication.pushes
    /// Maximum number of slots with something to send or in flight. At the limit partitions are not read.
    public var pendingMax = 200_000
    /// Maximum number of slots in memory, including idle ones. At the limit partitions are not read.
    public var slotsMax = 2_000_000
    /// Maximum number of audience members in memory. At the limit joins of new members are dead-lettered.
    public var membersMax = 10_000_000
    /// Maximum number of records waiting for Kafka's acknowledgement. At the limit partitions are not read, and nothing
    /// new is sent.
    public var unacknowledgedMax = 50_000
    /// How long a slot lives after its last start, update, end or registration, milliseconds. Apple shows a card for at
    /// most 12 h: 8 h while it is active, then 4 h.
    public var lifetimeMillis: Int64 = 12 * 3_600_000
    /// How long a pending update may wait before it is written to `state`, milliseconds. The setting is also the least
    /// time between two such writes of a slot.
    public var pendingDurableAfterMillis: Int64 = 1_000
    /// How long a state record waits so that several are written together, milliseconds.
    public var stateFlushMillis: Int64 = 50
    /// Advantage of high priority over low priority in a lane's queue, milliseconds. A low-priority update counts as if
    /// it had become ready this much later.
    public var agingMillis: Int64 = 2_000
    /// How often the ownership marker is written again, milliseconds. The marker makes sure that records of a worker
    /// that has lost the partition are noticed. The time should be well below the compaction lag of `state` (30 min).
    public var markerRefreshMillis: Int64 = 300_000
    /// Maximum time that pushes wait after a takeover for the backlog to be read, milliseconds. The backlog shows the
    /// newest event that a former owner may have sent without a record. So no phone goes back to older content.
    public var catchUpMaxMillis: Int64 = 10_000
    /// How long a push waits after its first failed attempt, milliseconds. The wait doubles from attempt to attempt;
    /// half of it is random.
    public var retryBackoffMinMillis: Int64 = 1_000
    /// The longest wait after a failed attempt, milliseconds. Only a `retry-after` of APNs can make it longer, up to an
    /// hour.
    public var retryBackoffMaxMillis: Int64 = 60_000
    /// The longest wait of a push that was refused for a fault of its route, milliseconds. Only a `retry-after` of APNs
    /// can make it longer.
    public var routeBackoffMaxMillis: Int64 = 4_000

    /// How long a request waits for an answer, milliseconds. Afterwards its result is unknown.
    public var requestTimeoutMillis: Int64 = 20_000

    /// Length of one minute in the waits for audiences' channels, milliseconds. Only a demonstration shortens it. A
    /// shorter minute leaves a keeper less time to find a channel whose creation got no answer.
    public var channelMinuteMillis: Int64 = 60_000

    /// Maximum number of channels that have something to send and wait for a keeper to say whether it keeps them for an
    /// audience. The default is twice what APNs allows an app in both environments. Events for more channels are
    /// dead-lettered.
    public var channelsAskingMax = 40_000

    /// Creates the default settings.
    public init() {}
}

/// Limits of the page, so that a forgotten tab does not make anything grow over days. `Timeline.Limits` holds the
/// limits of the timeline.
enum DevPageLimits {
    /// Maximum number of followers (browsers) and waiting requests at once. A further one is answered 503.
    static let followersMax = 64
    /// Maximum number of connections at once. Further ones wait until one is closed.
    static let connectionsMax = 128
    /// Maximum number of bytes of a request's body. A longer one is answered 413. An event may have 16 KiB; up to this
    /// limit, the decoder reports that an event is too long.
    static let bodyByteCountMax = 65_536
    /// Maximum number of bytes of the request line and all header fields.
    static let headByteCountMax = 16_384
    /// Maximum number of records that Kafka has not taken yet. A request to publish another is answered 503.
    static let unwrittenRecordsMax = 1_000
    /// Maximum number of bytes of an activity's id, which is a record's key.
    static let activityByteCountMax = 256
    /// Maximum number of members that one request lets join an audience.
    static let membersPerJoinMax = 5_000
    /// Maximum number of joins that wait for Kafka at once. Fewer than `unwrittenRecordsMax`, so that others can
    /// publish meanwhile.
    static let joinsAtOnce = 500
    /// How long to gather news before waking a follower, in milliseconds. An event, its push and its card arrive
    /// together this way.
    static let gatherMillis = 50
    /// Pause after a message to a follower, in milliseconds. With `gatherMillis`: at most four messages a second.
    static let followDistanceMillis = 200
    /// Least time between two looks at phones while there are very many members, in milliseconds.
    static let crowdedDistanceMillis = 250
    /// Maximum number of events for which the worker is asked about phones at once, as after a flood. Beyond it nothing
    /// is asked; the next event for the activity asks again.
    static let needsAskedMax = 64
    /// Maximum number of questions to the worker about each event. It may not have read the event yet.
    static let needAsksMax = 50
    /// Time between two questions about one event, in milliseconds.
    static let needAskDistanceMillis = 100
    /// Maximum number of broadcast channels that the page creates and shows.
    static let channelsMax = 16
    /// Maximum number of faults of the simulated APNs that are shown.
    static let faultsShownMax = 32
    /// Maximum number of activities and audiences about whose waiting events the worker is asked at once.
    static let waitsAskedMax = 16
    /// An event younger than this, in milliseconds, is still on its way. The worker is not asked about it.
    static let waitUnaskedMillis: Int64 = 300
}

/// What the page bounds, so that nothing that is forgotten in a tab grows with the days. What the timeline keeps: `Timeline.Limits`.
enum DevPageLimits {
    /// Browsers that follow, and waits, at once; one more is answered 503.
    static let followersMax = 64
    /// Connections at once; more wait until one is closed.
    static let connectionsMax = 128
    /// A request's body, bytes; a longer one is answered 413. An event may have 16 KiB, and a longer one shall be told so by the decoder.
    static let bodyByteCountMax = 65_536
    /// The request line and all header fields, bytes.
    static let headByteCountMax = 16_384
    /// Records that Kafka has not taken yet; one more is answered 503.
    static let unwrittenRecordsMax = 1_000
    /// An activity's id as the page makes it, bytes: as a key.
    static let activityByteCountMax = 256
    /// Members that one request lets join an audience.
    static let membersPerJoinMax = 5_000
    /// Joins that wait for Kafka at once: fewer than `unwrittenRecordsMax`, so that others can publish meanwhile.
    static let joinsAtOnce = 500
    /// How long something new waits for what belongs to it before a follower is told, milliseconds.
    static let gatherMillis = 50
    /// How long a follower that has just been told something is left alone, milliseconds. With `gatherMillis`: four times a second at most.
    static let followDistanceMillis = 200
    /// How far looks at phones are apart where there are very many members, milliseconds.
    static let crowdedDistanceMillis = 250
    /// Events at once whose phones the worker is asked for, after a flood; the next event for such an activity asks again.
    static let needsAskedMax = 64
    /// How often it is asked about each: it may not have read the event yet.
    static let needAsksMax = 50
    /// How far apart the worker is asked about one, milliseconds.
    static let needAskDistanceMillis = 100
    /// Broadcast channels that the page makes and shows.
    static let channelsMax = 16
    /// Faults of the simulated APNs that are shown.
    static let faultsShownMax = 32
    /// Activities and audiences whose waiting events the worker is asked about at once.
    static let waitsAskedMax = 16
    /// What came less long ago is on its way, milliseconds: nobody is asked about it.
    static let waitUnaskedMillis: Int64 = 300
}

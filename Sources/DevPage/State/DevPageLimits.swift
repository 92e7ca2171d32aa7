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
}

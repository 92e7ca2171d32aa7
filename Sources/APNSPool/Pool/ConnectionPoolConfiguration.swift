/// Limits and delays of the connections of one route (environment × credential) of one shard. Times in milliseconds of
/// the steady clock.
public struct ConnectionPoolConfiguration: Equatable, Sendable {
    /// Connections that take requests at the same time. 1...64. Draining ones come on top, at most as many again.
    public var connectionsMax = 4
    /// Connections opened before there is load and never closed for idleness. 0...connectionsMax.
    public var connectionsWarm = 0
    /// Streams per connection, however many the peer allows. 1...1_000_000.
    public var streamsPerConnectionMax = 1_000
    /// Whether fewer requests than streams are in flight while that costs nothing (`InFlightWindow`).
    public var limitsInFlight = true
    /// Requests in flight to begin with, and at least, before that limits anything. 1 or more.
    public var inFlightAtFirst = 512
    /// The window of requests in flight never gets smaller. 1 or more.
    public var inFlightMin = 256
    /// Requests of one connection's life; HTTP/2 has 2^30 stream ids (RFC 9113 §5.1.1). Replaced in time.
    public var requestsPerConnectionMax = 1 << 30
    /// A further connection is opened when requests had to wait this long with every stream taken.
    public var growthPauseMillis: Int64 = 100

    /// From the start of the name lookup to the end of the TLS handshake and the peer's first SETTINGS.
    public var connectTimeoutMillis: Int64 = 10_000
    /// From a request's leaving to its answer.
    public var requestTimeoutMillis: Int64 = 20_000
    /// Time given to a draining connection on top of what its requests have left.
    public var drainTimeoutMillis: Int64 = 5_000
    /// A PING is sent when nothing came for this long while requests are in flight.
    public var pingAfterSilenceMillis: Int64 = 5_000
    /// A PING is sent when nothing came for this long while no request is in flight. Together with the wait for its answer this is no longer
    /// than a request waits. So a silent server is noticed as soon without traffic as with it.
    public var pingAfterIdleMillis: Int64 = 15_000
    /// An unanswered PING closes the connection after this long.
    public var pingTimeoutMillis: Int64 = 5_000
    /// A connection without a request for this long is closed (Apple: keep them for hours to days).
    public var idleCloseMillis: Int64 = 6 * 3_600_000

    /// First and longest delay between attempts to connect, and between probes of a route whose breaker is open. Doubled
    /// each time, jittered. The longest is about how long service takes to resume after APNs is back, and bounds the
    /// attempts meanwhile: one at a time and route, a second one only beside one that hangs.
    public var backoffMinMillis: Int64 = 500
    /// The longest such delay, before jitter.
    public var backoffMaxMillis: Int64 = 4_000
    /// Longest delay between probes with a provider token that APNs called too old or too new: each takes a connection of
    /// its own. Not below `backoffMaxMillis`.
    public var tokenProbeMaxMillis: Int64 = 60_000
    /// A connection that served for so long is no link in a chain of failures.
    public var servedMillisMin: Int64 = 60_000
    /// A connection that ends sooner than this counts as a failed attempt.
    public var lifeMillisMin: Int64 = 1_000
    /// Answers "server busy" in a row, no other between, that open the breaker.
    public var busyStreakMax = 10
    /// Answers "credentials refused" in a row, no push accepted between, that pause the route.
    public var refusedStreakMax = 3
    /// First and longest delay between probes of a route whose credentials were refused.
    public var refusedProbeMinMillis: Int64 = 30_000
    /// The longest such delay, before jitter.
    public var refusedProbeMaxMillis: Int64 = 300_000

    /// The defaults.
    public init() {}
}

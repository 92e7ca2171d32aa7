/// Limits and delays of the connections of one route (environment × credential) of one shard. Times are in milliseconds
/// of the steady clock.
public struct ConnectionPoolConfiguration: Equatable, Sendable {
    /// Maximum number of connections that take requests. 1...64. As many again, at least four, may drain beside them.
    public var connectionsMax = 4
    /// Number of connections that are opened before there is load and never closed for idleness. 0...connectionsMax.
    public var connectionsWarm = 0
    /// Maximum number of streams per connection, even if the peer allows more. 1...1_000_000.
    public var streamsPerConnectionMax = 1_000
    /// Whether `InFlightWindow` may keep fewer requests in flight than there are streams.
    public var limitsInFlight = true
    /// Number of requests that may be in flight at first. 1 or more.
    public var inFlightAtFirst = 512
    /// Least number of requests that may be in flight, however busy the loop is. 1 or more.
    public var inFlightMin = 256
    /// Maximum number of requests in the life of a connection, which is then replaced. HTTP/2 has 2^30 stream ids (RFC
    /// 9113 §5.1.1).
    public var requestsPerConnectionMax = 1 << 30
    /// A further connection is opened when requests have waited this long without a free stream.
    public var growthPauseMillis: Int64 = 100

    /// Time from the start of the name lookup to the end of the TLS handshake and the peer's first SETTINGS.
    public var connectTimeoutMillis: Int64 = 10_000
    /// Longest time from a request's departure to its answer. A request without an answer by then times out.
    public var requestTimeoutMillis: Int64 = 20_000
    /// A connection may drain for this long beyond `requestTimeoutMillis`.
    public var drainTimeoutMillis: Int64 = 5_000
    /// A PING is sent after this long without bytes from the peer, while requests are in flight.
    public var pingAfterSilenceMillis: Int64 = 5_000
    /// A PING is sent after this long without bytes from the peer, while no request is in flight. Together with
    /// `pingTimeoutMillis` this is as long as a request may take. So a silent server is noticed equally soon with and
    /// without traffic.
    public var pingAfterIdleMillis: Int64 = 15_000
    /// An unanswered PING closes the connection after this long.
    public var pingTimeoutMillis: Int64 = 5_000
    /// A connection without a request for this long is closed (Apple: keep connections open for hours to days).
    public var idleCloseMillis: Int64 = 6 * 3_600_000

    /// First delay between attempts to connect, and between probes of a route whose breaker is open. It doubles each
    /// time, with jitter.
    public var backoffMinMillis: Int64 = 500
    /// Longest delay between attempts to connect, and between probes of a route whose breaker is open, before jitter.
    /// Service resumes about this long after APNs is back. Until then a route makes one attempt at a time, and a second
    /// one only while the first hangs.
    public var backoffMaxMillis: Int64 = 4_000
    /// Longest delay between probes while APNs refuses the provider token as expired or as changed too often. Each
    /// probe takes a connection of its own. Not below `backoffMaxMillis`.
    public var tokenProbeMaxMillis: Int64 = 60_000
    /// If a proven connection lasted this long and then fails, the back-off begins anew with its first delay.
    public var servedMillisMin: Int64 = 60_000
    /// A connection that ends sooner than this counts as a failed attempt.
    public var lifeMillisMin: Int64 = 1_000
    /// Number of consecutive "server busy" answers that open the breaker.
    public var busyStreakMax = 10
    /// Number of "credentials refused" answers that pause the route. Any answer that shows good credentials resets the
    /// count.
    public var refusedStreakMax = 3
    /// First delay between probes of a route whose credentials were refused. It doubles each time, with jitter.
    public var refusedProbeMinMillis: Int64 = 30_000
    /// Longest delay between probes of a route whose credentials were refused, before jitter.
    public var refusedProbeMaxMillis: Int64 = 300_000

    /// The defaults.
    public init() {}
}

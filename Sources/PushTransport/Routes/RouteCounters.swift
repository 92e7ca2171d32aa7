/// Counts of one route of one shard since the process started, and its present state. They are plain integers, read on
/// the shard's loop.
public struct RouteCounters: Sendable, Equatable {
    // Gauges.
    /// Connections that take requests.
    public var connectionsOpen = 0
    /// Connections being opened.
    public var connectionsConnecting = 0
    /// Connections that finish their requests and take no new ones.
    public var connectionsDraining = 0
    /// Requests on open streams.
    public var streamsInFlight = 0
    /// 1 while the route is paused because APNs answers with server errors; otherwise 0.
    public var breakerOpen = 0
    /// 1 while the route is paused because APNs refuses its credentials; otherwise 0.
    public var credentialsRefused = 0

    // Totals.
    /// Connections opened.
    public var connectsTotal = 0
    /// Connections that could not be opened.
    public var connectFailuresTotal = 0
    /// Opened connections that have ended.
    public var closesTotal = 0
    /// Requests submitted.
    public var requestsTotal = 0
    /// Streams that APNs reset.
    public var resetsTotal = 0
    /// Requests that got no answer within the time limit.
    public var timeoutsTotal = 0
    /// Requests that APNs did not process. They may be sent again.
    public var notProcessedTotal = 0
    /// Requests for which it is unknown whether APNs processed them.
    public var unknownTotal = 0
    /// PINGs sent.
    public var pingsTotal = 0
    /// Bytes sent, TLS included.
    public var bytesOutTotal = 0
    /// Bytes received, TLS included.
    public var bytesInTotal = 0
    /// Answers by status.
    public var responses = ResponseCounts()
    /// Number of GOAWAYs by APNs' reason, or by error code if there is no reason. There are at most `goAwayReasonsMax`
    /// reasons; others count as `other`.
    public var goAways: [String: Int] = [:]

    /// Maximum number of entries in `goAways`.
    public static let goAwayReasonsMax = 32

    /// Counters at zero.
    public init() {}
}

/// Number of answers by status. Statuses outside this fixed list count as `other`, so the list of metrics is fixed,
/// too.
public struct ResponseCounts: Sendable, Equatable {
    /// The push was accepted, or the request about channels succeeded.
    public var status200 = 0
    /// A channel was made.
    public var status201 = 0
    /// A channel was deleted.
    public var status204 = 0
    /// The request, its token or its topic is wrong.
    public var status400 = 0
    /// The credentials are refused.
    public var status403 = 0
    /// The path is wrong.
    public var status404 = 0
    /// The method does not fit the path.
    public var status405 = 0
    /// The token is no longer valid.
    public var status410 = 0
    /// The payload is too large.
    public var status413 = 0
    /// Too many requests for a token, or too many renewals of the provider token.
    public var status429 = 0
    /// APNs failed.
    public var status500 = 0
    /// APNs is busy or shutting down.
    public var status503 = 0
    /// Any other status.
    public var other = 0

    /// Counts at zero.
    public init() {}

    mutating func count(_ status: UInt16) {
        switch status {
        case 200: self.status200 += 1
        case 201: self.status201 += 1
        case 204: self.status204 += 1
        case 400: self.status400 += 1
        case 403: self.status403 += 1
        case 404: self.status404 += 1
        case 405: self.status405 += 1
        case 410: self.status410 += 1
        case 413: self.status413 += 1
        case 429: self.status429 += 1
        case 500: self.status500 += 1
        case 503: self.status503 += 1
        default: self.other += 1
        }
    }
}

/// What happened on one route of one shard since the start, and how it stands. Plain integers, read on the shard's
/// loop.
public struct RouteCounters: Sendable, Equatable {
    /// Gauges.
    public var connectionsOpen = 0
    public var connectionsConnecting = 0
    public var connectionsDraining = 0
    public var streamsInFlight = 0
    /// 1 while the breaker is open, or the route is paused because its credentials were refused.
    public var breakerOpen = 0
    public var credentialsRefused = 0

    /// Totals.
    public var connectsTotal = 0
    public var connectFailuresTotal = 0
    public var closesTotal = 0
    public var requestsTotal = 0
    public var resetsTotal = 0
    public var timeoutsTotal = 0
    public var notProcessedTotal = 0
    public var unknownTotal = 0
    public var pingsTotal = 0
    public var bytesOutTotal = 0
    public var bytesInTotal = 0
    public var responses = ResponseCounts()
    /// GOAWAYs by reason: APNs' own reason, or else the error code's name. At most `goAwayReasonsMax` reasons; further
    /// ones count as `other`.
    public var goAways: [String: Int] = [:]

    public static let goAwayReasonsMax = 32

    public init() {}
}

/// Answers by status. The statuses are a closed set, so that metrics have one.
public struct ResponseCounts: Sendable, Equatable {
    public var status200 = 0
    public var status400 = 0
    public var status403 = 0
    public var status404 = 0
    public var status405 = 0
    public var status410 = 0
    public var status413 = 0
    public var status429 = 0
    public var status500 = 0
    public var status503 = 0
    public var other = 0

    public init() {}

    mutating func count(_ status: UInt16) {
        switch status {
        case 200: self.status200 += 1
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

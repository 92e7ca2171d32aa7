import PushTransport

extension RouteCounters: CountedBySource {
    static let sourceLabels: [String] = ["route"]

    /// Rows of all counters but `goAways`, whose reasons are not known beforehand.
    static let rows: [CounterRow<RouteCounters>] = [
        .gauge(
            "mailboat_apns_connections_open", unit: "connections", "Connections that take requests.", \.connectionsOpen),
        .gauge(
            "mailboat_apns_connections_connecting", unit: "connections", "Connections being opened.",
            \.connectionsConnecting),
        .gauge(
            "mailboat_apns_connections_draining", unit: "connections",
            "Connections that finish their requests and take no new ones.",
            \.connectionsDraining),
        .gauge("mailboat_apns_streams_in_flight", unit: "requests", "Requests on open streams.", \.streamsInFlight),
        .gauge("mailboat_apns_breakers_open", unit: "shards", "Shards on which the route is paused.", \.breakerOpen),
        .gauge(
            "mailboat_apns_credentials_refused", unit: "shards",
            "Shards on which APNs refuses the route's credentials.",
            \.credentialsRefused),
        .total("mailboat_apns_connects_total", unit: "connections", "Connections opened.", \.connectsTotal),
        .total(
            "mailboat_apns_connect_failures_total", unit: "connections", "Connections that could not be opened.",
            \.connectFailuresTotal),
        .total("mailboat_apns_connections_closed_total", unit: "connections", "Connections that ended.", \.closesTotal),
        .total("mailboat_apns_requests_total", unit: "requests", "Requests submitted.", \.requestsTotal),
        .total("mailboat_apns_resets_total", unit: "streams", "Streams reset by APNs.", \.resetsTotal),
        .total(
            "mailboat_apns_timeouts_total", unit: "requests", "Requests without an answer in time.", \.timeoutsTotal),
        .total(
            "mailboat_apns_not_processed_total", unit: "requests", "Requests that APNs did not process.",
            \.notProcessedTotal
        ),
        .total("mailboat_apns_unknown_total", unit: "requests", "Requests whose result is unknown.", \.unknownTotal),
        .total("mailboat_apns_pings_total", unit: "PINGs", "PINGs sent.", \.pingsTotal),
        .total("mailboat_apns_sent_bytes_total", unit: "bytes", "Bytes sent, TLS included.", \.bytesOutTotal),
        .total("mailboat_apns_received_bytes_total", unit: "bytes", "Bytes received, TLS included.", \.bytesInTotal),
        .responses("200", \.responses.status200), .responses("201", \.responses.status201),
        .responses("204", \.responses.status204), .responses("400", \.responses.status400),
        .responses("403", \.responses.status403), .responses("404", \.responses.status404),
        .responses("405", \.responses.status405), .responses("410", \.responses.status410),
        .responses("413", \.responses.status413), .responses("429", \.responses.status429),
        .responses("500", \.responses.status500), .responses("503", \.responses.status503),
        .responses("other", \.responses.other),
    ]

    /// Adds the counters of another shard.
    mutating func add(_ other: RouteCounters) {
        for row in Self.rows { row.add(other, to: &self) }
        self.goAways.merge(other.goAways, uniquingKeysWith: +)
    }
}

extension CounterRow<RouteCounters> {
    fileprivate static func responses(_ status: String, _ path: Signed) -> Self {
        .total(
            "mailboat_apns_responses_total", unit: "responses", "Answers by status.", path,
            label: .init(name: "status", value: status))
    }
}

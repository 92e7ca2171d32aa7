/// Descriptions of the metrics that the page shows besides the rows of counters.
extension WorkerMetrics {
    static let refusals = MetricDescription(
        name: "mailboat_pushes_refused_total", kind: .counter, unit: "requests",
        help:
            "Requests that APNs refused, by reason: one that Apple documents, `other`, or `none` if the answer had none.",
        labels: ["app", "reason"])
    static let unaccounted = MetricDescription(
        name: "mailboat_events_unaccounted", kind: .gauge, unit: "events",
        help: "Events consumed and restored, minus those accounted for; always 0.")
    static let recordToAccepted = MetricDescription(
        name: "mailboat_push_event_to_accepted_seconds", kind: .histogram, unit: "seconds",
        help:
            "Time from the newest event's record time to APNs' acceptance, without pushes to members of audiences."
    )
    static let takenToAccepted = MetricDescription(
        name: "mailboat_push_taken_to_accepted_seconds", kind: .histogram, unit: "seconds",
        help: "Time from reading an event from Kafka to APNs' acceptance, without pushes to members of audiences.")
    static let membersCurrent = MetricDescription(
        name: "mailboat_members_current", kind: .gauge, unit: "members",
        help:
            "Members of audiences that have the newest version; included in `mailboat_members`."
    )
    static let memberFreshness = MetricDescription(
        name: "mailboat_member_freshness_seconds", kind: .histogram, unit: "seconds",
        help:
            "Time from the record time of an audience's event, or of the member's join if that is later, to APNs' acceptance for the member."
    )
    static let fanoutDrain = MetricDescription(
        name: "mailboat_fanout_drain_seconds", kind: .gauge, unit: "seconds",
        help:
            "Estimated time to send what is due to members, at the pace of the last seconds: 0 without work, 3600 when more than 1,024 wait and nothing is sent. Members of paused audiences are left out."
    )
    static let channelsListed = MetricDescription(
        name: "mailboat_channels_listed", kind: .gauge, unit: "channels",
        help:
            "All channels on Apple's list, reported by the worker that keeps the app's channels. Apple allows 10,000 for an app in an environment.",
        labels: ["app", "environment"])
    static let partitions = MetricDescription(
        name: "mailboat_partitions", kind: .gauge, unit: "partitions", help: "Owned partitions by phase.",
        labels: ["phase"])
    static let shards = MetricDescription(
        name: "mailboat_shards", kind: .gauge, unit: "event loops", help: "Event loops that carry partitions.")
    static let goAways = MetricDescription(
        name: "mailboat_apns_goaways_total", kind: .counter, unit: "GOAWAYs", help: "GOAWAYs by reason.",
        labels: ["route", "reason"])
    static let lag = MetricDescription(
        name: "mailboat_kafka_lag_records", kind: .gauge, unit: "records",
        help: "Records not resolved yet, from the watermark to the end of the log.", labels: ["topic", "partition"])
    static let tokenAge = MetricDescription(
        name: "mailboat_provider_token_age_seconds", kind: .gauge, unit: "seconds",
        help: "Age of the provider token. Apple refuses a token after an hour.", labels: ["key"])
    static let brokerConnections = MetricDescription(
        name: "mailboat_kafka_connections_total", kind: .counter, unit: "connections",
        help:
            "Connections to Kafka's brokers that were opened, with login where that is needed, by all clients of the process. A broker ends a connection whose token has expired."
    )
    static let kafkaTokens = MetricDescription(
        name: "mailboat_kafka_tokens_total", kind: .counter, unit: "tokens",
        help: "Tokens obtained for a login to Kafka by OAUTHBEARER.")
    static let kafkaTokenFailures = MetricDescription(
        name: "mailboat_kafka_token_failures_total", kind: .counter, unit: "times",
        help: "Times that the source of tokens for Kafka gave none, by cause.", labels: ["cause"])
    static let kafkaTokenLeft = MetricDescription(
        name: "mailboat_kafka_token_left_seconds", kind: .gauge, unit: "seconds",
        help: "Remaining life of the token for Kafka; negative: time since it expired.")
    static let ready = MetricDescription(
        name: "mailboat_ready", kind: .gauge, unit: "", help: "1 when /readyz reports ready.")
    static let errors = MetricDescription(
        name: "mailboat_errors", kind: .gauge, unit: "complaints", help: "Things that /readyz complains about.")
    static let nothingLeaves = MetricDescription(
        name: "mailboat_nothing_leaves", kind: .gauge, unit: "",
        help:
            "1: events arrive and nothing is pushed. For ten minutes APNs accepted no push although more than 100 updates and starts arrived, and 95 % of the outcomes say that nothing had to be sent."
    )
    static let degraded = MetricDescription(
        name: "mailboat_degraded", kind: .gauge, unit: "complaints",
        help: "Faults that /readyz lists as degraded: another worker would do no better.")
    static let clock = MetricDescription(
        name: "mailboat_clock_seconds", kind: .gauge, unit: "seconds",
        help:
            "The time by this machine's clock, since 1970. APNs refuses provider tokens signed while the clock is wrong."
    )
    static let reloadSuccess = MetricDescription(
        name: "mailboat_config_last_reload_success", kind: .gauge, unit: "",
        help: "1: the last configuration that was given is in use; 0: it was refused, and the previous one is in use.")
    static let reloadTime = MetricDescription(
        name: "mailboat_config_last_reload_success_timestamp_seconds", kind: .gauge, unit: "seconds",
        help: "When a configuration was last taken, since 1970: at the start or by a reload.")
    static let awaitingRestart = MetricDescription(
        name: "mailboat_config_awaiting_restart", kind: .gauge, unit: "settings",
        help: "Settings whose new value waits for a restart.")
    static let configuration = MetricDescription(
        name: "mailboat_config_info", kind: .gauge, unit: "",
        help: "Always 1; the label identifies the configuration: workers with the same settings have the same hash.",
        labels: ["hash"])
    static let build = MetricDescription(
        name: "mailboat_build_info", kind: .gauge, unit: "", help: "Always 1; the label says which release runs.",
        labels: ["version"])
    static let target = MetricDescription(
        name: "target_info", kind: .gauge, unit: "",
        help: "Always 1; the labels identify the worker as in its traces (OpenTelemetry's resource).",
        labels: ["service_name", "service_version", "service_instance_id"])
}

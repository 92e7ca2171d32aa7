/// Descriptions of the metrics that the page shows besides the rows of counters.
extension WorkerMetrics {
    static let refusals = MetricDescription(
        name: "mailboat_pushes_refused_total", kind: .counter, unit: "requests",
        help:
            "Requests that APNs refused, by its reason: one that it documents, `other`, or `none` where the answer had none.",
        labels: ["app", "reason"])
    static let unaccounted = MetricDescription(
        name: "mailboat_events_unaccounted", kind: .gauge, unit: "events",
        help: "Consumed and restored less everything else; always 0.")
    static let recordToAccepted = MetricDescription(
        name: "mailboat_push_event_to_accepted_seconds", kind: .histogram, unit: "seconds",
        help:
            "From the newest event's record time to APNs' acceptance; pushes to members of audiences are not among them."
    )
    static let takenToAccepted = MetricDescription(
        name: "mailboat_push_taken_to_accepted_seconds", kind: .histogram, unit: "seconds",
        help: "From being taken out of Kafka to APNs' acceptance; pushes to members of audiences are not among them.")
    static let membersCurrent = MetricDescription(
        name: "mailboat_members_current", kind: .gauge, unit: "members",
        help:
            "Members of audiences that are owed nothing and were not refused the newest version; of `mailboat_members`."
    )
    static let memberFreshness = MetricDescription(
        name: "mailboat_member_freshness_seconds", kind: .histogram, unit: "seconds",
        help:
            "From the record time of an audience's event, or of the member's join if that is later, to APNs' acceptance for the member."
    )
    static let fanoutDrain = MetricDescription(
        name: "mailboat_fanout_drain_seconds", kind: .gauge, unit: "seconds",
        help:
            "How long what members are owed will take at the pace of the last seconds: 0 without work, 3600 when nothing gets on and more than 1,024 wait. Members of paused audiences are left out."
    )
    static let channelsListed = MetricDescription(
        name: "mailboat_channels_listed", kind: .gauge, unit: "channels",
        help:
            "All channels on Apple's list, at the worker that keeps the app's channels; Apple allows 10,000 in an app and environment.",
        labels: ["app", "environment"])
    static let partitions = MetricDescription(
        name: "mailboat_partitions", kind: .gauge, unit: "partitions", help: "Owned partitions by where they stand.",
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
        help: "Since the provider token was issued; Apple refuses it after an hour.", labels: ["key"])
    static let brokerConnections = MetricDescription(
        name: "mailboat_kafka_connections_total", kind: .counter, unit: "connections",
        help:
            "Connections to Kafka's brokers that have come up, logged in where that is needed: of all clients of the process. A broker ends one whose token has run out."
    )
    static let kafkaTokens = MetricDescription(
        name: "mailboat_kafka_tokens_total", kind: .counter, unit: "tokens",
        help: "Tokens that were obtained for the login to Kafka, where it is one by OAUTHBEARER.")
    static let kafkaTokenFailures = MetricDescription(
        name: "mailboat_kafka_token_failures_total", kind: .counter, unit: "times",
        help: "Times that the source of such tokens gave none, by cause.", labels: ["cause"])
    static let kafkaTokenLeft = MetricDescription(
        name: "mailboat_kafka_token_left_seconds", kind: .gauge, unit: "seconds",
        help: "How long the token is good for; negative: since when it is not.")
    static let ready = MetricDescription(
        name: "mailboat_ready", kind: .gauge, unit: "", help: "1 when /readyz says so.")
    static let errors = MetricDescription(
        name: "mailboat_errors", kind: .gauge, unit: "complaints", help: "Things that /readyz complains about.")
    static let nothingLeaves = MetricDescription(
        name: "mailboat_nothing_leaves", kind: .gauge, unit: "",
        help:
            "1: events come and nothing leaves. For ten minutes APNs accepted no push, though more than 100 updates and starts came, and 95 % of the outcomes say that nothing was to be sent."
    )
    static let degraded = MetricDescription(
        name: "mailboat_degraded", kind: .gauge, unit: "complaints",
        help: "Things that /readyz calls degraded: wrong, but another worker would do no better.")
    static let clock = MetricDescription(
        name: "mailboat_clock_seconds", kind: .gauge, unit: "seconds",
        help:
            "What this machine takes the time to be, since 1970. APNs refuses provider tokens of a clock that is wrong."
    )
    static let reloadSuccess = MetricDescription(
        name: "mailboat_config_last_reload_success", kind: .gauge, unit: "",
        help: "1: the configuration that was given last was taken; 0: it was not, and the one before holds.")
    static let reloadTime = MetricDescription(
        name: "mailboat_config_last_reload_success_timestamp_seconds", kind: .gauge, unit: "seconds",
        help: "When a configuration was last taken, since 1970: at the start or by a reload.")
    static let awaitingRestart = MetricDescription(
        name: "mailboat_config_awaiting_restart", kind: .gauge, unit: "settings",
        help: "Settings that were given otherwise than they hold, and wait for a restart.")
    static let configuration = MetricDescription(
        name: "mailboat_config_info", kind: .gauge, unit: "",
        help: "Always 1; the label tells configurations apart: workers that go by the same settings have the same.",
        labels: ["hash"])
    static let build = MetricDescription(
        name: "mailboat_build_info", kind: .gauge, unit: "", help: "Always 1; the label says which release runs.",
        labels: ["version"])
    static let target = MetricDescription(
        name: "target_info", kind: .gauge, unit: "",
        help: "Always 1; the labels are how the worker's traces call it, as OpenTelemetry has it.",
        labels: ["service_name", "service_version", "service_instance_id"])
}

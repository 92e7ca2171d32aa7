import PushEngine
import PushModel
import PushTransport

/// The worker's metrics as Prometheus reads them. Names are `mailboat_<area>_<thing>_<unit>`; label values come from
/// closed sets.
///
/// Conservation can be read off: `mailboat_events_consumed_total` + `mailboat_events_restored_total` = sum of
/// `mailboat_events_outcomes_total` + `mailboat_events_pending` + `mailboat_events_forwarded_total` +
/// `mailboat_events_handed_over_total`.
enum WorkerMetrics {
    /// What is known besides the snapshot.
    struct Surroundings {
        /// Age of each key's provider token.
        var tokenAges: [(keyID: String, seconds: Int64)] = []
        var lags: [Lag] = []
        var isReady = false
    }

    struct Lag: Equatable {
        var topic: String
        var partition: Int32
        var records: Int64
    }

    static func text(
        _ snapshot: WorkerSnapshot, _ surroundings: Surroundings, _ format: MetricsFormat = .prometheus
    ) -> String {
        var text = PrometheusText(format)
        self.writeEvents(snapshot.engine, to: &text)
        self.writePushes(snapshot, to: &text)
        self.writeState(snapshot, to: &text)
        self.writeRoutes(snapshot, to: &text)
        self.writeKafka(snapshot, surroundings, to: &text)
        return text.text
    }

    private static func writeEvents(_ engine: EngineCounters, to text: inout PrometheusText) {
        text.counter("mailboat_events_consumed_total", "Events taken from Kafka.", engine.consumed)
        text.counter(
            "mailboat_events_restored_total", "Pending events that came out of the state topic.", engine.restored)
        text.begin("mailboat_events_outcomes_total", .counter, "What became of events.")
        for outcome in Outcome.allCases { text.sample([("outcome", "\(outcome.name)")], engine.count(outcome)) }
        text.gauge("mailboat_events_pending", "Events without an outcome yet.", Double(engine.pending))
        text.counter(
            "mailboat_events_forwarded_total", "Misplaced events forwarded to their partition.", engine.forwarded)
        text.counter(
            "mailboat_events_handed_over_total", "Events still pending when their partition left.", engine.handedOver)
        text.counter(
            "mailboat_events_merged_total", "Events replaced by newer ones before they were sent.", engine.eventsMerged)
        text.gauge(
            "mailboat_events_unaccounted", "Consumed and restored less everything else; always 0.",
            Double(engine.consumed + engine.restored)
                - Double(engine.outcomeSum + engine.pending + engine.forwarded + engine.handedOver))
    }

    private static func writePushes(_ snapshot: WorkerSnapshot, to text: inout PrometheusText) {
        let engine = snapshot.engine
        text.counter("mailboat_pushes_sent_total", "Requests that left for APNs.", engine.pushesSent)
        text.begin("mailboat_pushes_answered_total", .counter, "What became of requests.")
        let answers = [
            ("accepted", engine.pushesAccepted), ("refused", engine.pushesRefused),
            ("not-processed", engine.pushesNotProcessed),
            ("unknown", engine.pushesUnknown),
        ]
        for (result, count) in answers { text.sample([("result", result)], count) }
        text.counter(
            "mailboat_pushes_high_priority_total", "Requests that left with priority 10.", engine.pushesHighPriority)
        text.counter(
            "mailboat_pushes_downgraded_total", "Sent with priority 5 because the budget was spent.",
            engine.pushesDowngraded)
        text.gauge("mailboat_pushes_in_flight", "Requests without an answer yet.", Double(engine.inFlight))
        text.histogram(
            "mailboat_push_event_to_accepted_seconds", "From the newest event's record time to APNs' acceptance.",
            snapshot.recordToAccepted)
        text.histogram(
            "mailboat_push_taken_to_accepted_seconds", "From being taken out of Kafka to APNs' acceptance.",
            snapshot.takenToAccepted)
    }

    private static func writeState(_ snapshot: WorkerSnapshot, to text: inout PrometheusText) {
        let engine = snapshot.engine
        text.gauge("mailboat_activities", "Activities in memory.", Double(engine.activities))
        text.gauge(
            "mailboat_activities_pending", "Activities with something to send or in flight.",
            Double(engine.activitiesPending))
        text.counter("mailboat_tokens_dead_total", "Tokens that APNs called dead.", engine.tokensDead)
        text.counter(
            "mailboat_tokens_removals_stopped_total",
            "Tokens kept although APNs called them dead, because too many died at once.",
            engine.tokenRemovalsStopped)
        text.counter(
            "mailboat_topics_refused_total", "Times that an app was held back because APNs refuses its topic.",
            engine.topicsRefused)
        text.gauge(
            "mailboat_topics_held_back", "Apps (per shard and environment) whose topic APNs refuses.",
            Double(engine.topicsClosed))
        text.counter("mailboat_state_records_total", "Records written to the state topic.", engine.stateRecords)
        text.counter(
            "mailboat_state_restored_records_total", "Records read from the state topic.",
            snapshot.kafka.restoredRecords)
        text.counter(
            "mailboat_state_gaps_total",
            "Stretches of the state topic that another worker wrote: a former owner, late.",
            engine.stateGaps)
        text.counter(
            "mailboat_state_foreign_records_total", "Records of such stretches, which were overwritten.",
            engine.stateRecordsForeign)
        text.begin("mailboat_partitions", .gauge, "Owned partitions by where they stand.")
        for phase in WorkerSnapshot.PartitionPhase.allCases {
            text.sample([("phase", phase.rawValue)], snapshot.partitions.count { $0.phase == phase })
        }
        text.gauge("mailboat_shards", "Event loops that carry partitions.", Double(snapshot.shardCount))
    }

    private static func writeRoutes(_ snapshot: WorkerSnapshot, to text: inout PrometheusText) {
        var routes: [(name: String, counters: RouteCounters)] = []
        for route in snapshot.routes {
            if let index = routes.firstIndex(where: { $0.name == route.name }) {
                routes[index].counters.add(route.counters)
            } else {
                routes.append((route.name, route.counters))
            }
        }
        let gauges: [(String, String, (RouteCounters) -> Int)] = [
            ("mailboat_apns_connections_open", "Connections that take requests.", { $0.connectionsOpen }),
            ("mailboat_apns_connections_connecting", "Connections being opened.", { $0.connectionsConnecting }),
            (
                "mailboat_apns_connections_draining", "Connections that only finish requests.",
                { $0.connectionsDraining }
            ),
            ("mailboat_apns_streams_in_flight", "Requests on open streams.", { $0.streamsInFlight }),
            ("mailboat_apns_breakers_open", "Shards on which the route is paused.", { $0.breakerOpen }),
            (
                "mailboat_apns_credentials_refused", "Shards on which APNs refuses the route's credentials.",
                { $0.credentialsRefused }
            ),
        ]
        let counters: [(String, String, (RouteCounters) -> Int)] = [
            ("mailboat_apns_connects_total", "Connections opened.", { $0.connectsTotal }),
            (
                "mailboat_apns_connect_failures_total", "Connections that could not be opened.",
                { $0.connectFailuresTotal }
            ),
            ("mailboat_apns_connections_closed_total", "Connections that ended.", { $0.closesTotal }),
            ("mailboat_apns_requests_total", "Requests submitted.", { $0.requestsTotal }),
            ("mailboat_apns_resets_total", "Streams reset by APNs.", { $0.resetsTotal }),
            ("mailboat_apns_timeouts_total", "Requests without an answer in time.", { $0.timeoutsTotal }),
            ("mailboat_apns_not_processed_total", "Requests APNs did not process.", { $0.notProcessedTotal }),
            ("mailboat_apns_unknown_total", "Requests nobody knows the answer of.", { $0.unknownTotal }),
            ("mailboat_apns_pings_total", "PINGs sent.", { $0.pingsTotal }),
            ("mailboat_apns_sent_bytes_total", "Bytes sent, TLS included.", { $0.bytesOutTotal }),
            ("mailboat_apns_received_bytes_total", "Bytes received, TLS included.", { $0.bytesInTotal }),
        ]
        for (kind, metrics) in [(PrometheusText.Kind.gauge, gauges), (.counter, counters)] {
            for (name, help, value) in metrics {
                text.begin(name, kind, help)
                for route in routes { text.sample([("route", route.name)], value(route.counters)) }
            }
        }
        text.begin("mailboat_apns_responses_total", .counter, "Answers by status.")
        for route in routes {
            for (status, count) in route.counters.responses.all {
                text.sample([("route", route.name), ("status", status)], count)
            }
        }
        text.begin("mailboat_apns_goaways_total", .counter, "GOAWAYs by reason.")
        for route in routes {
            for (reason, count) in route.counters.goAways.sorted(by: { $0.key < $1.key }) {
                text.sample([("route", route.name), ("reason", reason)], count)
            }
        }
    }

    private static func writeKafka(
        _ snapshot: WorkerSnapshot, _ surroundings: Surroundings, to text: inout PrometheusText
    ) {
        let kafka = snapshot.kafka
        text.begin(
            "mailboat_kafka_lag_records", .gauge, "Records not resolved yet, from the watermark to the end of the log.")
        for lag in surroundings.lags {
            text.sample([("topic", lag.topic), ("partition", "\(lag.partition)")], Int(lag.records))
        }
        text.counter("mailboat_kafka_produced_records_total", "Records handed to the producers.", kafka.recordsProduced)
        text.counter(
            "mailboat_kafka_delivery_failures_total", "Records Kafka did not take; they are produced again.",
            kafka.deliveriesFailed)
        text.gauge(
            "mailboat_kafka_retries_waiting", "Records that wait to be produced again.", Double(kafka.retriesWaiting))
        text.gauge(
            "mailboat_kafka_unacknowledged_records", "Records whose acknowledgement is awaited.",
            Double(snapshot.engine.unacknowledged))
        text.counter("mailboat_kafka_queue_full_total", "Times a producer had no room: back-pressure.", kafka.queueFull)
        text.counter("mailboat_kafka_commits_total", "Batches of offsets committed.", kafka.commits)
        text.counter(
            "mailboat_kafka_commit_failures_total", "Batches of which something was refused.", kafka.commitsFailed)
        text.counter("mailboat_kafka_rebalances_total", "Assignments and revocations.", kafka.rebalances)
        text.begin(
            "mailboat_provider_token_age_seconds", .gauge,
            "Since the provider token was issued; Apple refuses it after an hour.")
        for token in surroundings.tokenAges { text.sample([("key", token.keyID)], Int(token.seconds)) }
        text.gauge("mailboat_ready", "1 when /readyz says so.", surroundings.isReady ? 1 : 0)
        text.gauge("mailboat_errors", "Things that /readyz complains about.", Double(snapshot.errors.count))
        text.gauge(
            "mailboat_degraded", "Things that /readyz calls degraded: wrong, but another worker would do no better.",
            Double(snapshot.degraded.count))
    }
}

extension RouteCounters {
    /// Sums over shards.
    mutating func add(_ other: RouteCounters) {
        self.connectionsOpen += other.connectionsOpen
        self.connectionsConnecting += other.connectionsConnecting
        self.connectionsDraining += other.connectionsDraining
        self.streamsInFlight += other.streamsInFlight
        self.breakerOpen += other.breakerOpen
        self.credentialsRefused += other.credentialsRefused
        self.connectsTotal += other.connectsTotal
        self.connectFailuresTotal += other.connectFailuresTotal
        self.closesTotal += other.closesTotal
        self.requestsTotal += other.requestsTotal
        self.resetsTotal += other.resetsTotal
        self.timeoutsTotal += other.timeoutsTotal
        self.notProcessedTotal += other.notProcessedTotal
        self.unknownTotal += other.unknownTotal
        self.pingsTotal += other.pingsTotal
        self.bytesOutTotal += other.bytesOutTotal
        self.bytesInTotal += other.bytesInTotal
        self.responses.status200 += other.responses.status200
        self.responses.status400 += other.responses.status400
        self.responses.status403 += other.responses.status403
        self.responses.status404 += other.responses.status404
        self.responses.status405 += other.responses.status405
        self.responses.status410 += other.responses.status410
        self.responses.status413 += other.responses.status413
        self.responses.status429 += other.responses.status429
        self.responses.status500 += other.responses.status500
        self.responses.status503 += other.responses.status503
        self.responses.other += other.responses.other
        self.goAways.merge(other.goAways, uniquingKeysWith: +)
    }
}

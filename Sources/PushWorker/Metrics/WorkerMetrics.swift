import PushEngine
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
        text.write(EngineCounters.rows, of: snapshot.engine)
        text.gauge(
            "mailboat_events_unaccounted", "Consumed and restored less everything else; always 0.",
            snapshot.engine.unaccounted)
        text.histogram(
            "mailboat_push_event_to_accepted_seconds", "From the newest event's record time to APNs' acceptance.",
            snapshot.recordToAccepted)
        text.histogram(
            "mailboat_push_taken_to_accepted_seconds", "From being taken out of Kafka to APNs' acceptance.",
            snapshot.takenToAccepted)
        self.writePartitions(snapshot, to: &text)
        self.writeRoutes(snapshot, to: &text)
        text.write(KafkaCounters.rows, of: snapshot.kafka)
        self.writeSurroundings(surroundings, to: &text)
        text.gauge("mailboat_errors", "Things that /readyz complains about.", Double(snapshot.errors.count))
        text.gauge(
            "mailboat_degraded", "Things that /readyz calls degraded: wrong, but another worker would do no better.",
            Double(snapshot.degraded.count))
        return text.text
    }

    private static func writePartitions(_ snapshot: WorkerSnapshot, to text: inout PrometheusText) {
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
        text.write(RouteCounters.rows, of: routes.map { ([("route", $0.name)], $0.counters) })
        text.begin("mailboat_apns_goaways_total", .counter, "GOAWAYs by reason.")
        for route in routes {
            for (reason, count) in route.counters.goAways.sorted(by: { $0.key < $1.key }) {
                text.sample([("route", route.name), ("reason", reason)], count)
            }
        }
    }

    private static func writeSurroundings(_ surroundings: Surroundings, to text: inout PrometheusText) {
        text.begin(
            "mailboat_kafka_lag_records", .gauge, "Records not resolved yet, from the watermark to the end of the log.")
        for lag in surroundings.lags {
            text.sample([("topic", lag.topic), ("partition", "\(lag.partition)")], Int(lag.records))
        }
        text.begin(
            "mailboat_provider_token_age_seconds", .gauge,
            "Since the provider token was issued; Apple refuses it after an hour.")
        for token in surroundings.tokenAges { text.sample([("key", token.keyID)], Int(token.seconds)) }
        text.gauge("mailboat_ready", "1 when /readyz says so.", surroundings.isReady ? 1 : 0)
    }
}

extension EngineCounters {
    /// Taken and not told of again: anything but 0 is a defect.
    fileprivate var unaccounted: Double {
        Double(self.consumed + self.restored)
            - Double(self.outcomeSum + self.pending + self.forwarded + self.handedOver)
    }
}

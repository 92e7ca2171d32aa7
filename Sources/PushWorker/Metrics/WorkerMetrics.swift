import PushEngine
import PushTransport

/// The worker's metrics as Prometheus reads them. Their names are `mailboat_<area>_<thing>_<unit>`. The values of their
/// labels are from closed sets.
///
/// The metrics show that no event is lost. The sum of `mailboat_events_consumed_total`,
/// `mailboat_events_restored_total` and `mailboat_events_forwards_refused_total` equals the sum of
/// `mailboat_events_outcomes_total`, `mailboat_events_pending`, `mailboat_events_forwarded_total` and
/// `mailboat_events_handed_over_total`.
enum WorkerMetrics {
    /// Values on the page that are not in the snapshot.
    struct Surroundings {
        /// Age of each key's provider token.
        var tokenAges: [(keyID: String, seconds: Int64)] = []
        var lags: [Lag] = []
        var isReady = false
        var process = ProcessReading()
        /// Numbers of exported and lost spans, if the tracer is the worker's own.
        var spans = ExportCounters()
        /// The identity with which the worker's traces are stored.
        var resource = TelemetryResource(WorkerConfiguration.Tracing())
        /// The machine's clock, since 1970.
        var wallMillis: Int64 = 0
        /// The state of a login to Kafka by OAUTHBEARER; `nil` when Kafka is used without such a login.
        var login: LoginReport?
        /// Number of connections to Kafka's brokers, of all clients of the process.
        var brokerConnections: UInt64 = 0
    }

    struct Lag: Equatable {
        var topic: String
        var partition: Int32
        var records: Int64
    }

    /// The page's bytes.
    /// - Parameter libraries: the metrics of libraries; `nil`: none are shown.
    static func page(
        _ snapshot: WorkerSnapshot, _ surroundings: Surroundings, libraries: PrometheusMetricsFactory?,
        _ format: MetricsFormat
    ) -> [UInt8] {
        var text = PrometheusText(format, lineCount: Self.usualLineCount + surroundings.lags.count)
        Self.write(snapshot, surroundings, to: &text)
        libraries?.write(to: &text)
        text.append(format.ending)
        return text.bytes
    }

    /// The usual number of lines, not counting lags and the metrics of libraries.
    private static let usualLineCount = 700

    /// The worker's own part of the page.
    static func text(
        _ snapshot: WorkerSnapshot, _ surroundings: Surroundings, _ format: MetricsFormat = .prometheus
    ) -> String {
        var text = PrometheusText(format)
        Self.write(snapshot, surroundings, to: &text)
        return text.text
    }

    private static func write(
        _ snapshot: WorkerSnapshot, _ surroundings: Surroundings, to text: inout PrometheusText
    ) {
        text.write(EngineCounters.rows, of: snapshot.engine)
        self.writeApps(snapshot, to: &text)
        text.write(Self.unaccounted, snapshot.engine.unaccounted)
        text.write(Self.recordToAccepted, snapshot.recordToAccepted)
        text.write(Self.takenToAccepted, snapshot.takenToAccepted)
        text.write(Self.membersCurrent, Double(snapshot.engine.membersCurrent))
        text.write(Self.memberFreshness, snapshot.memberFreshness)
        text.write(Self.fanoutDrain, snapshot.fanoutDrainSeconds)
        self.writeChannels(snapshot, to: &text)
        self.writePartitions(snapshot, to: &text)
        self.writeRoutes(snapshot, to: &text)
        text.write(KafkaCounters.rows, of: snapshot.kafka)
        var tracing = snapshot.tracing
        tracing.add(surroundings.spans)
        text.write(TracingCounters.rows, of: tracing)
        self.writeSurroundings(surroundings, to: &text)
        text.write(Self.errors, Double(snapshot.errors.count))
        text.write(Self.nothingLeaves, Double(snapshot.nothingLeaves ? 1 : 0))
        text.write(Self.degraded, Double(snapshot.degraded.count))
        self.writeConfiguration(snapshot.configuration, to: &text)
        text.write(Self.clock, Double(surroundings.wallMillis) / 1_000)
        text.begin(Self.build)
        text.sample([("version", MailboatVersion.current)], 1)
        text.begin(Self.target)
        text.sample(
            [
                ("service_name", surroundings.resource.serviceName),
                ("service_version", surroundings.resource.serviceVersion),
                ("service_instance_id", surroundings.resource.instanceID),
            ], 1)
        for (metric, value) in ProcessReading.metrics { text.write(metric, value(surroundings.process)) }
    }

    private static func writeApps(_ snapshot: WorkerSnapshot, to text: inout PrometheusText) {
        let apps = Array(zip(snapshot.bundleIDs, snapshot.engine.apps))
        text.write(AppCounters.rows, of: apps.map { ([$0.0], $0.1) })
        text.begin(Self.refusals)
        for (name, counters) in apps {
            for (reason, count) in counters.refusals.sorted(by: { $0.key < $1.key }) {
                text.sample([("app", name), ("reason", reason)], Int(clamping: count))
            }
        }
    }

    private static func writeChannels(_ snapshot: WorkerSnapshot, to text: inout PrometheusText) {
        text.begin(Self.channelsListed)
        for listing in snapshot.channelListings {
            text.sample([("app", listing.bundleID), ("environment", "\(listing.environment)")], listing.count)
        }
    }

    private static func writePartitions(_ snapshot: WorkerSnapshot, to text: inout PrometheusText) {
        text.begin(Self.partitions)
        for phase in WorkerSnapshot.PartitionPhase.allCases {
            text.sample([("phase", phase.rawValue)], snapshot.partitions.count { $0.phase == phase })
        }
        text.write(Self.shards, Double(snapshot.shardCount))
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
        text.write(RouteCounters.rows, of: routes.map { ([$0.name], $0.counters) })
        text.begin(Self.goAways)
        for route in routes {
            for (reason, count) in route.counters.goAways.sorted(by: { $0.key < $1.key }) {
                text.sample([("route", route.name), ("reason", reason)], count)
            }
        }
    }

    /// Writes the lags, one line for each partition and topic. These lines can be half of the page. There are few
    /// topics, so the labels of each topic are made once.
    private static func writeLags(_ lags: [Lag], to text: inout PrometheusText) {
        var topics: [(name: String, labels: [UInt8])] = []
        for lag in lags {
            var index = topics.firstIndex { $0.name == lag.topic } ?? topics.count
            if index == topics.count {
                let labels = MetricLabels.begun([("topic", lag.topic)]) + MetricLabels.number("partition")
                topics.append((lag.topic, labels))
                index = topics.count - 1
            }
            text.sample(
                written: topics[index].labels, number: lag.partition, MetricLabels.numberEnd, Int(lag.records))
        }
    }

    private static func writeConfiguration(_ status: ConfigurationStatus, to text: inout PrometheusText) {
        text.write(Self.reloadSuccess, status.isLastTaken ? 1 : 0)
        text.write(Self.reloadTime, Double(status.takenAtSeconds))
        text.write(Self.awaitingRestart, Double(status.awaitingRestart.count))
        text.begin(Self.configuration)
        text.sample([("hash", status.hash)], 1)
    }

    private static func writeSurroundings(_ surroundings: Surroundings, to text: inout PrometheusText) {
        text.begin(Self.lag)
        Self.writeLags(surroundings.lags, to: &text)
        text.begin(Self.tokenAge)
        for token in surroundings.tokenAges { text.sample([("key", token.keyID)], Int(token.seconds)) }
        text.write(Self.ready, surroundings.isReady ? 1 : 0)
        text.begin(Self.brokerConnections)
        text.sample([], Int(clamping: surroundings.brokerConnections))
        self.writeLogin(surroundings.login, to: &text)
    }

    /// Writes the metrics of the login to Kafka by OAUTHBEARER. If `login` is `nil`, only the heads of these metrics
    /// are written.
    private static func writeLogin(_ login: LoginReport?, to text: inout PrometheusText) {
        text.begin(Self.kafkaTokens)
        if let login { text.sample([], Int(clamping: login.obtained)) }
        text.begin(Self.kafkaTokenFailures)
        if let login {
            for cause in TokenFault.Cause.allCases {
                text.sample([("cause", cause.rawValue)], Int(clamping: login.failures[cause] ?? 0))
            }
        }
        text.begin(Self.kafkaTokenLeft)
        if let left = login?.leftMillis { text.sample([], Int(left / 1_000)) }
    }
}

extension EngineCounters {
    /// Number of members that have the newest version. The number may be too low: a member that has a push in flight
    /// and is owed a newer version counts twice among those that wait.
    fileprivate var membersCurrent: Int {
        max(0, self.membersHeld - Int(clamping: self.members.waiting) - self.membersRefused)
    }
    /// Number of events that were taken and are not accounted for. Any number other than 0 is a defect.
    fileprivate var unaccounted: Double {
        Double(self.consumed + self.restored + self.forwardsRefused)
            - Double(self.outcomeSum + self.pending + self.forwarded + self.handedOver)
    }
}

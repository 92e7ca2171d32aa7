import PushEngine
import PushTransport

/// Counters of a shard. Some exist once for each of several sources, such as routes.
protocol CountedBySource {
    /// Names of the labels that distinguish the sources on the page.
    static var sourceLabels: [String] { get }
}

/// One counter of a shard: how it is served and where it is stored. The sums over shards and the page of metrics are
/// made from the rows, so that a new counter is described once. A test fails for a counter without a row.
struct CounterRow<Counters: CountedBySource>: Sendable {
    struct Label: Sendable {
        var name: String
        var value: String
    }

    enum Field: Sendable {
        case unsigned(Unsigned)
        case signed(Signed)
    }

    /// The metric; `nil`: the counter is summed, but not served by itself.
    var metric: MetricDescription?
    /// The metric under the name that it had in the version before.
    private(set) var formerMetric: MetricDescription?
    var field: Field
    /// Labels that distinguish rows with the same metric name. Such rows are neighbours in the list.
    var labels: [Label] = []
    /// The row's own labels as bytes of the page. They are written after the labels of a source.
    private var labelBytes: [UInt8] = []

    /// Adds another shard's counter. Shards share nothing, so the sum is the worker's value, for gauges as well.
    func add(_ other: Counters, to sum: inout Counters) {
        switch self.field {
        case .unsigned(let path): sum[keyPath: path] += other[keyPath: path]
        case .signed(let path): sum[keyPath: path] += other[keyPath: path]
        }
    }

    /// Writes the row's line.
    /// - Parameter source: the labels of the source that the counters belong to: see `MetricLabels.begun`.
    func write(_ counters: Counters, of source: [UInt8], to text: inout PrometheusText) {
        switch self.field {
        case .unsigned(let path): text.sample(written: source, then: self.labelBytes, counters[keyPath: path])
        case .signed(let path): text.sample(written: source, then: self.labelBytes, counters[keyPath: path])
        }
    }
}

extension CounterRow {
    typealias Unsigned = any WritableKeyPath<Counters, UInt64> & Sendable
    typealias Signed = any WritableKeyPath<Counters, Int> & Sendable

    static func total(
        _ name: String, unit: String, _ help: String, _ path: Unsigned, label: Label? = nil
    ) -> Self {
        Self(.counter, name, unit: unit, help, .unsigned(path), label.map { [$0] } ?? [])
    }

    static func total(
        _ name: String, unit: String, _ help: String, _ path: Unsigned, labels: [Label]
    ) -> Self {
        Self(.counter, name, unit: unit, help, .unsigned(path), labels)
    }

    static func total(
        _ name: String, unit: String, _ help: String, _ path: Signed, label: Label? = nil
    ) -> Self {
        Self(.counter, name, unit: unit, help, .signed(path), label.map { [$0] } ?? [])
    }

    static func gauge(_ name: String, unit: String, _ help: String, _ path: Unsigned) -> Self {
        Self(.gauge, name, unit: unit, help, .unsigned(path), [])
    }

    static func gauge(_ name: String, unit: String, _ help: String, _ path: Signed) -> Self {
        Self(.gauge, name, unit: unit, help, .signed(path), [])
    }

    private init(
        _ kind: PrometheusText.Kind, _ name: String, unit: String, _ help: String, _ field: Field, _ labels: [Label]
    ) {
        self.metric = MetricDescription(
            name: name, kind: kind, unit: unit, help: help,
            labels: Counters.sourceLabels + labels.map(\.name))
        self.field = field
        self.labels = labels
        self.labelBytes = MetricLabels.rest(
            after: Counters.sourceLabels, labels.map { (name: $0.name, value: $0.value) })
    }

    /// Serves the counter under its former name as well, for one more version.
    func formerly(_ name: String) -> Self {
        var row = self
        row.formerMetric = self.metric.map {
            MetricDescription(
                name: name, kind: $0.kind, unit: $0.unit,
                help: "The former name of \($0.name), served for one more version.", labels: $0.labels)
        }
        return row
    }

    /// The metrics that the row is served as: none, one, or one with a former name as well.
    var metrics: [MetricDescription] { [self.metric, self.formerMetric].compactMap { $0 } }

    static func unserved(_ path: Unsigned) -> Self { Self(metric: nil, field: .unsigned(path)) }

    private init(metric: MetricDescription?, field: Field) {
        self.metric = metric
        self.field = field
    }
}

extension PrometheusText {
    /// Writes every row that is served, for each source. `names` of a source are the values of `sourceLabels`.
    mutating func write<Counters: CountedBySource>(
        _ rows: [CounterRow<Counters>], of sources: [(names: [String], counters: Counters)]
    ) {
        let sources = sources.map { source in
            (
                labels: MetricLabels.begun(zip(Counters.sourceLabels, source.names).map { (name: $0, value: $1) }),
                counters: source.counters
            )
        }
        var served = rows[...]
        while let first = served.first {
            let family = served.prefix { $0.metric?.name == first.metric?.name }
            served = served.dropFirst(family.count)
            for metric in first.metrics {
                self.begin(metric)
                for source in sources {
                    for row in family { row.write(source.counters, of: source.labels, to: &self) }
                }
            }
        }
    }

    mutating func write<Counters: CountedBySource>(_ rows: [CounterRow<Counters>], of counters: Counters) {
        self.write(rows, of: [([], counters)])
    }
}

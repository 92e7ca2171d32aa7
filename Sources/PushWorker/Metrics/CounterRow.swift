import PushEngine
import PushTransport

/// One number that shards count: how it is served and where it lies. Sums over shards and the page of metrics are made from the rows of
/// a type, so that whoever adds a number says it once; a test fails for one that has no row.
struct CounterRow<Counters>: Sendable {
    /// What the page calls it.
    struct Metric: Sendable {
        var name: String
        var kind: PrometheusText.Kind
        var help: String
        /// Tells rows of one name apart; they stand one after the other.
        var label: Label?
    }

    struct Label: Sendable {
        var name: String
        var value: String
    }

    enum Field: Sendable {
        case unsigned(Unsigned)
        case signed(Signed)
    }

    /// `nil`: summed, and not served by itself.
    var metric: Metric?
    var field: Field

    /// Adds another shard's. Shards share nothing, so of gauges, too, the sum is the worker's.
    func add(_ other: Counters, to sum: inout Counters) {
        switch self.field {
        case .unsigned(let path): sum[keyPath: path] += other[keyPath: path]
        case .signed(let path): sum[keyPath: path] += other[keyPath: path]
        }
    }

    func text(_ counters: Counters) -> String {
        switch self.field {
        case .unsigned(let path): "\(counters[keyPath: path])"
        case .signed(let path): "\(counters[keyPath: path])"
        }
    }
}

extension CounterRow {
    typealias Unsigned = any WritableKeyPath<Counters, UInt64> & Sendable
    typealias Signed = any WritableKeyPath<Counters, Int> & Sendable

    static func total(_ name: String, _ help: String, _ path: Unsigned, label: Label? = nil) -> Self {
        Self(metric: Metric(name: name, kind: .counter, help: help, label: label), field: .unsigned(path))
    }

    static func total(_ name: String, _ help: String, _ path: Signed, label: Label? = nil) -> Self {
        Self(metric: Metric(name: name, kind: .counter, help: help, label: label), field: .signed(path))
    }

    static func gauge(_ name: String, _ help: String, _ path: Unsigned) -> Self {
        Self(metric: Metric(name: name, kind: .gauge, help: help), field: .unsigned(path))
    }

    static func gauge(_ name: String, _ help: String, _ path: Signed) -> Self {
        Self(metric: Metric(name: name, kind: .gauge, help: help), field: .signed(path))
    }

    static func unserved(_ path: Unsigned) -> Self { Self(metric: nil, field: .unsigned(path)) }
}

extension PrometheusText {
    /// Writes every row that is served, for each of the sources.
    mutating func write<Counters>(
        _ rows: [CounterRow<Counters>], of sources: [(labels: [(name: String, value: String)], counters: Counters)]
    ) {
        var served = rows[...]
        while let first = served.first {
            let family = served.prefix { $0.metric?.name == first.metric?.name }
            served = served.dropFirst(family.count)
            guard let metric = first.metric else { continue }
            self.begin(metric.name, metric.kind, metric.help)
            for source in sources {
                for row in family {
                    let label = (row.metric?.label).map { [(name: $0.name, value: $0.value)] } ?? []
                    self.sample(source.labels + label, written: row.text(source.counters))
                }
            }
        }
    }

    mutating func write<Counters>(_ rows: [CounterRow<Counters>], of counters: Counters) {
        self.write(rows, of: [([], counters)])
    }
}

public import CoreMetrics
import Synchronization

/// A swift-metrics backend whose metrics are served with the worker's own, so that the counters of libraries are shown,
/// too.
///
/// May be used from any thread. Holds at most `seriesMax` series; further ones are counted and otherwise ignored.
public final class PrometheusMetricsFactory: MetricsFactory, Sendable {
    static let seriesMax = 2_000
    static let ignoredSeries = MetricDescription(
        name: "mailboat_metrics_ignored_series_total", kind: .counter, unit: "series",
        help: "Series of libraries that were dropped: no room, or a name of two kinds.")

    private struct State {
        var series: [Identity: Series] = [:]
        var ignored: UInt64 = 0
    }

    private struct Identity: Hashable {
        var name: String
        var labels: [String]
    }

    private let state = Mutex(State())

    /// A factory without metrics.
    public init() {}

    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        self.series(label, suffix: "_total", dimensions, .counter)
    }

    public func makeFloatingPointCounter(label: String, dimensions: [(String, String)])
        -> any FloatingPointCounterHandler
    {
        self.series(label, suffix: "_total", dimensions, .counter)
    }

    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        self.series(label, suffix: "", dimensions, .gauge)
    }

    public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        self.series(label, suffix: "", dimensions, aggregate ? .histogram : .gauge)
    }

    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        self.series(label, suffix: "_seconds", dimensions, .histogram)
    }

    // Does nothing. A series keeps its sum, so that a library that makes its handler again continues counting.
    public func destroyCounter(_ handler: any CounterHandler) {}
    public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
    public func destroyMeter(_ handler: any MeterHandler) {}
    public func destroyRecorder(_ handler: any RecorderHandler) {}
    public func destroyTimer(_ handler: any TimerHandler) {}

    private func series(_ label: String, suffix: String, _ dimensions: [(String, String)], _ kind: PrometheusText.Kind)
        -> Series
    {
        let name = Self.name(label) + (label.hasSuffix(suffix) ? "" : suffix)
        let labels = dimensions.map { (name: Self.name($0.0), value: $0.1) }.sorted { $0.name < $1.name }
        let identity = Identity(name: name, labels: labels.flatMap { [$0.name, $0.value] })
        return self.state.withLock { state in
            if let known = state.series[identity], known.kind == kind { return known }
            let series = Series(name: name, labels: labels, kind: kind)
            // A name that already belongs to one kind of metric cannot belong to another.
            let isTaken = state.series.values.contains { $0.name == name && $0.kind != kind }
            if state.series.count < Self.seriesMax, !isTaken {
                state.series[identity] = series
            } else {
                state.ignored += 1
            }
            return series
        }
    }

    /// All series as text in this format.
    func text(_ format: MetricsFormat = .prometheus) -> String {
        var text = PrometheusText(format)
        self.write(to: &text)
        return text.text
    }

    func write(to text: inout PrometheusText) {
        let (series, ignored) = self.state.withLock { ($0.series.values.sorted { $0.order < $1.order }, $0.ignored) }
        var name: String?
        for one in series {
            let values = one.values
            if one.name != name {
                // Libraries provide neither unit nor help.
                text.begin(
                    MetricDescription(name: one.name, kind: one.kind, unit: "", help: "Reported by a library."))
                name = one.name
            }
            switch one.kind {
            case .counter, .gauge: text.sample(one.labels, values.last)
            case .histogram:
                text.sample(one.labels + [("le", "+Inf")], suffix: "_bucket", values.count)
                text.sample(one.labels, suffix: "_sum", values.sum)
                text.sample(one.labels, suffix: "_count", values.count)
            }
        }
        text.begin(Self.ignoredSeries)
        text.sample([], ignored)
    }

    /// A name that Prometheus accepts: letters, digits and underscores, without a digit at the beginning.
    static func name(_ label: String) -> String {
        let name = String(label.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
        return name.first?.isNumber ?? true ? "_" + name : name
    }

    private final class Series: CounterHandler, FloatingPointCounterHandler, MeterHandler, RecorderHandler,
        TimerHandler, Sendable
    {
        struct Values {
            var last = 0.0
            var sum = 0.0
            var count: UInt64 = 0
        }
        let name: String
        let labels: [(name: String, value: String)]
        let kind: PrometheusText.Kind
        private let state = Mutex(Values())

        init(name: String, labels: [(name: String, value: String)], kind: PrometheusText.Kind) {
            self.name = name
            self.labels = labels
            self.kind = kind
        }

        var order: String {
            self.name + "\u{0}" + self.labels.map { "\($0.name)=\($0.value)" }.joined(separator: "\u{0}")
        }
        var values: Values { self.state.withLock { $0 } }

        func increment(by amount: Int64) { self.increment(by: Double(amount)) }
        func increment(by amount: Double) { self.state.withLock { $0.last += amount } }
        func decrement(by amount: Double) { self.state.withLock { $0.last -= amount } }
        func reset() { self.state.withLock { $0 = Values() } }
        func set(_ value: Int64) { self.set(Double(value)) }
        func set(_ value: Double) { self.state.withLock { $0.last = value } }
        func record(_ value: Int64) { self.record(Double(value)) }
        func record(_ value: Double) {
            self.state.withLock { state in
                state.last = value
                state.sum += value
                state.count += 1
            }
        }
        func recordNanoseconds(_ duration: Int64) { self.record(Double(duration) / 1e9) }
    }
}

import PushModel

/// Writes the Prometheus text format or OpenMetrics: a head for each metric, then its samples.
struct PrometheusText {
    enum Kind: String { case counter, gauge, histogram }

    private(set) var text = ""
    private var name = ""
    private let format: MetricsFormat

    init(_ format: MetricsFormat = .prometheus) { self.format = format }

    static let boundsMillis = (0...22).map { UInt64(1) << UInt64($0) }

    /// Begins a metric. Everything until the next `begin` belongs to it.
    mutating func begin(_ metric: MetricDescription) {
        let (name, kind) = (metric.name, metric.kind)
        self.name = name
        // In OpenMetrics a counter's family has the name without the suffix of its samples, and quotes are escaped in help, too.
        let isOpen = self.format != .prometheus
        let hasSuffix = isOpen && kind == .counter && name.hasSuffix("_total")
        let family = hasSuffix ? name.dropLast("_total".count) : name[...]
        self.text += "# HELP \(family) "
        self.appendEscaped(metric.help, alsoQuotes: isOpen)
        self.text += "\n# TYPE \(family) \(kind.rawValue)\n"
    }

    mutating func sample(_ labels: [(name: String, value: String)], suffix: String = "", _ value: Double) {
        self.sample(labels, suffix: suffix, written: Self.number(value))
    }

    mutating func sample(_ labels: [(name: String, value: String)], suffix: String = "", _ value: UInt64) {
        self.sample(labels, suffix: suffix, written: "\(value)")
    }

    mutating func sample(_ labels: [(name: String, value: String)], suffix: String = "", _ value: Int) {
        self.sample(labels, suffix: suffix, written: "\(value)")
    }

    /// A metric of one sample.
    mutating func write(_ metric: MetricDescription, _ value: Double) {
        self.begin(metric)
        self.sample([], value)
    }

    /// Buckets at powers of two of milliseconds, in seconds as Prometheus wants it.
    mutating func write(_ metric: MetricDescription, _ distribution: LatencyDistribution) {
        self.begin(metric)
        let examples = self.format == .prometheus ? [] : distribution.examples
        let counts = zip(Self.boundsMillis, distribution.counts(atMostMillis: Self.boundsMillis))
        for (index, (boundMillis, count)) in counts.enumerated() {
            self.sample([("le", Self.number(Double(boundMillis) / 1_000))], suffix: "_bucket", count)
            if !examples.isEmpty { self.append(examples[index]) }
        }
        self.sample([("le", "+Inf")], suffix: "_bucket", distribution.count)
        if let last = examples.last { self.append(last) }
        self.sample([], suffix: "_sum", Double(distribution.sumMicros) / 1_000_000)
        self.sample([], suffix: "_count", distribution.count)
    }

    /// Behind the sample that was written last (OpenMetrics, "Exemplars").
    private mutating func append(_ example: LatencyExample?) {
        guard let example else { return }
        self.text.removeLast()
        self.text += " # {trace_id=\"\(example.place.traceIDText)\",span_id=\"\(example.place.spanIDText)\"}"
        self.text += " \(Self.number(Double(example.micros) / 1_000_000))"
        self.text += " \(Self.number(Double(example.wallMillis) / 1_000))\n"
    }

    /// One line. Appended piece by piece: with two input topics and 256 partitions a page has 800 of them.
    mutating func sample(_ labels: [(name: String, value: String)], suffix: String = "", written value: String) {
        self.text += self.name
        self.text += suffix
        var separator = "{"
        for label in labels {
            self.text += separator
            self.text += label.name
            self.text += "=\""
            self.appendEscaped(label.value, alsoQuotes: true)
            self.text += "\""
            separator = ","
        }
        self.text += labels.isEmpty ? " " : "} "
        self.text += value
        self.text += "\n"
    }

    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        // A whole number without a fraction, where a Double still holds it exactly.
        return value == value.rounded() && abs(value) < 9e15 ? "\(Int64(value))" : "\(value)"
    }

    /// Backslashes and line feeds are escaped, and quotes within a label's value. Few texts have any: those are not copied.
    private mutating func appendEscaped(_ text: String, alsoQuotes: Bool) {
        guard text.utf8.contains(where: { $0 == 0x5C || $0 == 0x0A || $0 == 0x22 && alsoQuotes }) else {
            self.text += text
            return
        }
        // By scalar: CR and LF together are one Character, and the line feed in it would still end the line.
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": self.text += "\\\\"
            case "\n": self.text += "\\n"
            case "\"" where alsoQuotes: self.text += "\\\""
            default: self.text.unicodeScalars.append(scalar)
            }
        }
    }
}

import PushModel

/// Writes the Prometheus text format or OpenMetrics: a head for each metric, then its samples.
struct PrometheusText {
    enum Kind: String { case counter, gauge, histogram }

    /// UTF-8. A page has some ten thousand pieces: appended to a `String` they cost a quarter more.
    private var bytes: [UInt8] = []
    private var name: [UInt8] = []
    private let format: MetricsFormat

    init(_ format: MetricsFormat = .prometheus) {
        self.format = format
        self.bytes.reserveCapacity(Self.usualByteCount)
    }

    /// Of a page with a hundred partitions.
    private static let usualByteCount = 64 * 1_024

    var text: String { String(decoding: self.bytes, as: UTF8.self) }

    static let boundsMillis = (0...22).map { UInt64(1) << UInt64($0) }

    /// Begins a metric. Everything until the next `begin` belongs to it.
    mutating func begin(_ metric: MetricDescription) {
        let (name, kind) = (metric.name, metric.kind)
        self.name = Array(name.utf8)
        // In OpenMetrics a counter's family has the name without the suffix of its samples, and quotes are escaped in help, too.
        let isOpen = self.format != .prometheus
        let hasSuffix = isOpen && kind == .counter && name.hasSuffix("_total")
        let family = hasSuffix ? name.dropLast("_total".count) : name[...]
        self.append("# HELP ")
        self.bytes.append(contentsOf: family.utf8)
        self.append(" ")
        self.appendEscaped(metric.help, alsoQuotes: isOpen)
        self.append("\n# TYPE ")
        self.bytes.append(contentsOf: family.utf8)
        self.append(" ")
        self.append(kind.rawValue)
        self.append("\n")
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
        self.bytes.removeLast()
        self.append(" # {trace_id=\"\(example.place.traceIDText)\",span_id=\"\(example.place.spanIDText)\"}")
        self.append(" \(Self.number(Double(example.micros) / 1_000_000))")
        self.append(" \(Self.number(Double(example.wallMillis) / 1_000))\n")
    }

    /// One line. Appended piece by piece: with two input topics and 256 partitions a page has 800 of them.
    mutating func sample(_ labels: [(name: String, value: String)], suffix: String = "", written value: String) {
        self.bytes.append(contentsOf: self.name)
        self.append(suffix)
        var separator = UInt8(ascii: "{")
        for label in labels {
            self.bytes.append(separator)
            self.append(label.name)
            self.append("=\"")
            self.appendEscaped(label.value, alsoQuotes: true)
            self.bytes.append(UInt8(ascii: "\""))
            separator = UInt8(ascii: ",")
        }
        self.append(labels.isEmpty ? " " : "} ")
        self.append(value)
        self.bytes.append(UInt8(ascii: "\n"))
    }

    private mutating func append(_ text: String) { self.bytes.append(contentsOf: text.utf8) }

    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        // A whole number without a fraction, where a Double still holds it exactly.
        return value == value.rounded() && abs(value) < 9e15 ? "\(Int64(value))" : "\(value)"
    }

    /// Backslashes and line feeds are escaped, and quotes within a label's value. Few texts have any: those are not copied.
    private mutating func appendEscaped(_ text: String, alsoQuotes: Bool) {
        guard text.utf8.contains(where: { $0 == 0x5C || $0 == 0x0A || $0 == 0x22 && alsoQuotes }) else {
            self.append(text)
            return
        }
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\\"): self.append("\\\\")
            case UInt8(ascii: "\n"): self.append("\\n")
            case UInt8(ascii: "\"") where alsoQuotes: self.append("\\\"")
            default: self.bytes.append(byte)
            }
        }
    }
}

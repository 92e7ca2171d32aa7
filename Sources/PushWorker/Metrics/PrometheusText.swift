import PushModel

/// Writes the Prometheus text format or OpenMetrics: a head for each metric, then its samples.
///
/// A page has up to a thousand lines, and most of them differ from the last page only in their numbers. So the constant
/// parts are kept as bytes: a head in each `MetricDescription`, labels in each `CounterRow`.
struct PrometheusText {
    enum Kind: String { case counter, gauge, histogram }

    /// The text so far, in UTF-8.
    private(set) var bytes: [UInt8] = []
    private var name: [UInt8] = []
    private let format: MetricsFormat

    /// - Parameter lineCount: the expected number of lines.
    init(_ format: MetricsFormat = .prometheus, lineCount: Int = 500) {
        self.format = format
        self.bytes.reserveCapacity(lineCount * Self.usualLineByteCount)
    }

    private static let usualLineByteCount = 80

    var text: String { String(decoding: self.bytes, as: UTF8.self) }

    static let boundsMillis = (0...22).map { UInt64(1) << UInt64($0) }

    /// Begins a metric. Everything until the next `begin` belongs to it.
    mutating func begin(_ metric: MetricDescription) {
        self.name = metric.nameBytes
        self.bytes.append(contentsOf: self.format == .prometheus ? metric.head : metric.openHead)
    }

    // MARK: Samples

    mutating func sample(_ labels: [(name: String, value: String)], suffix: String = "", _ value: Double) {
        self.startLine(labels, suffix: suffix)
        self.end(Self.number(value))
    }

    mutating func sample(_ labels: [(name: String, value: String)], suffix: String = "", _ value: UInt64) {
        self.startLine(labels, suffix: suffix)
        self.end(value)
    }

    mutating func sample(_ labels: [(name: String, value: String)], suffix: String = "", _ value: Int) {
        self.startLine(labels, suffix: suffix)
        self.end(value)
    }

    /// Writes a sample whose labels are bytes already.
    /// - Parameter labels: the bytes between the name and the value, see `MetricLabels`. `more` follows them.
    mutating func sample(written labels: [UInt8], then more: [UInt8] = [], _ value: UInt64) {
        self.startLine(written: labels, more)
        self.end(value)
    }

    mutating func sample(written labels: [UInt8], then more: [UInt8] = [], _ value: Int) {
        self.startLine(written: labels, more)
        self.end(value)
    }

    /// Writes a sample with a number among its labels.
    mutating func sample(written labels: [UInt8], number: Int32, _ more: [UInt8], _ value: Int) {
        self.startLine(written: labels, [])
        DecimalDigits.append(Int64(number), to: &self.bytes)
        self.bytes.append(contentsOf: more)
        self.end(value)
    }

    private mutating func startLine(written labels: [UInt8], _ more: [UInt8]) {
        self.bytes.append(contentsOf: self.name)
        self.bytes.append(contentsOf: labels)
        self.bytes.append(contentsOf: more)
    }

    private mutating func startLine(_ labels: [(name: String, value: String)], suffix: String) {
        self.bytes.append(contentsOf: self.name)
        self.bytes.append(contentsOf: suffix.utf8)
        self.bytes.append(contentsOf: MetricLabels.whole(labels))
    }

    private mutating func end(_ value: UInt64) {
        DecimalDigits.append(value, to: &self.bytes)
        self.bytes.append(UInt8(ascii: "\n"))
    }

    private mutating func end(_ value: Int) {
        DecimalDigits.append(Int64(value), to: &self.bytes)
        self.bytes.append(UInt8(ascii: "\n"))
    }

    private mutating func end(_ value: String) {
        self.bytes.append(contentsOf: value.utf8)
        self.bytes.append(UInt8(ascii: "\n"))
    }

    /// Writes a metric of one sample.
    mutating func write(_ metric: MetricDescription, _ value: Double) {
        self.begin(metric)
        self.sample([], value)
    }

    // MARK: Histograms

    /// The bytes between a histogram's name and the count of each bucket; the last bucket has no bound.
    private static let bucketPieces: [[UInt8]] = {
        let bounds = Self.boundsMillis.map { Self.number(Double($0) / 1_000) } + ["+Inf"]
        return bounds.map { Array("_bucket".utf8) + MetricLabels.whole([("le", $0)]) }
    }()

    /// Writes a histogram in seconds, the unit that Prometheus expects. Its buckets end at powers of two of
    /// milliseconds.
    mutating func write(_ metric: MetricDescription, _ distribution: LatencyDistribution) {
        self.begin(metric)
        let examples = self.format == .prometheus ? [] : distribution.examples
        let counts = distribution.counts(atMostMillis: Self.boundsMillis) + [distribution.count]
        for (index, count) in counts.enumerated() {
            self.sample(written: Self.bucketPieces[index], count)
            if !examples.isEmpty { self.append(examples[index]) }
        }
        self.sample([], suffix: "_sum", Double(distribution.sumMicros) / 1_000_000)
        self.sample([], suffix: "_count", distribution.count)
    }

    /// Appends an exemplar after the sample that was written last (OpenMetrics, "Exemplars").
    private mutating func append(_ example: LatencyExample?) {
        guard let example else { return }
        self.bytes.removeLast()
        self.append(" # {trace_id=\"\(example.context.traceIDText)\",span_id=\"\(example.context.spanIDText)\"}")
        self.append(" \(Self.number(Double(example.micros) / 1_000_000))")
        self.append(" \(Self.number(Double(example.wallMillis) / 1_000))\n")
    }

    /// Appends the text unchanged.
    mutating func append(_ text: String) { self.bytes.append(contentsOf: text.utf8) }

    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        // A whole number is written without a fraction if a Double holds it exactly.
        return value == value.rounded() && abs(value) < 9e15 ? "\(Int64(value))" : "\(value)"
    }
}

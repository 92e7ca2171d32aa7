/// Writes the Prometheus text format, version 0.0.4: a head for each metric, then its samples.
struct PrometheusText {
    enum Kind: String { case counter, gauge, histogram }

    private(set) var text = ""
    private var name = ""

    /// Begins a metric. Everything until the next `begin` belongs to it.
    mutating func begin(_ name: String, _ kind: Kind, _ help: String) {
        self.name = name
        self.text += "# HELP \(name) \(Self.escapedHelp(help))\n# TYPE \(name) \(kind.rawValue)\n"
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
    mutating func counter(_ name: String, _ help: String, _ value: UInt64) {
        self.begin(name, .counter, help)
        self.sample([], value)
    }

    mutating func gauge(_ name: String, _ help: String, _ value: Double) {
        self.begin(name, .gauge, help)
        self.sample([], value)
    }

    /// Buckets at powers of two of milliseconds, in seconds as Prometheus wants it.
    mutating func histogram(_ name: String, _ help: String, _ distribution: LatencyDistribution) {
        self.begin(name, .histogram, help)
        for exponent in 0...22 {
            let boundMillis = UInt64(1) << UInt64(exponent)
            self.sample(
                [("le", Self.number(Double(boundMillis) / 1_000))], suffix: "_bucket",
                distribution.count(atMostMillis: boundMillis))
        }
        self.sample([("le", "+Inf")], suffix: "_bucket", distribution.count)
        self.sample([], suffix: "_sum", Double(distribution.sumMicros) / 1_000_000)
        self.sample([], suffix: "_count", distribution.count)
    }

    private mutating func sample(_ labels: [(name: String, value: String)], suffix: String, written value: String) {
        self.text += self.name + suffix
        if !labels.isEmpty {
            self.text +=
                "{" + labels.map { "\($0.name)=\"\(Self.escapedLabel($0.value))\"" }.joined(separator: ",") + "}"
        }
        self.text += " " + value + "\n"
    }

    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        // A whole number without a fraction, where a Double still holds it exactly.
        return value == value.rounded() && abs(value) < 9e15 ? "\(Int64(value))" : "\(value)"
    }

    private static func escapedHelp(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
    }

    private static func escapedLabel(_ text: String) -> String { self.escapedHelp(text).replacing("\"", with: "\\\"") }
}

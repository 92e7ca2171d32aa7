/// A metric apart from its value: its head on the page and its line in the documents. It is a class because rows
/// contain it and are copied often. A copy then counts one reference instead of seven.
final class MetricDescription: Sendable {
    let name: String
    let kind: PrometheusText.Kind
    /// The unit of the value, in the plural, such as `events` or `bytes`. If it is empty, the value is 1 for yes and 0
    /// for no.
    let unit: String
    let help: String
    /// Names of the labels of the metric's samples. The label `le` of a histogram is left out.
    let labels: [String]

    /// The name, and the head in each format, as the bytes of the page.
    let nameBytes: [UInt8]
    let head: [UInt8]
    let openHead: [UInt8]

    init(name: String, kind: PrometheusText.Kind, unit: String, help: String, labels: [String] = []) {
        self.name = name
        self.kind = kind
        self.unit = unit
        self.help = help
        self.labels = labels
        self.nameBytes = Array(name.utf8)
        // In OpenMetrics, the head of a counter has its name without `_total`, and quotes in help texts are escaped.
        let hasSuffix = kind == .counter && name.hasSuffix("_total")
        self.head = Self.head(name[...], kind, help, alsoQuotes: false)
        self.openHead = Self.head(
            hasSuffix ? name.dropLast("_total".count) : name[...], kind, help, alsoQuotes: true)
    }

    private static func head(
        _ family: Substring, _ kind: PrometheusText.Kind, _ help: String, alsoQuotes: Bool
    ) -> [UInt8] {
        var bytes = Array("# HELP \(family) ".utf8)
        MetricLabels.appendEscaped(help, alsoQuotes: alsoQuotes, to: &bytes)
        bytes.append(contentsOf: "\n# TYPE \(family) \(kind.rawValue)\n".utf8)
        return bytes
    }
}

/// Reads numbers from the text of `/metrics`.
package enum PrometheusReading {
    /// Sum of a metric over all its series whose lines contain `label`. It is 0 if there is no such series.
    package static func sum(_ name: String, label: String = "", in text: String) -> Double {
        var sum = 0.0
        for line in text.split(separator: "\n") where line.hasPrefix(name) && line.contains(label) {
            let rest = line.dropFirst(name.count)
            guard rest.first == "{" || rest.first == " ", let number = line.split(separator: " ").last else { continue }
            sum += Double(number) ?? 0
        }
        return sum
    }
}

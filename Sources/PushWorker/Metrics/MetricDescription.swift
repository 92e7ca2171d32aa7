/// What a metric is, whatever its value: its head on the page and its line in the documents.
struct MetricDescription: Sendable, Equatable {
    var name: String
    var kind: PrometheusText.Kind
    /// What its value counts, in the plural: `events`, `bytes`. Empty: 1 for yes, 0 for no.
    var unit: String
    var help: String
    /// Names of the labels of its samples; of a histogram without `le`.
    var labels: [String] = []
}

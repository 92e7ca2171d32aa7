import PushEngine

extension AppCounters: CountedBySource {
    static let sourceLabels: [String] = ["app"]

    /// Rows of all counters but `refusals`, whose reasons are not known beforehand.
    static let rows: [CounterRow<AppCounters>] = [
        .result("accepted", \.accepted), .result("refused", \.refused), .result("not-processed", \.notProcessed),
        .result("unknown", \.unknown),
    ]

    /// Adds the counters of another shard.
    mutating func add(_ other: AppCounters) {
        for row in Self.rows { row.add(other, to: &self) }
        self.addRefusals(other)
    }
}

extension CounterRow<AppCounters> {
    fileprivate static func result(_ result: String, _ path: Unsigned) -> Self {
        .total(
            "mailboat_pushes_answered_total", unit: "requests", "Requests by result.", path,
            label: .init(name: "result", value: result))
    }
}

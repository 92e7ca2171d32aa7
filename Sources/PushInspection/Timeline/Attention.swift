/// Activities that somebody looks at: they are written down whole, however much comes beside them.
struct Attention: Sendable {
    /// At once; of more, the ones that were looked at longest ago are let go.
    static let activitiesMax = 16
    /// How long a look lasts, milliseconds. Who goes on looking looks again.
    static let lookMillis: Int64 = 30_000

    private var untilMillis: [String: Int64] = [:]

    mutating func look(at activity: String, nowMillis: Int64) {
        guard !activity.isEmpty else { return }
        self.untilMillis = self.untilMillis.filter { $0.value > nowMillis }
        if self.untilMillis[activity] == nil, self.untilMillis.count >= Self.activitiesMax,
            let oldest = self.untilMillis.min(by: { $0.value < $1.value })?.key
        {
            self.untilMillis[oldest] = nil
        }
        self.untilMillis[activity] = nowMillis + Self.lookMillis
    }

    /// Those that are looked at.
    func activities(nowMillis: Int64) -> Set<String> {
        Set(self.untilMillis.filter { $0.value > nowMillis }.keys)
    }
}

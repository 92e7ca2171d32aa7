/// Activities that somebody looks at: they are written down whole, however much comes beside them.
struct Attention: Sendable {
    /// At once; of more, the ones that were looked at longest ago are let go.
    static let activitiesMax = 16
    /// How long a look lasts, milliseconds. Who goes on looking looks again.
    static let lookMillis: Int64 = 30_000

    private var untilMillis: [String: Int64] = [:]

    /// - Returns: whether nobody looked at it before.
    mutating func look(at activity: String, nowMillis: Int64) -> Bool {
        guard !activity.isEmpty else { return false }
        self.untilMillis = self.untilMillis.filter { $0.value > nowMillis }
        let isNew = self.untilMillis[activity] == nil
        if isNew, self.untilMillis.count >= Self.activitiesMax,
            let oldest = self.untilMillis.min(by: { $0.value < $1.value })?.key
        {
            self.untilMillis[oldest] = nil
        }
        self.untilMillis[activity] = nowMillis + Self.lookMillis
        return isNew
    }

    /// Whether it is one of those that were looked at last, perhaps a while ago.
    func holds(_ activity: String) -> Bool { self.untilMillis[activity] != nil }

    /// Those that are looked at.
    func activities(nowMillis: Int64) -> Set<String> {
        Set(self.untilMillis.filter { $0.value > nowMillis }.keys)
    }
}

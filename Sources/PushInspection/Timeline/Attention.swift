/// Activities that somebody looks at: they are written down whole, however much comes beside them.
struct Attention: Sendable {
    /// At once; of more, the ones that were looked at longest ago are let go.
    static let activitiesMax = 16
    /// How long a look lasts, milliseconds. Who goes on looking looks again.
    static let lookMillis: Int64 = 30_000

    private var untilMillis: [String: Int64] = [:]
    /// Those that nobody has asked for. They give way first.
    private var byTheWay: Set<String> = []

    /// - Parameter isByTheWay: it is only taken where there is room.
    /// - Returns: whether nobody looked at it before.
    mutating func look(at activity: String, nowMillis: Int64, isByTheWay: Bool = false) -> Bool {
        guard !activity.isEmpty else { return false }
        self.untilMillis = self.untilMillis.filter { $0.value > nowMillis }
        self.byTheWay.formIntersection(self.untilMillis.keys)
        let isNew = self.untilMillis[activity] == nil
        if isNew, self.untilMillis.count >= Self.activitiesMax {
            guard !isByTheWay else { return false }
            let first = self.untilMillis.filter { self.byTheWay.contains($0.key) }
            if let oldest = (first.isEmpty ? self.untilMillis : first).min(by: { $0.value < $1.value })?.key {
                self.untilMillis[oldest] = nil
                self.byTheWay.remove(oldest)
            }
        }
        self.untilMillis[activity] = nowMillis + Self.lookMillis
        if !isByTheWay { self.byTheWay.remove(activity) } else if isNew { self.byTheWay.insert(activity) }
        return isNew
    }

    /// Whether it is one of those that were looked at last, perhaps a while ago.
    func holds(_ activity: String) -> Bool { self.untilMillis[activity] != nil }

    /// Those that are looked at.
    func activities(nowMillis: Int64) -> Set<String> {
        Set(self.untilMillis.filter { $0.value > nowMillis }.keys)
    }
}

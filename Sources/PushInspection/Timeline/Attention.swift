/// Activities that somebody looks at. Their entries are all recorded, however many others arrive.
struct Attention: Sendable {
    /// Maximum number of activities at once. If there are more, the least recently looked at are dropped.
    static let slotsMax = 16
    /// How long a look lasts, in milliseconds. A page that is still open renews its look.
    static let lookMillis: Int64 = 30_000

    private var untilMillis: [String: Int64] = [:]
    /// Activities with a look that nobody asked for, such as when the page publishes an event. If there is no room,
    /// these activities are dropped first.
    private var byTheWay: Set<String> = []

    /// Remembers a look at an activity.
    /// - Parameter isByTheWay: whether the look is taken only if there is room.
    /// - Returns: whether nobody looked at the activity before.
    mutating func look(at activity: String, nowMillis: Int64, isByTheWay: Bool = false) -> Bool {
        guard !activity.isEmpty else { return false }
        self.untilMillis = self.untilMillis.filter { $0.value > nowMillis }
        self.byTheWay.formIntersection(self.untilMillis.keys)
        let isNew = self.untilMillis[activity] == nil
        if isNew, self.untilMillis.count >= Self.slotsMax {
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

    /// Whether the activity is among those last looked at, perhaps a while ago.
    func holds(_ activity: String) -> Bool { self.untilMillis[activity] != nil }

    /// The activities that somebody looks at now.
    func activities(nowMillis: Int64) -> Set<String> {
        Set(self.untilMillis.filter { $0.value > nowMillis }.keys)
    }
}

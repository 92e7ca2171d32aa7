/// Remembers the positions of a pass, with the time at which the pass was there. The pass must not return to a member
/// before the least time between two pushes is over.
///
/// A few marks are enough: members between two marks were served no later than the second mark says. No mark is needed
/// for a position where the last round was longer ago than that time.
struct PassMarks {
    private struct Mark {
        /// The members from this position up to the next mark were served between `firstMillis` and `lastMillis`.
        var position: Int64
        var firstMillis: Int64
        var lastMillis: Int64
    }
    /// Number of marks within the least time between two pushes.
    private static let perDistance: Int64 = 8
    /// The marks, oldest first.
    private var marks: [Mark] = []

    /// Creates the marks of a pass that has served nobody.
    init() {}

    /// Marks that the member at `position` is served now.
    mutating func served(_ position: Int64, distanceMillis: Int64, nowMillis: Int64) {
        let last = self.marks.count - 1
        if last >= 0, nowMillis - self.marks[last].firstMillis < distanceMillis / Self.perDistance {
            self.marks[last].lastMillis = nowMillis
            return
        }
        self.drop(distanceMillis: distanceMillis, nowMillis: nowMillis)
        self.marks.append(Mark(position: position, firstMillis: nowMillis, lastMillis: nowMillis))
    }

    /// When the member at `position` may be served again (steady clock).
    func notBeforeMillis(_ position: Int64, distanceMillis: Int64) -> Int64 {
        // The mark of the previous lap at this position.
        guard let mark = self.marks.last(where: { $0.position + PassCourse.circle <= position }) else { return .min }
        return mark.lastMillis + distanceMillis
    }

    /// Lowers all positions by some laps.
    mutating func rebase(by laps: Int64) {
        for index in self.marks.indices { self.marks[index].position -= laps }
    }

    /// Drops marks that delay nobody now.
    private mutating func drop(distanceMillis: Int64, nowMillis: Int64) {
        var count = 0
        while count < self.marks.count, self.marks[count].lastMillis + distanceMillis <= nowMillis { count += 1 }
        if count > 0 { self.marks.removeFirst(count) }
    }
}

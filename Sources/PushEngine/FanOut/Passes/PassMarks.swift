/// Remembers the positions where a pass has been, and when. The pass must not return to a member before the least time
/// between two pushes is over.
///
/// A few marks are enough. A mark covers all members from its position up to the next mark, and its last time counts
/// for each of them. Marks that are older than the least time are dropped.
struct PassMarks {
    private struct Mark {
        /// The members from this position up to the next mark were served between `firstMillis` and `lastMillis`.
        var position: Int64
        var firstMillis: Int64
        var lastMillis: Int64
    }
    /// Number of marks that are made within the least time between two pushes.
    private static let perDistance: Int64 = 8
    /// The marks, oldest first.
    private var marks: [Mark] = []

    /// Creates the marks of a pass that has served nobody.
    init() {}

    /// Remembers that the member at `position` is served now.
    mutating func served(_ position: Int64, distanceMillis: Int64, nowMillis: Int64) {
        let last = self.marks.count - 1
        if last >= 0, nowMillis - self.marks[last].firstMillis < distanceMillis / Self.perDistance {
            self.marks[last].lastMillis = nowMillis
            return
        }
        self.drop(distanceMillis: distanceMillis, nowMillis: nowMillis)
        self.marks.append(Mark(position: position, firstMillis: nowMillis, lastMillis: nowMillis))
    }

    /// When the member at `position` may be served again (steady clock); `Int64.min`: no mark delays it.
    func notBeforeMillis(_ position: Int64, distanceMillis: Int64) -> Int64 {
        // The mark that covers this position in an earlier lap.
        guard let mark = self.marks.last(where: { $0.position + PassCourse.circle <= position }) else { return .min }
        return mark.lastMillis + distanceMillis
    }

    /// Lowers all positions by whole laps.
    /// - Parameter laps: number of positions in these laps.
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

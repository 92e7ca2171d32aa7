/// Lets one line of a kind through per interval, and counts those it holds back. Pure.
struct RepeatLimit<Kind: Hashable, Line> {
    /// The least time between two lines of a kind.
    let intervalMillis: Int64
    /// Most kinds remembered; beyond that, the one let through longest ago is forgotten.
    let kindCountMax: Int

    private struct Entry {
        var admittedMillis: Int64
        var keptBackCount = 0
        /// The newest line that was held back.
        var line: Line?
    }
    private var entries: [Kind: Entry] = [:]

    init(intervalMillis: Int64, kindCountMax: Int) {
        self.intervalMillis = intervalMillis
        self.kindCountMax = kindCountMax
    }

    /// Decides whether `line` goes through. Returns the number of lines of its kind held back before it; `nil`: the
    /// line is held back.
    mutating func admit(_ line: Line, of kind: Kind, nowMillis: Int64) -> Int? {
        if let entry = self.entries[kind], nowMillis - entry.admittedMillis < self.intervalMillis {
            self.entries[kind] = Entry(
                admittedMillis: entry.admittedMillis, keptBackCount: entry.keptBackCount + 1, line: line)
            return nil
        }
        let keptBackCount = self.entries[kind]?.keptBackCount ?? 0
        self.entries[kind] = Entry(admittedMillis: nowMillis)
        if self.entries.count > self.kindCountMax { self.forgetOldest() }
        return keptBackCount
    }

    /// Removes the newest line of each kind that was held back for an interval, with the number of lines it represents,
    /// itself included.
    mutating func takeDue(nowMillis: Int64) -> [(kind: Kind, line: Line, count: Int)] {
        var due: [(kind: Kind, line: Line, count: Int)] = []
        for (kind, entry) in self.entries where nowMillis - entry.admittedMillis >= self.intervalMillis {
            if let line = entry.line {
                due.append((kind, line, entry.keptBackCount))
                self.entries[kind] = Entry(admittedMillis: nowMillis)
            } else {
                self.entries[kind] = nil
            }
        }
        return due
    }

    private mutating func forgetOldest() {
        let oldest = self.entries.min { $0.value.admittedMillis < $1.value.admittedMillis }
        if let oldest { self.entries[oldest.key] = nil }
    }
}

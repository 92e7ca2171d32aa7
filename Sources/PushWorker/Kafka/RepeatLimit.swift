/// Lets one line of each kind through per interval, and counts the lines that it holds back. Pure.
struct RepeatLimit<Kind: Hashable, Line> {
    /// The least time between two lines of a kind.
    let intervalMillis: Int64
    /// Maximum number of kinds that are remembered. If there are more, the kind whose line was let through longest ago
    /// is forgotten.
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

    /// Decides whether `line` goes through.
    /// - Returns: how many lines of this kind were held back since one last went through; `nil` if this line is held
    ///   back, too.
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

    /// Removes and returns the newest line of each kind that has been held back for an interval. `count` is the number
    /// of lines it represents, itself included.
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

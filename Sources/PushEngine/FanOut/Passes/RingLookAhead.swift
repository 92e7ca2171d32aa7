/// The next members of a ring, looked up a few at a time.
///
/// Positions are not reset after a lap: the same position one lap later is `RingPosition.end` more.
struct RingLookAhead {
    /// Number of members that are looked up together.
    static let countMax = 64

    private(set) var entries: [RingEntry] = []
    private var passedCount = 0
    /// The end of the positions that were looked up, exclusive; 0: none were. `entries` has all members from where the
    /// look-up began to this position.
    private(set) var end: Int64 = 0

    /// The first member that has not been passed; `nil`: all members that were looked up have been passed.
    @inline(__always) var next: RingEntry? {
        self.passedCount < self.entries.count ? self.entries[self.passedCount] : nil
    }
    /// Looks up members of a ring from a position on.
    mutating func lookUp(_ ring: RingID, from position: Int64, in table: borrowing MemberTable) {
        self.forget()
        let here = position & Int64(RingPosition.end - 1)
        let end = table.fill(ring, from: UInt64(here), limit: Self.countMax, into: &self.entries)
        self.end = position - here + Int64(end)
    }
    /// Counts the next member as passed.
    @inline(__always) mutating func passed() { self.passedCount += 1 }
    /// Lowers the end by whole laps.
    /// - Parameter laps: number of positions in these laps.
    mutating func rebase(by laps: Int64) { self.end -= laps }
    /// Forgets what was looked up.
    mutating func forget() {
        self.entries.removeAll(keepingCapacity: true)
        self.passedCount = 0
        self.end = 0
    }
}

import PushModel

extension CrowdStarts {
    /// A start whose pushes left, or may have left, within the last hour.
    struct Past: Equatable {
        var start: StartStamp
        /// When the start's last push left (steady clock).
        var lastSentMillis: Int64
        /// When the start's last push left, by the wall clock of that moment. Times of joins are compared with it.
        var lastSentWallMillis: Int64

        /// The most by which clocks may differ, or a clock may be set back, milliseconds.
        static let clockDifferenceMillisMax: Int64 = 300_000
        /// Whether the start may have been sent to a member that joined at this time. It is better to count a start
        /// that the member was not sent than to miss one that it was sent.
        func mayHaveReached(joinedSeconds: UInt32) -> Bool {
            Int64(joinedSeconds) * 1_000 <= self.lastSentWallMillis + Self.clockDifferenceMillisMax
        }
        func isOver(nowMillis: Int64) -> Bool { self.lastSentMillis + RollingBudget.windowMillis <= nowMillis }
    }
    /// Maximum number of starts of one audience that are remembered within an hour. More are not needed, because
    /// `start.per-hour` cannot be higher.
    static let pastMax = AppConfiguration.startsPerHourMax
}

/// Starts of an audience whose pushes left, or may have left, within the last hour. A start may have been sent to
/// members that joined before its last push, or up to `clockDifferenceMillisMax` after it.
struct PastStarts {
    /// The starts, the oldest first.
    private(set) var all: [CrowdStarts.Past] = []

    @inline(__always) var isEmpty: Bool { self.all.isEmpty }
    /// Until when members have to be remembered for the starts that they were sent (steady clock).
    func untilMillis(nowMillis: Int64) -> Int64 {
        self.all.reduce(nowMillis) { max($0, $1.lastSentMillis + RollingBudget.windowMillis) }
    }
    /// The newest start other than the present one that a member may have been sent.
    func newest(but current: StartStamp, joinedSeconds: UInt32) -> StartStamp? {
        self.all.last { !$0.start.names(current) && $0.mayHaveReached(joinedSeconds: joinedSeconds) }?.start
    }
    /// Whether a member may have been sent this start.
    func mayHaveReached(_ start: StartStamp, joinedSeconds: UInt32) -> Bool {
        self.all.contains { $0.start.names(start) && $0.mayHaveReached(joinedSeconds: joinedSeconds) }
    }

    // MARK: What happens

    /// Remembers that a push of the start leaves or may have left.
    @inline(__always) mutating func sent(_ start: StartStamp, now: EngineTime) {
        let last = self.all.count - 1
        guard last >= 0, self.all[last].start.names(start) else { return self.begin(start, now: now) }
        self.all[last].start = start
        self.all[last].lastSentMillis = max(self.all[last].lastSentMillis, now.steadyMillis)
        self.all[last].lastSentWallMillis = max(self.all[last].lastSentWallMillis, now.wallMillis)
    }
    @inline(never) private mutating func begin(_ start: StartStamp, now: EngineTime) {
        self.timePassed(nowMillis: now.steadyMillis)
        if self.all.count >= CrowdStarts.pastMax { self.all.removeFirst() }
        self.all.append(
            CrowdStarts.Past(start: start, lastSentMillis: now.steadyMillis, lastSentWallMillis: now.wallMillis))
    }
    /// Drops starts whose last push left an hour ago or earlier. They no longer count.
    mutating func timePassed(nowMillis: Int64) { self.all.removeAll { $0.isOver(nowMillis: nowMillis) } }

    // MARK: Records

    /// Takes over the starts of a restored record, whose `lastSentMillis` are wall milliseconds.
    mutating func restored(_ past: [CrowdStarts.Past], now: EngineTime) {
        self.all = past.map {
            var past = $0
            past.lastSentMillis = now.steadyMillis - max(0, now.wallMillis - $0.lastSentMillis)
            return past
        }
    }
    /// The starts as they are written to a record, with wall milliseconds in `lastSentMillis`.
    /// - Parameter announced: the start for which the record announces members. Its pushes may leave soon, so it counts
    ///   as sent now.
    func recorded(announced: StartStamp?, now: EngineTime) -> [CrowdStarts.Past] {
        var past = self.all.map {
            var past = $0
            past.lastSentMillis = now.wallMillis - (now.steadyMillis - $0.lastSentMillis)
            return past
        }
        guard let announced else { return past }
        let before = past.last { $0.start.names(announced) }?.lastSentWallMillis ?? 0
        past.removeAll { $0.start.names(announced) }
        past.append(
            CrowdStarts.Past(
                start: announced, lastSentMillis: now.wallMillis, lastSentWallMillis: max(before, now.wallMillis)))
        if past.count > CrowdStarts.pastMax { past.removeFirst() }
        return past
    }
}

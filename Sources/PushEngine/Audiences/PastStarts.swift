import PushModel

extension CrowdStarts {
    /// A start whose pushes left here.
    struct Past: Equatable {
        var start: StartStamp
        /// The last of them, steady.
        var lastSentMillis: Int64
        /// When that was by the wall clock of then, with which joins are compared.
        var lastSentWallMillis: Int64

        /// A clock may differ so much from another's, and from what it says after it was set back.
        static let clockDifferenceMillisMax: Int64 = 300_000
        /// Whether it may have been sent to somebody who joined then. Rather one too many than one too few.
        func mayHaveReached(joinedSeconds: UInt32) -> Bool {
            Int64(joinedSeconds) * 1_000 <= self.lastSentWallMillis + Self.clockDifferenceMillisMax
        }
        func isOver(nowMillis: Int64) -> Bool { self.lastSentMillis + RollingBudget.windowMillis <= nowMillis }
    }
    /// More starts of one audience are not told apart within an hour: `start.per-hour` reaches no further.
    static let pastMax = AppConfiguration.startsPerHourMax
}

/// Starts of an audience whose pushes left within the hour: who was a member meanwhile may have been sent them.
struct PastStarts {
    /// The oldest first.
    private(set) var all: [CrowdStarts.Past] = []

    @inline(__always) var isEmpty: Bool { self.all.isEmpty }
    /// When no member need be remembered for what it was sent, steady.
    func untilMillis(nowMillis: Int64) -> Int64 {
        self.all.reduce(nowMillis) { max($0, $1.lastSentMillis + RollingBudget.windowMillis) }
    }
    /// The newest start but one that a member may have been sent.
    func newest(but current: StartStamp, joinedSeconds: UInt32) -> StartStamp? {
        self.all.last { !$0.start.names(current) && $0.mayHaveReached(joinedSeconds: joinedSeconds) }?.start
    }
    /// A member may have been sent this one.
    func mayHaveReached(_ start: StartStamp, joinedSeconds: UInt32) -> Bool {
        self.all.contains { $0.start.names(start) && $0.mayHaveReached(joinedSeconds: joinedSeconds) }
    }

    // MARK: What happens

    /// A push of the start leaves, or may have left.
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
    /// What is older than an hour does not count.
    mutating func timePassed(nowMillis: Int64) { self.all.removeAll { $0.isOver(nowMillis: nowMillis) } }

    // MARK: Records

    /// A restore has read them: a record has wall milliseconds alone.
    mutating func restored(_ past: [CrowdStarts.Past], now: EngineTime) {
        self.all = past.map {
            var past = $0
            past.lastSentMillis = now.steadyMillis - max(0, now.wallMillis - $0.lastSentMillis)
            return past
        }
    }
    /// As a record has them.
    /// - Parameter announced: a start that members are announced to: it leaves from here on.
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

/// Decides how many requests of a route may be in flight: as many as keep this loop or APNs busy, even if more streams
/// are free. The type is pure: the caller passes measurements and the time.
///
/// A loop that is busy all the time sends no more pushes when more of them are in flight: they only wait in queues.
/// Each push then costs more, because the data for its answer has left the processor's caches. A push takes a sixth
/// more CPU time with 4,000 in flight than with 400. Each push is answered later, too. So the window is adjusted in
/// rounds of at least 20 ms. It shrinks when the loop is busy and answers take clearly longer than a round trip to
/// APNs. If answers take no longer and the route wants more, the window grows, and doubles if the loop is not busy.
///
/// A loop that waits for a CPU core counts as busy. If only its CPU time counted, a loop that gets half a core would
/// seem to have time to spare. The window would double from round to round up to the number of streams. A request of
/// the route would then wait behind all the others.
public struct InFlightWindow: Sendable {
    /// The largest window, in requests.
    public static let countMax = 1 << 20
    /// Shortest duration of a round. A round also lasts at least two round trips to APNs, so that it shows the effect
    /// of the last change.
    public static let roundMicrosMin: Int64 = 20_000
    /// A loop counts as busy if it ran, or waited for a core, for at least this share of a round.
    public static let busyShare = 0.7
    /// An answer counts as delayed by queues if it took more than one and a half round trips plus this time.
    public static let queueingMicros: Int64 = 1_000

    /// Number of requests that may be in flight.
    public private(set) var count: Int
    /// When the round ends, steady microseconds.
    public private(set) var roundEndsMicros: Int64 = 0

    private let countMin: Int
    /// Estimated time of a round trip to APNs without queues; `nil` before the first answer.
    private var wayMicros: Int64?
    private var shortestMicros: Int64?
    private var roundBeganMicros: Int64?
    private var busyMicrosAtBegin: Int64?

    /// - Parameters:
    ///   - atFirst: requests that may be in flight at first. At least `min`.
    ///   - min: the smallest window. 1 or more.
    public init(atFirst: Int, min: Int) {
        self.countMin = Swift.max(1, min)
        self.count = Swift.max(self.countMin, atFirst)
    }

    /// Takes a measured time, from a push's departure to its acceptance. The shortest of a round counts.
    public mutating func measureRoundTrip(afterMicros: Int64) {
        self.shortestMicros = min(self.shortestMicros ?? .max, afterMicros)
    }

    /// Ends the round if it is over. Returns `true` if more requests may be in flight than before.
    /// - Parameters:
    ///   - nowMicros: steady microseconds.
    ///   - isWanted: more pushes are ready than the window lets through.
    ///   - busyMicros: returns the total time for which this thread has run or waited for a core so far; `nil` if
    ///     unknown. Called only at the end of a round.
    public mutating func look(nowMicros: Int64, isWanted: Bool, busyMicros: () -> Int64?) -> Bool {
        guard nowMicros >= self.roundEndsMicros else { return false }
        let busy = busyMicros()
        let before = self.count
        if let began = self.roundBeganMicros {
            self.endRound(wallMicros: nowMicros - began, isWanted: isWanted, busyMicros: busy)
        }
        self.roundBeganMicros = nowMicros
        self.busyMicrosAtBegin = busy
        self.shortestMicros = nil
        self.roundEndsMicros = nowMicros + max(Self.roundMicrosMin, 2 * (self.wayMicros ?? 0))
        return self.count > before
    }

    private mutating func endRound(wallMicros: Int64, isWanted: Bool, busyMicros: Int64?) {
        var isBusy = false
        if let busyMicros, let begin = self.busyMicrosAtBegin, wallMicros > 0 {
            isBusy = Double(busyMicros - begin) >= Self.busyShare * Double(wallMicros)
        }
        if let shortest = self.shortestMicros {
            let way = self.wayMicros ?? shortest
            // Longer times than the estimate may be due to queues. If they last while this loop has time to spare, the
            // estimate approaches them.
            self.wayMicros = shortest <= way || isBusy ? min(way, shortest) : way + (shortest - way + 7) / 8
            if shortest > way + way / 2 + Self.queueingMicros {
                if isBusy { self.count = max(self.countMin, self.count - self.count / 4) }
                return
            }
        }
        guard isWanted else { return }
        self.count = min(Self.countMax, isBusy ? self.count + self.count / 16 : self.count * 2)
    }
}

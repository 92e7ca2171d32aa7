/// Decides how many requests of a route may be in flight. That many keep this loop or APNs busy, and there may be more
/// streams. The type is pure: the caller passes measurements and the time.
///
/// A loop that is busy all the time sends no more pushes when more of them are in flight: they only wait in queues.
/// Each then costs more, because the data for its answer has left the processor's caches (a sixth more CPU per push
/// with 4,000 in flight than with 400). Each is answered later, too. So the window changes in rounds of a few
/// milliseconds. It shrinks when the loop is busy and answers take longer than the way to APNs and back. It may double
/// when the route wanted more and answers took no longer than that.
///
/// A loop that waits for its core is as busy as one that has it. If only the CPU time it has used were counted, half a
/// core would look like time to spare. The window would double from round to round up to the number of streams, and all
/// other requests of the route would wait for their answers.
public struct InFlightWindow: Sendable {
    /// The widest window, in requests.
    public static let countMax = 1 << 20
    /// The shortest round. A round also lasts at least two ways to APNs and back, so that it shows the effect of the
    /// last change.
    public static let roundMicrosMin: Int64 = 20_000
    /// The share of a round from which on a loop counts as busy.
    public static let busyShare = 0.7
    /// Time beyond one and a half ways to APNs and back after which an answer has waited in queues.
    public static let queueingMicros: Int64 = 1_000

    /// Number of requests that may be in flight.
    public private(set) var count: Int
    /// When the round ends, steady microseconds.
    public private(set) var roundEndsMicros: Int64 = 0

    private let countMin: Int
    /// The shortest time from request to answer, without queues as far as known; `nil` before the first answer.
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

    /// Takes a measured time, from a push's departure to its acceptance. The shortest counts.
    public mutating func measureRoundTrip(afterMicros: Int64) {
        self.shortestMicros = min(self.shortestMicros ?? .max, afterMicros)
    }

    /// Ends the round if it is over. Returns `true` if more requests may be in flight than before.
    /// - Parameters:
    ///   - nowMicros: steady microseconds.
    ///   - isWanted: more pushes are ready than the window lets through.
    ///   - busyMicros: how long this thread has run so far, or waited for a core; `nil` if unknown. Called only at the
    ///     end of a round.
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
            // A longer way than the known one may be due to queues. If it lasts while this loop has time to spare, the
            // known way approaches it.
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

/// How many requests of a route may be in flight: as many as keep this loop or APNs busy, not as many as streams allow.
/// Pure: told what was measured, and the time.
///
/// A loop that is busy all the time sends no more pushes when more of them are in flight; they only lie in queues. Each
/// costs more then: what an answer needs has left the processor's caches by the time it comes (a sixth more CPU per
/// push with 4,000 in flight than with 400). Each is answered later, too. So in rounds of a few milliseconds: a busy loop
/// whose answers come later than the way to APNs and back explains takes less; a route that wanted more, and whose answers
/// came as fast as that, may have up to twice as much.
///
/// A loop that waits for its core is as busy as one that has it. If only the CPU time it has used were counted, half a core
/// would look like time to spare. The window would double from round to round up to all streams there are, and everything
/// else on the route would be answered behind that.
public struct InFlightWindow: Sendable {
    /// The window never gets wider than this many requests.
    public static let countMax = 1 << 20
    /// The shortest round. One also lasts two ways to APNs and back, so that it shows what the last change did.
    public static let roundMicrosMin: Int64 = 20_000
    /// The share of a round from which on a loop counts as busy.
    public static let busyShare = 0.7
    /// On top of one and a half ways to APNs and back: later answers have waited in queues.
    public static let queueingMicros: Int64 = 1_000

    /// Requests that may be in flight.
    public private(set) var count: Int
    /// When the round ends, steady microseconds.
    public private(set) var roundEndsMicros: Int64 = 0

    private let countMin: Int
    /// The shortest time from request to answer, without queues as far as known; `nil`: none yet.
    private var wayMicros: Int64?
    private var shortestMicros: Int64?
    private var roundBeganMicros: Int64?
    private var busyMicrosAtBegin: Int64?

    /// - Parameters:
    ///   - atFirst: requests that may be in flight to begin with. At least `min`.
    ///   - min: it never gets smaller. 1 or more.
    public init(atFirst: Int, min: Int) {
        self.countMin = Swift.max(1, min)
        self.count = Swift.max(self.countMin, atFirst)
    }

    /// A push was accepted so long after it left.
    public mutating func noteWay(afterMicros: Int64) {
        self.shortestMicros = min(self.shortestMicros ?? .max, afterMicros)
    }

    /// Ends the round if it is over. `true`: more may be in flight than before.
    /// - Parameters:
    ///   - nowMicros: steady microseconds.
    ///   - isWanted: more pushes are ready than the window lets through.
    ///   - busyMicros: how long this thread has run so far, or waited for a core; asked only at the end of a round. `nil`: not known.
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
            // A longer way than known may be queues. If it lasts while this loop has time to spare, it is believed bit by bit.
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

/// When another Kafka client takes the place of one that has ended. Such an end is one of the client alone, such as a sequence
/// number that the broker did not expect: Kafka is there, and so is the group. Pure.
struct ProducerRenewal {
    /// Whether the client has ended. Asked several times in each turn.
    private(set) var isDue = false
    /// Why the client has ended; `nil`: it works.
    private(set) var failure: ProduceFailure?
    /// The client has been told to give back what it has.
    var isGivingBack = false
    /// When it ended, steady.
    private(set) var endedMillis: Int64 = 0
    private var attempt = 0
    private var dueMillis: Int64 = 0
    private var lastMillis: Int64?

    /// A client that ends again so soon is followed by another after a pause, which doubles each time.
    static let calmMillis: Int64 = 60_000
    static let pauseMillisMin: Int64 = 1_000
    static let pauseMillisMax: Int64 = 30_000
    /// A client that has not given back what it had by then is taken for broken.
    static let returnMillisMax: Int64 = 60_000

    /// Kafka's client says so of a record, or of all.
    mutating func clientEnded(_ failure: ProduceFailure, nowMillis: Int64) {
        guard !self.isDue else { return }
        self.isDue = true
        (self.failure, self.endedMillis, self.isGivingBack) = (failure, nowMillis, false)
        if let last = self.lastMillis, nowMillis - last < Self.calmMillis {
            self.wait(nowMillis: nowMillis)
        } else {
            (self.attempt, self.dueMillis) = (0, nowMillis)
        }
    }

    /// No other could be made.
    mutating func failed(nowMillis: Int64) { self.wait(nowMillis: nowMillis) }

    private mutating func wait(nowMillis: Int64) {
        self.dueMillis = nowMillis + min(Self.pauseMillisMax, Self.pauseMillisMin << Int64(min(self.attempt, 8)))
        self.attempt += 1
    }

    /// When another client may be made, or the one that has ended is waited for no longer, steady; `nil`: it works.
    func nextMillis(isAllBack: Bool) -> Int64? {
        guard self.isDue else { return nil }
        return isAllBack ? self.dueMillis : self.endedMillis + Self.returnMillisMax
    }

    /// Another has taken its place.
    mutating func renewed(nowMillis: Int64) {
        (self.isDue, self.failure, self.isGivingBack, self.lastMillis) = (false, nil, false, nowMillis)
    }
}

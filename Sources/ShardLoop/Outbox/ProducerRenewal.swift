/// Decides when another Kafka client replaces one that has ended. A client ends for a reason that concerns only itself,
/// for example a sequence number that the broker did not expect. Kafka and the group still work. The type is pure.
struct ProducerRenewal {
    /// Whether the client has ended. It is checked several times in each turn.
    private(set) var isDue = false
    /// Why the client has ended; `nil` while it works.
    private(set) var failure: ProduceFailure?
    /// Whether the client has been asked to return its records.
    var isGivingBack = false
    /// When the client ended, on the steady clock.
    private(set) var endedMillis: Int64 = 0
    private var attempt = 0
    private var dueMillis: Int64 = 0
    private var lastMillis: Int64?

    /// If a client ends within this time after it was made, the next client is made after a pause, which doubles each
    /// time.
    static let calmMillis: Int64 = 60_000
    static let pauseMillisMin: Int64 = 1_000
    static let pauseMillisMax: Int64 = 30_000
    /// A client that has not returned its records within this time counts as broken.
    static let returnMillisMax: Int64 = 60_000

    /// Remembers that the client has ended. The client may report its end with each record that fails, and by itself.
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

    /// Delays the next attempt, because no other client could be made.
    mutating func failed(nowMillis: Int64) { self.wait(nowMillis: nowMillis) }

    private mutating func wait(nowMillis: Int64) {
        self.dueMillis = nowMillis + min(Self.pauseMillisMax, Self.pauseMillisMin << Int64(min(self.attempt, 8)))
        self.attempt += 1
    }

    /// When another client may be made, on the steady clock. While the old client still has records, this is when the
    /// wait for them ends. `nil` while the client works.
    func nextMillis(isAllBack: Bool) -> Int64? {
        guard self.isDue else { return nil }
        return isAllBack ? self.dueMillis : self.endedMillis + Self.returnMillisMax
    }

    /// Ends the renewal, because another client has replaced the old one.
    mutating func renewed(nowMillis: Int64) {
        (self.isDue, self.failure, self.isGivingBack, self.lastMillis) = (false, nil, false, nowMillis)
    }
}

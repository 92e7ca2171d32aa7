/// When records that wait are handed to librdkafka: together, a few times a second.
///
/// librdkafka makes a request of each partition's records. A request costs as much as some thirty records in it, in this process and at the
/// broker, and after each librdkafka looks at every partition it writes to. So a record waits for others of its partition, at every rate:
/// while few come, requests are most of what a push costs.
///
/// A slot's next push waits for the outcome of the one before and then for its state record, which gather one after the other. What both
/// take stays below the least distance between two pushes, so that gathering holds no push back: when Kafka acknowledges slowly, records
/// wait less. Told the time; pure.
struct OutboxPace {
    /// The least distance between two pushes of an activity that may be configured.
    static let distanceMillis: Int64 = 1_000
    /// Part of that distance that is kept for APNs' answer and for late turns.
    static let answerMillis: Int64 = 200
    /// Records wait so long however slow Kafka is: more requests would not make it faster.
    static let holdMillisMin: Int64 = 50
    /// Handed over however short they waited.
    static let recordCountMax = 16_384

    /// The longest a record waits when Kafka is fast.
    private(set) var holdMillisMax: Int64
    /// Records that wait when they are handed over without waiting longer.
    private(set) var recordCountMax: Int
    /// Since when the oldest waits, steady; `nil`: nothing does.
    private var waitingSinceMillis: Int64?
    /// How long Kafka takes to acknowledge what was handed over together, all of it: the longest of late.
    private(set) var acknowledgementMillis: Int64 = 0

    /// - Parameters:
    ///   - holdMillis: the longest a record may wait.
    ///   - unacknowledgedMax: the number of unacknowledged records at which the shard takes and sends nothing more. Few wait, compared with it.
    init(holdMillis: Int64, unacknowledgedMax: Int) {
        self.holdMillisMax = holdMillis
        self.recordCountMax = Self.recordCount(unacknowledgedMax: unacknowledgedMax)
    }

    /// Takes other limits from here on.
    mutating func follow(holdMillis: Int64, unacknowledgedMax: Int) {
        self.holdMillisMax = holdMillis
        self.recordCountMax = Self.recordCount(unacknowledgedMax: unacknowledgedMax)
    }

    private static func recordCount(unacknowledgedMax: Int) -> Int {
        max(1, min(Self.recordCountMax, unacknowledgedMax / 4))
    }

    /// How long records wait for others now.
    var holdMillis: Int64 {
        let each = (Self.distanceMillis - Self.answerMillis) / 2
        return min(self.holdMillisMax, max(Self.holdMillisMin, each - self.acknowledgementMillis))
    }

    /// When what waits has waited long enough, steady; `nil`: nothing is made to wait.
    var dueMillis: Int64? { self.waitingSinceMillis.map { $0 + self.holdMillis } }

    /// Whether the `count` records that wait are handed over now, all of them.
    /// - Parameter isUrgent: somebody waits for one of them.
    mutating func handsOver(count: Int, isUrgent: Bool, nowMillis: Int64) -> Bool {
        guard count > 0 else {
            // Those that waited may have been forgotten with their partition.
            self.waitingSinceMillis = nil
            return false
        }
        let since = self.waitingSinceMillis ?? nowMillis
        let handsOver = isUrgent || count >= self.recordCountMax || since + self.holdMillis <= nowMillis
        self.waitingSinceMillis = handsOver ? nil : since
        return handsOver
    }

    /// Kafka has acknowledged what was handed over together.
    mutating func acknowledged(afterMillis: Int64) {
        self.acknowledgementMillis = max(
            afterMillis, self.acknowledgementMillis - self.acknowledgementMillis / Self.forgettingShare)
    }

    /// A slow moment is forgotten by an eighth each time.
    private static let forgettingShare: Int64 = 8
}

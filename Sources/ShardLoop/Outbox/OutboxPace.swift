/// Decides when waiting records are handed to librdkafka: together, a few times a second.
///
/// librdkafka makes one request of each partition's records. A request costs as much as about thirty records, in this
/// process and at the broker. After each request, librdkafka checks every partition that it writes to. So a record
/// waits for others of its partition, at every rate. At a low rate, requests are most of what a push costs.
///
/// A slot's next push waits for the outcome of the push before, and then for the slot's `state` record. The outcome and
/// the `state` record gather one after the other. Together they take less than the least distance between two pushes,
/// so gathering delays no push. When Kafka acknowledges slowly, records wait less. The type is pure: the caller passes
/// the time.
struct OutboxPace {
    /// The lowest setting for the distance between two pushes of an activity.
    static let distanceMillis: Int64 = 1_000
    /// The part of `distanceMillis` that is reserved for APNs' answer and for delayed turns.
    static let answerMillis: Int64 = 200
    /// The lowest value to which a slow Kafka brings `holdMillis`, unless `holdMillisMax` is lower. Shorter waits would
    /// mean more requests, and these would not make Kafka faster.
    static let holdMillisMin: Int64 = 50
    /// The highest value that the property `recordCountMax` may have.
    static let recordCountMax = 16_384

    /// The longest time that a record waits when Kafka is fast.
    private(set) var holdMillisMax: Int64
    /// Number of waiting records from which on all of them are handed over at once.
    private(set) var recordCountMax: Int
    /// When the oldest waiting record began to wait, on the steady clock; `nil` if nothing waits.
    private var waitingSinceMillis: Int64?
    /// The longest time that Kafka recently took to acknowledge a whole group.
    private(set) var acknowledgementMillis: Int64 = 0

    /// - Parameters:
    ///   - holdMillis: the longest time that a record may wait.
    ///   - unacknowledgedMax: the number of unacknowledged records at which the shard stops taking and sending. Only a
    ///     small part of that number may wait here.
    init(holdMillis: Int64, unacknowledgedMax: Int) {
        self.holdMillisMax = holdMillis
        self.recordCountMax = Self.recordCount(unacknowledgedMax: unacknowledgedMax)
    }

    /// Takes new limits from now on.
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

    /// When the waiting records have waited long enough, on the steady clock; `nil` if nothing waits.
    var dueMillis: Int64? { self.waitingSinceMillis.map { $0 + self.holdMillis } }

    /// Whether all `count` waiting records are handed over now.
    /// - Parameter isUrgent: whether somebody waits for one of them.
    mutating func handsOver(count: Int, isUrgent: Bool, nowMillis: Int64) -> Bool {
        guard count > 0 else {
            // The records that waited may have been forgotten with their partition.
            self.waitingSinceMillis = nil
            return false
        }
        let since = self.waitingSinceMillis ?? nowMillis
        let handsOver = isUrgent || count >= self.recordCountMax || since + self.holdMillis <= nowMillis
        self.waitingSinceMillis = handsOver ? nil : since
        return handsOver
    }

    /// Measures how long Kafka took to acknowledge a group that was handed over together.
    mutating func acknowledged(afterMillis: Int64) {
        self.acknowledgementMillis = max(
            afterMillis, self.acknowledgementMillis - self.acknowledgementMillis / Self.forgettingShare)
    }

    /// Each acknowledgement lowers the remembered time by an eighth, unless its own time is longer.
    private static let forgettingShare: Int64 = 8
}

/// When records that wait are handed to librdkafka: at once while few are written, together when there are many.
///
/// librdkafka makes a request for each partition that has something. A request costs about as much as ten records in it,
/// in this process and at the broker, and after each librdkafka looks at every partition it writes to; so, when pushes come by the ten thousand a second, a record may wait
/// `holdMillis` for others of its partition. Nothing waits for it meanwhile but the next push of its slot (a second
/// later at the earliest) and the commit. Pure.
struct OutboxPace {
    /// The longest a record waits.
    static let holdMillis: Int64 = 100
    /// Waiting pays from this many records in `holdMillis` on: some for each of dozens of partitions.
    static let busyCountMin = 2_000
    /// Handed over however short they waited.
    static let recordCountMax = 16_384

    /// When what waits has waited long enough, steady; `nil`: nothing is made to wait.
    private(set) var dueMillis: Int64?
    private var isBusy = false
    private var windowBeganMillis: Int64 = 0
    private var windowCount = 0

    /// Whether `count` waiting records (at least one) should be handed over now.
    mutating func isDue(count: Int, nowMillis: Int64) -> Bool {
        guard self.isBusy, count < Self.recordCountMax else { return true }
        guard let due = self.dueMillis else {
            self.dueMillis = nowMillis + Self.holdMillis
            return false
        }
        return due <= nowMillis
    }

    /// All that waited was handed over.
    mutating func handedOver(count: Int, nowMillis: Int64) {
        self.dueMillis = nil
        self.windowCount += count
        let passedMillis = nowMillis - self.windowBeganMillis
        guard passedMillis >= Self.holdMillis else { return }
        self.isBusy = Int64(self.windowCount) * Self.holdMillis >= Int64(Self.busyCountMin) * passedMillis
        self.windowBeganMillis = nowMillis
        self.windowCount = 0
    }
}

/// Limits how many refused dead letters of a partition may be given up: `countMax` within ten minutes. If there are
/// more, the records are not the cause: somebody has probably lowered a topic's limit. The type is pure: the caller
/// passes the time.
struct GiveUpLimit {
    static let countMax = 100
    static let windowMillis: Int64 = 600_000

    /// When the last dead letters were given up, by partition, on the steady clock. The oldest is first. There are at
    /// most `countMax` for each partition.
    private var times: [Int32: [Int64]] = [:]
    /// Partitions whose dead letters are no longer given up.
    private var stopped: Set<Int32> = []

    /// Whether one more dead letter of the partition may be given up. If so, it is counted.
    mutating func takes(_ partition: Int32, nowMillis: Int64) -> Bool {
        guard !self.stopped.contains(partition) else { return false }
        var times = self.times[partition, default: []]
        times.removeAll { nowMillis - $0 >= Self.windowMillis }
        defer { self.times[partition] = times }
        guard times.count < Self.countMax else {
            self.stopped.insert(partition)
            return false
        }
        times.append(nowMillis)
        return true
    }

    /// Forgets a partition that has left.
    mutating func forget(_ partition: Int32) {
        self.times[partition] = nil
        self.stopped.remove(partition)
    }
}

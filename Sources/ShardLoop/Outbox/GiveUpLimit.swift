/// How many dead letters of a partition may be given up. More within ten minutes are no bad records: somebody has lowered a
/// limit. Told the time; pure.
struct GiveUpLimit {
    static let countMax = 100
    static let windowMillis: Int64 = 600_000

    /// By partition: when the last were given up, steady, the oldest first. At most `countMax` each.
    private var times: [Int32: [Int64]] = [:]
    /// Partitions whose dead letters are no longer given up.
    private var stopped: Set<Int32> = []

    /// Whether one more of the partition may be given up, which it is then.
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

    /// The partition has left.
    mutating func forget(_ partition: Int32) {
        self.times[partition] = nil
        self.stopped.remove(partition)
    }
}

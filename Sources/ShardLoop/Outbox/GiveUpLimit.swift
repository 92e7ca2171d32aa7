/// Limits the dead letters of a partition that may be given up. If there are more within ten minutes, bad records are
/// not the cause: somebody has lowered a limit. It is pure: the caller passes the time.
struct GiveUpLimit {
    static let countMax = 100
    static let windowMillis: Int64 = 600_000

    /// Steady times of the last dead letters that were given up, by partition, the oldest first. At most `countMax` for
    /// each partition.
    private var times: [Int32: [Int64]] = [:]
    /// Partitions whose dead letters are no longer given up.
    private var stopped: Set<Int32> = []

    /// Whether one more dead letter of the partition may be given up. It is counted then.
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

/// Counts exactly the units spent within the last 3,600 s. The first few units need no memory of their own, the others
/// 4 bytes each.
///
/// Times are stored as the low 32 bits of milliseconds. That is unambiguous, because everything is forgotten once the
/// newest is an hour old.
struct RollingHour: Sendable {
    static let hourMillis: Int64 = 3_600_000
    /// Maximum number of units that are counted, beyond any known budget. Beyond this number the oldest unit is
    /// forgotten.
    static let unitsMax = 1_024
    /// Number of units that need no memory of their own: most phones get no more in an hour.
    private static let fewMax = 4

    /// All spent units, oldest first, if they are more than a few.
    private var many: [UInt32] = []
    private var newestMillis: Int64 = .min
    /// All spent units, oldest first, while they are few.
    private var few = InlineArray<4, UInt32>(repeating: 0)
    /// The highest count in any rolling hour.
    private(set) var peak: UInt16 = 0
    private var fewCount: UInt8 = 0

    /// Spends one unit and returns the number in the hour ending now, including this one. A clock that steps back
    /// counts as stopped.
    mutating func spend(nowMillis: Int64) -> Int {
        let now = max(nowMillis, self.newestMillis)
        self.forget(now)
        self.append(UInt32(truncatingIfNeeded: now))
        self.newestMillis = now
        self.peak = max(self.peak, UInt16(self.count))
        return self.count
    }

    /// Number of units spent in the hour ending now.
    func count(nowMillis: Int64) -> Int {
        let now = max(nowMillis, self.newestMillis)
        guard self.count > 0, now - self.newestMillis < Self.hourMillis else { return 0 }
        return self.count - self.expiredCount(now)
    }

    private var count: Int { self.many.isEmpty ? Int(self.fewCount) : self.many.count }

    private func time(_ index: Int) -> UInt32 { self.many.isEmpty ? self.few[index] : self.many[index] }

    private mutating func append(_ time: UInt32) {
        if self.many.isEmpty {
            guard Int(self.fewCount) == Self.fewMax else {
                self.few[Int(self.fewCount)] = time
                self.fewCount += 1
                return
            }
            for index in 0..<Self.fewMax { self.many.append(self.few[index]) }
            self.fewCount = 0
        } else if self.many.count == Self.unitsMax {
            self.many.removeFirst()
        }
        self.many.append(time)
    }

    private mutating func forget(_ now: Int64) {
        guard self.count > 0 else { return }
        // The check above must come first: before the first spend there is no newest time.
        let expired = now - self.newestMillis >= Self.hourMillis ? self.count : self.expiredCount(now)
        guard expired > 0 else { return }
        guard self.many.isEmpty else {
            self.many.removeFirst(expired)
            return
        }
        for index in expired..<Int(self.fewCount) { self.few[index - expired] = self.few[index] }
        self.fewCount -= UInt8(expired)
    }

    /// Number of expired units. A unit spent at t is free again exactly at t + 3,600 s.
    private func expiredCount(_ now: Int64) -> Int {
        let low = UInt32(truncatingIfNeeded: now)
        return (0..<self.count).first { low &- self.time($0) < UInt32(Self.hourMillis) } ?? self.count
    }
}

import PushModel

/// Records whose own time cannot be true: a client wrote seconds, 0, or the time of a wrong clock. Their events have no
/// `timestamp`. Such an event counts as newer than what was written before it, and as older than what is written later.
/// That holds whenever and however often it is read.
extension SimulationWorld {
    /// Plan and state of such records. They are drawn with a generator of their own, so that worlds without them stay
    /// as they were.
    struct RecordTimes {
        var random: SplitMix64
        /// Percentage of events with content whose record has such a time.
        let percent: Int
        /// Activities and audiences that had such an event. From then on their events are written in the order of their
        /// times, because only the order of arrival places an event without a time.
        private(set) var untimed: Set<Int> = []

        init(seed: UInt64) {
            self.random = SplitMix64(seed: seed ^ 0x7171_7171_7171_7171)
            self.percent = [0, 0, 10, 40].randomElement(using: &self.random)!
        }

        /// Draws the time of the activity's next record; `nil`: the true time.
        mutating func draw(_ activity: Int, nowMillis: Int64) -> Int64? {
            guard self.percent > 0, Int.random(in: 0..<100, using: &self.random) < self.percent else { return nil }
            self.untimed.insert(activity)
            return [
                0, 1, nowMillis / 1_000, RecordTime.earliestSeconds * 1_000 - 1, nowMillis + 7 * 86_400_000,
                nowMillis * 1_000,
            ].randomElement(using: &self.random)
        }
    }
}

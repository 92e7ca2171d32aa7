import PushModel

/// Records whose own time cannot be one, as a client wrote seconds, 0, or what a wrong clock said. Their events have no `timestamp`, so that they
/// come behind what was written before them, and before whatever is written later: however late they are read, and however often.
extension SimulationWorld {
    /// What concerns such records alone. It is drawn apart: a world without any is as it was.
    struct RecordTimes {
        var random: SplitMix64
        /// Share of events with content whose record is like that, in a hundred.
        let percent: Int
        /// Activities and audiences that had one. From then on their events are written in the order of their times: an order that is known by
        /// arrival alone can be told no other way.
        private(set) var untimed: Set<Int> = []

        init(seed: UInt64) {
            self.random = SplitMix64(seed: seed ^ 0x7171_7171_7171_7171)
            self.percent = [0, 0, 10, 40].randomElement(using: &self.random)!
        }

        /// The time of the next record of an activity; `nil`: it is as it should be.
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

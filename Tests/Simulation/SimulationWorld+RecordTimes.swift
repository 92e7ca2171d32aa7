import PushModel

/// Events without a `timestamp` in records with an impossible time: a client wrote seconds, 0, or the time of a wrong
/// clock. Such an event counts as newer than everything written before it, and as older than everything written later.
/// This holds whenever and however often the event is read.
extension SimulationWorld {
    /// Plan and state of records with an impossible time. They are drawn with a separate generator, so that worlds
    /// without them do not change.
    struct RecordTimes {
        var random: SplitMix64
        /// Percentage of updates and ends whose record has an impossible time.
        let percent: Int
        /// Activities and audiences that have had an event without a time. Their later events are written in the order
        /// of their times, because workers order an event without a time only by its arrival.
        private(set) var untimed: Set<Int> = []

        init(seed: UInt64) {
            self.random = SplitMix64(seed: seed ^ 0x7171_7171_7171_7171)
            self.percent = [0, 0, 10, 40].randomElement(using: &self.random)!
        }

        /// Draws an impossible time for the activity's next record. `nil`: the record has the true time.
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

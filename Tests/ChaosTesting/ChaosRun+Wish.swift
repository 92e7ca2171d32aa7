extension ChaosRun {
    /// What a run is asked for.
    package struct Wish {
        var minutes: Double
        var seed: UInt64
        /// Under way at a time.
        var activityCount: Int
        /// Events per second.
        var rate: Int
        /// Broadcast channels; 0: none.
        var channelCount: Int
        /// Empty: no faults.
        var kinds: [ChaosFault.Kind]
        /// Instead of faults: every worker is restarted once, in good order. The run ends when they have been.
        var isRollingRestart: Bool

        /// - Parameters:
        ///   - minutes: how long events are published and faults injected.
        ///   - seed: of events and faults.
        ///   - activityCount: activities under way at a time.
        ///   - rate: events per second.
        ///   - channelCount: broadcast channels; 0: none.
        ///   - kinds: of faults; empty: none.
        ///   - isRollingRestart: instead of faults, every worker is restarted once, in good order.
        package init(
            minutes: Double, seed: UInt64, activityCount: Int, rate: Int, channelCount: Int,
            kinds: [ChaosFault.Kind], isRollingRestart: Bool
        ) {
            self.minutes = minutes
            self.seed = seed
            self.activityCount = activityCount
            self.rate = rate
            self.channelCount = channelCount
            self.kinds = kinds
            self.isRollingRestart = isRollingRestart
        }
    }
}

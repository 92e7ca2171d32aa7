package import Foundation

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
        /// Audiences at a time, and phones of all of them together; 0: none.
        var audienceCount: Int
        var memberCount: Int
        /// Start members of audiences of their own; 0: none.
        var startMemberCount: Int
        /// Empty: no faults.
        var kinds: [ChaosFault.Kind]
        /// Instead of faults: every worker is restarted once, in good order. The run ends when they have been.
        var isRollingRestart: Bool
        /// Another release, which workers run at first and half way once more; `nil`: none.
        var former: Former?

        /// Executables of the two releases.
        package struct Former {
            var executable: URL
            var current: URL

            package init(executable: URL, current: URL) {
                self.executable = executable
                self.current = current
            }
        }

        /// - Parameters:
        ///   - minutes: how long events are published and faults injected.
        ///   - seed: of events and faults.
        ///   - activityCount: activities under way at a time.
        ///   - rate: events per second.
        ///   - channelCount: broadcast channels; 0: none.
        ///   - audienceCount: audiences at a time; 0: none.
        ///   - memberCount: their phones, all together, before some come and others go.
        ///   - startMemberCount: start members of audiences of their own, all together; 0: none.
        ///   - kinds: of faults; empty: none.
        ///   - isRollingRestart: instead of faults, every worker is restarted once, in good order.
        ///   - former: another release, which workers run at first and half way once more; `nil`: none.
        package init(
            minutes: Double, seed: UInt64, activityCount: Int, rate: Int, channelCount: Int,
            audienceCount: Int, memberCount: Int, startMemberCount: Int, kinds: [ChaosFault.Kind],
            isRollingRestart: Bool, former: Former? = nil
        ) {
            self.minutes = minutes
            self.seed = seed
            self.activityCount = activityCount
            self.rate = rate
            self.channelCount = channelCount
            self.audienceCount = audienceCount
            self.memberCount = memberCount
            self.startMemberCount = startMemberCount
            self.kinds = kinds
            self.isRollingRestart = isRollingRestart
            self.former = former
        }
    }
}

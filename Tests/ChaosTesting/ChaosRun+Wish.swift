package import Foundation

extension ChaosRun {
    /// Options of a run.
    package struct Wish {
        var minutes: Double
        var seed: UInt64
        /// Number of activities under way at a time.
        var activityCount: Int
        /// Events per second.
        var rate: Int
        /// Number of broadcast channels. 0 means none.
        var channelCount: Int
        /// Number of audiences at a time. 0 means none.
        var audienceCount: Int
        /// Number of phones of all audiences together, before any join or leave. 0 means none.
        var memberCount: Int
        /// Number of start members, which have audiences of their own. 0 means none.
        var startMemberCount: Int
        /// Kinds of faults. Empty means no faults.
        var kinds: [ChaosFault.Kind]
        /// Whether the run has no faults and restarts every worker once, in good order. It ends after these restarts.
        var isRollingRestart: Bool
        /// Another release, which workers run at first and again in the third quarter. `nil` means none.
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

        /// Makes the options of a run.
        /// - Parameters:
        ///   - minutes: how long events are published and faults injected.
        ///   - seed: seed of events and faults.
        ///   - activityCount: activities under way at a time.
        ///   - rate: events per second.
        ///   - channelCount: broadcast channels, 0 for none.
        ///   - audienceCount: audiences at a time, 0 for none.
        ///   - memberCount: phones of all audiences together, before any join or leave.
        ///   - startMemberCount: start members in all audiences of start members together, 0 for none.
        ///   - kinds: kinds of faults, empty for none.
        ///   - isRollingRestart: whether the run has no faults and restarts every worker once, in good order.
        ///   - former: another release, which workers run at first and again in the third quarter, or `nil` for none.
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

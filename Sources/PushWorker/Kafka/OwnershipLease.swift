import KafkaLog
import Synchronization

/// How long this worker may take its partitions to be its own. Any thread.
///
/// A broker that hears nothing gives them to another once the session timeout is over, and a worker that was stopped meanwhile does not
/// know it. So it acts only for a while after the group has answered a commit: such an answer says that it was a member when it asked.
/// Counted from the asking, on a clock that runs while the process is stopped.
final class OwnershipLease: Sendable {
    /// Less than the session timeout by a tenth: clocks differ, and the broker's session began after the asking.
    let durationMillis: Int64
    private let endsAtMillis = Atomic<Int64>(.min)

    init(sessionTimeoutMillis: Int64) { self.durationMillis = sessionTimeoutMillis / 10 * 9 }

    /// librdkafka takes no other session timeout, milliseconds. A setting outside is refused by name, but read here before that.
    static let sessionMillisRange: ClosedRange<Int64> = 1...3_600_000

    /// The shorter of the two times after which the broker takes partitions away.
    static func sessionTimeoutMillis(_ settings: KafkaSettings) -> Int64 {
        // Ours first, where we have one; then librdkafka's.
        func millis(_ name: String, default given: Int64) -> Int64 {
            for settings in [settings, ConsumerConfiguration.defaults] {
                if let millis = settings[name].flatMap({ Int64($0) }) { return millis }
            }
            return given
        }
        let shorter = min(
            millis("session.timeout.ms", default: 45_000), millis("max.poll.interval.ms", default: 300_000))
        return min(max(shorter, Self.sessionMillisRange.lowerBound), Self.sessionMillisRange.upperBound)
    }

    /// The group has confirmed the membership to a question asked then.
    func confirmed(askedAtMillis: Int64) {
        let ends = askedAtMillis + self.durationMillis
        var current = self.endsAtMillis.load(ordering: .relaxed)
        while current < ends {
            let (exchanged, original) = self.endsAtMillis.compareExchange(
                expected: current, desired: ends, ordering: .relaxed)
            if exchanged { return }
            current = original
        }
    }

    func isHeld(nowMillis: Int64) -> Bool { nowMillis < self.endsAtMillis.load(ordering: .relaxed) }

    /// How often the group is asked when nothing else is committed.
    var askEveryMillis: Int64 { max(100, self.durationMillis / 6) }
}

import KafkaLog

/// The session timeout: after this time without a sign of life, the group gives this worker's partitions to another
/// worker.
enum SessionTimeout {
    /// Session timeouts in milliseconds that librdkafka accepts. A setting outside this range is refused, but only
    /// after this code has read it.
    static let millisRange: ClosedRange<Int64> = 1...3_600_000

    /// The shorter of `session.timeout.ms` and `max.poll.interval.ms`. After either, the broker takes partitions away.
    static func millis(_ settings: KafkaSettings) -> Int64 {
        // The default is Mailboat's own if it has one, otherwise librdkafka's.
        func millis(_ name: String, default given: Int64) -> Int64 {
            for settings in [settings, ConsumerConfiguration.defaults] {
                if let millis = settings[name].flatMap({ Int64($0) }) { return millis }
            }
            return given
        }
        let shorter = min(
            millis("session.timeout.ms", default: 45_000), millis("max.poll.interval.ms", default: 300_000))
        return min(max(shorter, Self.millisRange.lowerBound), Self.millisRange.upperBound)
    }
}

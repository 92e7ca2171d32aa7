import KafkaLog

/// The time without a sign of life after which the group gives this worker's partitions to another.
enum SessionTimeout {
    /// Session timeouts that librdkafka accepts, milliseconds. A setting outside is refused by name, but this code
    /// reads it before.
    static let millisRange: ClosedRange<Int64> = 1...3_600_000

    /// The shorter of the two timeouts after which the broker takes partitions away.
    static func millis(_ settings: KafkaSettings) -> Int64 {
        // The default is ours where we have one, otherwise librdkafka's.
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

/// Decides whether a Kafka record's own time can be true. A producer's client writes it. Some write seconds, 0, or the
/// time of a wrong clock.
///
/// An impossible time is replaced by the time of the worker's clock. The order of events does not depend on the
/// replacement: see `Intake.orderSeconds`.
public enum RecordTime {
    /// 2017-01-01 00:00 UTC, seconds since 1970. Live Activities did not exist before, so an earlier time is in other
    /// units or from a wrong clock.
    public static let earliestSeconds: Int64 = 1_483_228_800

    /// Whether a time is after the start of 2017 and at most five minutes ahead of the worker's clock, as a `timestamp`
    /// may be.
    @inlinable public static func isBelievable(millis: Int64, nowMillis: Int64) -> Bool {
        millis >= Self.earliestSeconds &* 1_000
            && millis &- nowMillis <= EventRules.timestampAheadSecondsMax &* 1_000
    }

    /// The record's time if it is believable, otherwise the clock's.
    @inlinable public static func believed(millis: Int64, nowMillis: Int64) -> Int64 {
        Self.isBelievable(millis: millis, nowMillis: nowMillis) ? millis : nowMillis
    }
}

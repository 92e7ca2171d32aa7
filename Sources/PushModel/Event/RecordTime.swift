/// Whether a Kafka record's own time can be one: a producer's client writes it, and some write seconds, 0, or what their clock says.
///
/// A time that cannot be one is replaced by the worker's clock. That says nothing of the order of events: see `Intake.orderSeconds`.
public enum RecordTime {
    /// 2017-01-01 00:00 UTC, seconds since 1970. Live Activities are younger, and so is Kafka's record time for most who use it: what lies
    /// before was counted in other units or from another year.
    public static let earliestSeconds: Int64 = 1_483_228_800

    /// From 2017 until five minutes ahead of the worker's clock: as far ahead as a `timestamp` may lie.
    @inlinable public static func isBelievable(millis: Int64, nowMillis: Int64) -> Bool {
        millis >= Self.earliestSeconds &* 1_000
            && millis &- nowMillis <= EventRules.timestampAheadSecondsMax &* 1_000
    }

    /// The time, or the clock's in its place.
    @inlinable public static func believed(millis: Int64, nowMillis: Int64) -> Int64 {
        Self.isBelievable(millis: millis, nowMillis: nowMillis) ? millis : nowMillis
    }
}

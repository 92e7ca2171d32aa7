import Glibc
import PushModel

/// The clocks of this machine, read once per turn of a shard. The only place of this module that does.
enum ShardClock {
    static func now() -> EngineTime {
        EngineTime(steadyMillis: Self.millis(CLOCK_BOOTTIME), wallMillis: Self.millis(CLOCK_REALTIME))
    }

    /// Steady, as `EngineTime.steadyMillis`.
    static func steadyMicros() -> Int64 { Self.nanos(CLOCK_BOOTTIME) / 1_000 }

    private static func millis(_ clock: clockid_t) -> Int64 { Self.nanos(clock) / 1_000_000 }

    private static func nanos(_ clock: clockid_t) -> Int64 {
        // Seconds and nanoseconds. As a `timespec`, whose fields the compiler takes to belong to whichever C module it
        // read first, this would build on some days only.
        var time = (seconds: 0, nanoseconds: 0)
        withUnsafeMutablePointer(to: &time) {
            _ = $0.withMemoryRebound(to: timespec.self, capacity: 1) { clock_gettime(clock, $0) }
        }
        return Int64(time.seconds) * 1_000_000_000 + Int64(time.nanoseconds)
    }
}

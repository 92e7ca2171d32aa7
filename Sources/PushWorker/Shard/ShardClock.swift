import Glibc
import PushEngine

/// The clocks of this machine, read once per turn of a shard. The only place of this module that does.
enum ShardClock {
    static func now() -> EngineTime {
        EngineTime(steadyMillis: Self.millis(CLOCK_BOOTTIME), wallMillis: Self.millis(CLOCK_REALTIME))
    }

    private static func millis(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}

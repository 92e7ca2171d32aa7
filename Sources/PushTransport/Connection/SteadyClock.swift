import Glibc
import PushEngine

/// The clocks of this machine, read once per turn. The only place of this module that does.
enum SteadyClock {
    /// Now, for machines, and the same moment in microseconds of the steady clock, for latencies.
    static func read() -> (now: EngineTime, micros: Int64) {
        let micros = Self.micros(CLOCK_BOOTTIME)
        return (EngineTime(steadyMillis: micros / 1_000, wallMillis: Self.micros(CLOCK_REALTIME) / 1_000), micros)
    }

    private static func micros(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
    }
}

import Glibc

/// The system's wall clock.
enum SystemClock {
    /// Milliseconds since 1970.
    static func wallMillis() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}

import Glibc

/// The system's wall clock.
enum SystemClock {
    /// Milliseconds since 1970.
    static func wallMillis() -> Int64 {
        // Seconds and nanoseconds as a tuple. The compiler assigns the fields of a `timespec` to the C module that it
        // read first. Code that names the fields may therefore fail to compile.
        var time = (seconds: 0, nanoseconds: 0)
        withUnsafeMutablePointer(to: &time) {
            _ = $0.withMemoryRebound(to: timespec.self, capacity: 1) { clock_gettime(CLOCK_REALTIME, $0) }
        }
        return Int64(time.seconds) * 1_000 + Int64(time.nanoseconds) / 1_000_000
    }
}

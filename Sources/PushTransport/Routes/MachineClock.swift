import Glibc
public import PushModel

/// Reads the clocks of this machine. Transports and the shards of a worker take the time from here.
public enum MachineClock {
    /// The present time, as the engine and the connection pools use it.
    public static func now() -> EngineTime { Self.read().now }

    /// The present time, and the same moment on the steady clock in microseconds, for measuring latency.
    static func read() -> (now: EngineTime, micros: Int64) {
        let micros = Self.steadyMicros()
        return (EngineTime(steadyMillis: micros / 1_000, wallMillis: Self.micros(CLOCK_REALTIME) / 1_000), micros)
    }

    /// The present time on the clock of `EngineTime.steadyMillis`, but in microseconds.
    public static func steadyMicros() -> Int64 { Self.micros(CLOCK_BOOTTIME) }

    /// CPU time that this thread has used, user and system, microseconds.
    static func threadCPUMicros() -> Int64 { Self.micros(CLOCK_THREAD_CPUTIME_ID) }

    /// CPU time of this thread plus the time for which it was ready but waited for a core, microseconds. If the kernel
    /// does not report the wait, it counts as 0. A call costs a few microseconds.
    static func threadBusyMicros() -> Int64 { Self.threadCPUMicros() + (ThreadSchedule.waitedMicros() ?? 0) }

    private static func micros(_ clock: clockid_t) -> Int64 {
        // A pair stands in for `timespec`. The compiler assigns the fields of `timespec` to the C module that it read
        // first, so code that names them does not always build.
        var time = (seconds: 0, nanoseconds: 0)
        withUnsafeMutablePointer(to: &time) {
            _ = $0.withMemoryRebound(to: timespec.self, capacity: 1) { clock_gettime(clock, $0) }
        }
        return Int64(time.seconds) * 1_000_000 + Int64(time.nanoseconds) / 1_000
    }
}

import Glibc
public import PushModel

/// The clocks of this machine. Nothing else in this module and in the worker reads them.
public enum MachineClock {
    /// The present time for machines.
    public static func now() -> EngineTime { Self.read().now }

    /// The present time, and the same moment in microseconds of the steady clock, for latencies.
    static func read() -> (now: EngineTime, micros: Int64) {
        let micros = Self.steadyMicros()
        return (EngineTime(steadyMillis: micros / 1_000, wallMillis: Self.micros(CLOCK_REALTIME) / 1_000), micros)
    }

    /// The steady time as in `EngineTime.steadyMillis`, but in microseconds.
    public static func steadyMicros() -> Int64 { Self.micros(CLOCK_BOOTTIME) }

    /// CPU time that this thread has used, user and system, microseconds.
    static func threadCPUMicros() -> Int64 { Self.micros(CLOCK_THREAD_CPUTIME_ID) }

    /// CPU time of this thread plus the time for which it was ready and waited for a core, microseconds. If the kernel
    /// does not report the waiting time, the CPU time alone. A call costs a few microseconds.
    static func threadBusyMicros() -> Int64 { Self.threadCPUMicros() + (ThreadSchedule.waitedMicros() ?? 0) }

    private static func micros(_ clock: clockid_t) -> Int64 {
        // Seconds and nanoseconds. The compiler assigns the fields of a `timespec` to the C module that it read first.
        // So code that names the fields would build on some days only.
        var time = (seconds: 0, nanoseconds: 0)
        withUnsafeMutablePointer(to: &time) {
            _ = $0.withMemoryRebound(to: timespec.self, capacity: 1) { clock_gettime(clock, $0) }
        }
        return Int64(time.seconds) * 1_000_000 + Int64(time.nanoseconds) / 1_000
    }
}

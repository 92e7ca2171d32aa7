import Foundation
import Glibc

/// CPU and memory of one process of this machine, as the kernel accounts for them.
struct ProcessMeter: Sendable {
    let pid: pid_t
    private let clock: clockid_t

    init(pid: pid_t) throws {
        var clock = clockid_t()
        guard clock_getcpuclockid(pid, &clock) == 0 else {
            throw BenchmarkFailure("the process \(pid) has no CPU clock: it has ended")
        }
        self.pid = pid
        self.clock = clock
    }

    /// User and system time of all threads since the process began, microseconds. The CPU clock of the process
    /// (clock_getcpuclockid(3)) is the sum that /proc/PID/stat gives in ticks of 10 ms, without the rounding.
    var cpuMicros: Int64 { Clock.micros(self.clock) }

    /// Resident memory now, bytes.
    var residentByteCount: Int { self.status("VmRSS:") }
    /// The greatest resident memory so far, bytes.
    var residentPeakByteCount: Int { self.status("VmHWM:") }

    /// A line of /proc/PID/status in KiB, as bytes. 0 when the process has ended.
    private func status(_ name: String) -> Int {
        guard let text = try? String(contentsOfFile: "/proc/\(self.pid)/status", encoding: .utf8) else { return 0 }
        for line in text.split(separator: "\n") where line.hasPrefix(name) {
            let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" })
            return (words.count > 1 ? Int(words[1]) ?? 0 : 0) * 1_024
        }
        return 0
    }
}

/// The clocks of this machine.
enum Clock {
    /// A clock that never goes back, microseconds.
    static var nowMicros: Int64 { Self.micros(CLOCK_MONOTONIC) }
    static var wallMicros: Int64 { Self.micros(CLOCK_REALTIME) }

    static func micros(_ clock: clockid_t) -> Int64 {
        // The pair is seconds and nanoseconds. The fields of `timespec` are not named here. The compiler looks for them
        // in the C module that it read first, so the code would not always build.
        var time = (seconds: 0, nanoseconds: 0)
        withUnsafeMutablePointer(to: &time) {
            _ = $0.withMemoryRebound(to: timespec.self, capacity: 1) { clock_gettime(clock, $0) }
        }
        return Int64(time.seconds) * 1_000_000 + Int64(time.nanoseconds) / 1_000
    }

    static func sleep(millis: Int) { usleep(UInt32(millis) * 1_000) }
}

/// Reason why something could not be measured. A row that misses its target is not a failure.
struct BenchmarkFailure: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}

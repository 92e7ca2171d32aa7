import Foundation
import Glibc

/// The time in which this virtual machine had work but its host ran other machines. If this time is more than a few
/// percent of a core, a 99th percentile means little.
enum StolenTime {
    /// Stolen time since the machine started, of all cores together, microseconds. 0 when the kernel does not say.
    static var micros: Int64 {
        guard let text = try? String(contentsOfFile: "/proc/stat", encoding: .utf8) else { return 0 }
        return Self.micros(stat: text, ticksPerSecond: Int64(sysconf(Int32(_SC_CLK_TCK))))
    }

    /// Stolen time in `/proc/stat`, microseconds. The first line has user, nice, system, idle, iowait, irq, softirq and
    /// steal, in ticks (proc(5)).
    static func micros(stat text: String, ticksPerSecond: Int64) -> Int64 {
        guard let line = text.split(separator: "\n").first, line.hasPrefix("cpu ") else { return 0 }
        let fields = line.split(separator: " ")
        guard fields.count > 8, let ticks = Int64(fields[8]), ticksPerSecond > 0 else { return 0 }
        return ticks * 1_000_000 / ticksPerSecond
    }
}

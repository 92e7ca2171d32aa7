import Foundation
import Glibc

/// The time in which this machine, a virtual one, wanted to run and its host ran others. A 99th percentile hardly means anything when it is
/// more than a few percent of a core.
enum StolenTime {
    /// Since the machine started, all cores together; 0 when the kernel does not say.
    static var micros: Int64 {
        guard let text = try? String(contentsOfFile: "/proc/stat", encoding: .utf8) else { return 0 }
        return Self.micros(stat: text, ticksPerSecond: Int64(sysconf(Int32(_SC_CLK_TCK))))
    }

    /// Stolen time in `/proc/stat`, microseconds. Its first line has user, nice, system, idle, iowait, irq, softirq and steal, in ticks (proc(5)).
    static func micros(stat text: String, ticksPerSecond: Int64) -> Int64 {
        guard let line = text.split(separator: "\n").first, line.hasPrefix("cpu ") else { return 0 }
        let fields = line.split(separator: " ")
        guard fields.count > 8, let ticks = Int64(fields[8]), ticksPerSecond > 0 else { return 0 }
        return ticks * 1_000_000 / ticksPerSecond
    }
}

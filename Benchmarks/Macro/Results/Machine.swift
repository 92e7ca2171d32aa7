import Foundation
import Glibc

/// The machine and the versions with which a result was measured.
struct Machine: Codable, Equatable {
    var processor = ""
    var cores = 0
    var memoryGigabytes = 0.0
    var system = ""
    var kernel = ""
    var h2load = ""
    /// "embedded", or the address of a real Kafka.
    var kafka: String? = "embedded"
    var commit = ""
    var measuredAt = ""
    /// Whether the run was short.
    var isQuick = false

    /// The description of this machine.
    static func current(isQuick: Bool, commit: String) -> Machine {
        var machine = Machine()
        machine.processor = Self.field("model name", of: "/proc/cpuinfo", separator: ":") ?? "unknown"
        machine.cores = CorePlan.usableCores().count
        let memory = Self.field("MemTotal", of: "/proc/meminfo", separator: ":")?.split(separator: " ").first
        machine.memoryGigabytes = ((memory.flatMap { Double($0) } ?? 0) / 1_048_576 * 10).rounded() / 10
        machine.system =
            Self.field("PRETTY_NAME", of: "/etc/os-release", separator: "=")?
            .trimmingCharacters(in: CharacterSet(charactersIn: "\"")) ?? "unknown"
        var names = utsname()
        if uname(&names) == 0 {
            machine.kernel = withUnsafeBytes(of: names.release) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
        }
        machine.h2load = H2Load.version
        machine.commit = commit
        machine.measuredAt = Date().formatted(.iso8601)
        machine.isQuick = isQuick
        return machine
    }

    private static func field(_ name: String, of path: String, separator: Character) -> String? {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
        for line in text.split(separator: "\n") where line.hasPrefix(name) {
            let parts = line.split(separator: separator, maxSplits: 1)
            if parts.count == 2 { return parts[1].trimmingCharacters(in: .whitespaces) }
        }
        return nil
    }
}

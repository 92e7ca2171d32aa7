import Foundation

/// Which process runs on which core. With two cores, the worker and h2load use one, and everything else uses the other.
struct CorePlan {
    /// Core of what is measured: the worker, the transport or h2load.
    var client: Int?
    /// Core of the simulated APNs.
    var server: Int?
    /// Core of Kafka and of the process that fills it.
    var kafka: Int?

    /// Distributes the cores that this process may use. With one core, no process is pinned.
    init(cores: [Int] = Self.usableCores()) {
        guard cores.count >= 2 else { return }
        self.server = cores[0]
        self.client = cores[1]
        self.kafka = cores.count >= 3 ? cores[2] : cores[0]
    }

    /// Whether server and Kafka share a core.
    var isServerShared: Bool { self.server == self.kafka }

    static func usableCores() -> [Int] {
        guard let text = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else { return [] }
        for line in text.split(separator: "\n") where line.hasPrefix("Cpus_allowed_list:") {
            return Self.cores(list: line.dropFirst("Cpus_allowed_list:".count))
        }
        return []
    }

    /// Cores in a list such as "0-3,8", as the kernel writes it.
    static func cores(list: Substring) -> [Int] {
        list.split(separator: ",").flatMap { part -> [Int] in
            let ends = part.split(separator: "-").compactMap { Int($0.trimmingCharacters(in: .whitespaces)) }
            guard let first = ends.first, let last = ends.last, first <= last else { return [] }
            return Array(first...last)
        }
    }
}

import Foundation

/// The content of `/readyz`, as JSON.
struct Readiness: Codable, Equatable {
    struct Halted: Codable, Equatable {
        var partition: Int32
        var reason: String
    }
    struct Restoring: Codable, Equatable {
        var partition: Int32
        var records: Int64
        /// Maximum number of records to restore. Compaction may have removed some of them.
        var of: Int64
    }

    var ready: Bool
    var draining: Bool
    var joined: Bool
    /// Number of owned partitions by state.
    var partitions: [String: Int]
    var restoring: [Restoring]
    var halted: [Halted]
    /// Why the worker is not ready, in plain words.
    var errors: [String]
    /// Faults that do not make the worker unready, because another worker in its place would have them, too.
    var degraded: [String]

    init(_ snapshot: WorkerSnapshot) {
        self.ready = snapshot.isReady
        self.draining = snapshot.isDraining
        self.joined = snapshot.hasJoinedGroup
        self.partitions = [:]
        for partition in snapshot.partitions { self.partitions[partition.phase.rawValue, default: 0] += 1 }
        self.restoring = snapshot.partitions.filter { $0.phase == .restoring }.map {
            Restoring(partition: $0.number, records: $0.restoredRecords, of: $0.restoreRecordsMax)
        }
        self.halted = snapshot.partitions.filter { $0.phase == .halted }.map {
            Halted(partition: $0.number, reason: $0.reason)
        }
        self.errors = snapshot.errors
        self.degraded = snapshot.degraded
        if !snapshot.hasJoinedGroup { self.errors.append("the consumer group has not answered yet") }
    }

    func json() -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Encoding these types cannot fail. The fallback, an empty object, is JSON as well.
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}

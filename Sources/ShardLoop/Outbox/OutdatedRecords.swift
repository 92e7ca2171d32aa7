import PushModel

/// Records of `state` that Kafka had not acknowledged when their writer's epoch ended. They are never written again.
/// Their keys are written with the next epoch, and each old record waits here until that is in the log. The type is
/// pure.
struct OutdatedRecords {
    private var waiting: [Int32: [(key: [UInt8], acknowledgement: UInt64)]] = [:]
    /// Number of records. The engine limits it by `unacknowledgedMax`, as everything that waits for Kafka.
    private(set) var count = 0

    mutating func add(_ record: KeptRecord) {
        self.waiting[record.partition, default: []].append((record.key ?? [], record.acknowledgement))
        self.count += 1
    }

    /// The keys that must be written again, each once and in the same order everywhere.
    func keys(of partition: Int32) -> [[UInt8]] {
        Set(self.waiting[partition, default: []].map(\.key)).sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// Takes the records of a key that is now in `state`. Returns the acknowledgements of those that were made before
    /// it.
    mutating func takeSuperseded(
        partition: Int32, key: Span<UInt8>, isOlder: (UInt64) -> Bool
    ) -> [UInt64] {
        guard let records = self.waiting[partition] else { return [] }
        var taken: [UInt64] = []
        var left: [(key: [UInt8], acknowledgement: UInt64)] = []
        for record in records {
            if isOlder(record.acknowledgement), key.holdsSameBytes(as: record.key.span) {
                taken.append(record.acknowledgement)
            } else {
                left.append(record)
            }
        }
        self.replace(partition, by: left)
        return taken
    }

    /// Forgets a partition that belongs to another worker. Returns the acknowledgements that will never arrive.
    mutating func forget(partition: Int32) -> [UInt64] {
        defer { self.replace(partition, by: []) }
        return self.waiting[partition, default: []].map(\.acknowledgement)
    }

    private mutating func replace(_ partition: Int32, by records: [(key: [UInt8], acknowledgement: UInt64)]) {
        self.count += records.count - (self.waiting[partition]?.count ?? 0)
        self.waiting[partition] = records.isEmpty ? nil : records
    }
}

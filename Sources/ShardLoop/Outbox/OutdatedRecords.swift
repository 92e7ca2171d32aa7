import PushModel

/// Records of `state` that Kafka had not acknowledged when their writer's epoch ended. They are never written. Their
/// keys are written again with the next epoch. An old record waits here until its key's new record is in the log. The
/// type is pure.
struct OutdatedRecords {
    private var waiting: [Int32: [(key: [UInt8], acknowledgement: UInt64)]] = [:]
    /// Number of records. The engine stops at `unacknowledgedMax` records that wait for Kafka, and these are among
    /// them.
    private(set) var count = 0

    mutating func add(_ record: KeptRecord) {
        self.waiting[record.partition, default: []].append((record.key ?? [], record.acknowledgement))
        self.count += 1
    }

    /// The keys that must be written again, each once. Their order is always the same.
    func keys(of partition: Int32) -> [[UInt8]] {
        Set(self.waiting[partition, default: []].map(\.key)).sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// Removes the old records of a key that is now in `state`.
    /// - Returns: the acknowledgements of the old records.
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

    /// Forgets a partition whose `state` must not be written now.
    /// - Returns: the acknowledgements that will never arrive.
    mutating func forget(partition: Int32) -> [UInt64] {
        defer { self.replace(partition, by: []) }
        return self.waiting[partition, default: []].map(\.acknowledgement)
    }

    private mutating func replace(_ partition: Int32, by records: [(key: [UInt8], acknowledgement: UInt64)]) {
        self.count += records.count - (self.waiting[partition]?.count ?? 0)
        self.waiting[partition] = records.isEmpty ? nil : records
    }
}

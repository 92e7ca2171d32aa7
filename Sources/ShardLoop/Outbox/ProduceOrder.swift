import PushEngine

/// The order in which a batch of records is handed to librdkafka, topic by topic. Records of `state` are ordered by
/// partition. All other records keep their order. So one call suffices for each topic, and a partition's records enter
/// its queue together. Order matters only within a partition, and is kept there.
struct ProduceOrder {
    /// Indexes into the arranged records.
    private(set) var indexes: [Int32] = []
    /// The range of `indexes` with records for `routed`.
    private(set) var routed = 0..<0
    /// Where the next record of each bucket is put.
    private var nextIndexes: [Int32] = []

    /// Number of buckets before those of `state`, which has one bucket for each partition.
    private static let otherBucketCount = 3

    mutating func arrange(_ records: [EngineRecord]) {
        self.indexes.removeAll(keepingCapacity: true)
        guard records.count > 1 else {
            // With one record or none, as after a single push, there is nothing to arrange.
            self.routed = 0..<(records.first?.topic == .routed ? 1 : 0)
            if !records.isEmpty { self.indexes.append(0) }
            return
        }
        self.nextIndexes.removeAll(keepingCapacity: true)
        for record in records {
            let bucket = Self.bucket(of: record)
            while bucket + 1 >= self.nextIndexes.count { self.nextIndexes.append(0) }
            self.nextIndexes[bucket + 1] += 1
        }
        for bucket in self.nextIndexes.indices.dropFirst() { self.nextIndexes[bucket] += self.nextIndexes[bucket - 1] }
        // `routed` is bucket 2. Buckets 0 and 1 are before it.
        let (routedStart, routedEnd) = (self.start(of: 2), self.start(of: 3))
        self.routed = min(routedStart, records.count)..<min(routedEnd, records.count)
        self.indexes.append(contentsOf: repeatElement(0, count: records.count))
        for (index, record) in records.enumerated() {
            let bucket = Self.bucket(of: record)
            self.indexes[Int(self.nextIndexes[bucket])] = Int32(index)
            self.nextIndexes[bucket] += 1
        }
    }

    /// Where a bucket begins, before any record has been put in it.
    private func start(of bucket: Int) -> Int {
        bucket < self.nextIndexes.count ? Int(self.nextIndexes[bucket]) : Int(self.nextIndexes.last ?? 0)
    }

    private static func bucket(of record: EngineRecord) -> Int {
        switch record.topic {
        case .outcomes: 0
        case .deadLetters: 1
        case .routed: 2
        case .state: self.otherBucketCount + Int(record.partition)
        }
    }
}

/// Reads whole partitions or sections of them, for tools and tests. All these methods block.
extension KafkaLogReader {
    /// Maximum number of partitions that one call fetches at the same time. Each may hold `queued.max.messages.kbytes`
    /// until it is read, by default 2 MiB. So this number bounds fetched records at 128 MiB.
    public static let partitionsFetchedMax = 64

    /// Reads a section of a partition into memory. Blocks, at most about `limit`.
    /// - Parameter endOffset: the offset after the last record wanted; `nil`: the end of the log now.
    /// - Throws: `timedOut` when the end was not reached in time, or the failure of the partition.
    public func readAll(
        _ partition: TopicPartition, from start: LogStart = .beginning, upTo endOffset: Int64? = nil,
        within limit: Duration
    ) throws(KafkaError) -> [OwnedRecord] {
        var records: [OwnedRecord] = []
        try self.forEach(partition, from: start, upTo: endOffset, within: limit) { records.append($0) }
        return records
    }

    /// Works like `readAll`, but hands each record to `body` and keeps none.
    /// - Parameter isOver: called before each batch of at most 1,000 records; `true` ends the reading.
    public func forEach(
        _ partition: TopicPartition, from start: LogStart = .beginning, upTo endOffset: Int64? = nil,
        within limit: Duration, isOver: () -> Bool = { false }, _ body: (OwnedRecord) -> Void
    ) throws(KafkaError) {
        let deadline = ContinuousClock.now + limit
        let end: Int64
        if let endOffset {
            end = endOffset
        } else {
            end = try self.positions(of: [partition], within: limit)[0].endOffset
        }
        let section = try self.open(partition, from: start, upTo: end)
        defer { section.close() }
        try Self.drain(section, until: deadline, isOver: isOver, body)
    }

    /// Reads whole partitions, up to where their logs end now, and keeps no record. The partitions are fetched
    /// together, but `body` gets one partition after the other in the order given, each in the order of its offsets.
    /// - Parameters:
    ///   - limit: time limit for asking where the logs end, and then for reading each partition.
    ///   - whenRead: called after each partition's last record, and for each empty partition.
    /// - Throws: `timedOut` when the end of a partition was not reached in time, or the failure of a partition.
    public func forEach(
        of partitions: [TopicPartition], within limit: Duration, whenRead: (TopicPartition) -> Void = { _ in },
        _ body: (OwnedRecord) -> Void
    ) throws(KafkaError) {
        let positions = try self.positions(of: partitions, within: limit)
        // An empty log is not opened, because nothing would arrive.
        let filled = positions.indices.filter { positions[$0].lowOffset < positions[$0].endOffset }
        var sections: [Int: LogSection] = [:]
        var toOpen = filled[...]
        defer { for section in sections.values { section.close() } }
        for index in positions.indices {
            while sections.count < Self.partitionsFetchedMax, let next = toOpen.popFirst() {
                sections[next] = try self.open(
                    partitions[next], from: .beginning, upTo: positions[next].endOffset)
            }
            if let section = sections[index] {
                try Self.drain(section, until: .now + limit, body)
                section.close()
                sections[index] = nil
            }
            whenRead(partitions[index])
        }
    }

    private static func drain(
        _ section: LogSection, until deadline: ContinuousClock.Instant, isOver: () -> Bool = { false },
        _ body: (OwnedRecord) -> Void
    ) throws(KafkaError) {
        while !isOver() {
            let result = section.read(max: 1_000, waiting: .milliseconds(10)) { body(OwnedRecord($0)) }
            switch result.failure {
            case .offsetOutOfRange(let position, let text):
                throw KafkaError(code: .autoOffsetReset, text: text, subject: .position(position))
            case .noCommittedOffset(let partition):
                throw KafkaError(code: .autoOffsetReset, subject: .partition(partition))
            case .failed(_, let error) where !error.isRetriable: throw error
            case .failed, nil: break
            }
            if result.isFinished { return }
            guard ContinuousClock.now < deadline else {
                throw KafkaError(code: .timedOut, subject: .partition(section.topicPartition))
            }
        }
    }
}

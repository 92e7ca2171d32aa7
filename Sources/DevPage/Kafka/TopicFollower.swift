import KafkaLog

/// Follows topics from their beginning, without a group, and hands on each record as it comes.
final class TopicFollower: Sendable {
    /// Records taken at once.
    private static let batchCountMax = 500

    private let reader: KafkaLogReader
    private let sections: [LogSection]
    private let wakes: AsyncStream<Void>
    private let waking: AsyncStream<Void>.Continuation

    init(
        _ topics: [String], partitionCount: Int, settings: KafkaSettings, log: @escaping KafkaLogHandler
    ) throws(KafkaError) {
        // With the reader's own settings. Fewer and larger fetches (50 ms, 1 MiB) took 1.7 % of a core in place of 2.1 % at 20,000 records a second, as
        // the cost is that of the records; and an event stood in the timeline after 42 ms in place of 10 ms.
        let reader = try KafkaLogReader(settings, log: log)
        var sections: [LogSection] = []
        for topic in topics {
            for partition in 0..<Int32(partitionCount) {
                sections.append(
                    try reader.open(TopicPartition(topic: topic, partition: partition), from: .beginning))
            }
        }
        self.reader = reader
        self.sections = sections
        (self.wakes, self.waking) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Reads until the task is cancelled. Topics take turns in the order given, so that what the first says is mostly known before what the
    /// second says of it.
    /// - Parameter wants: whether a record is worth a copy.
    func run(
        wants: @Sendable (_ topic: String, borrowing KafkaRecord) -> Bool,
        _ take: @Sendable (_ topic: String, OwnedRecord) -> Void
    ) async {
        for section in self.sections { section.onReadable { [waking] in waking.yield() } }
        self.waking.yield()
        for await _ in self.wakes {
            var mayHaveMore = true
            while mayHaveMore, !Task.isCancelled {
                mayHaveMore = false
                for section in self.sections {
                    var records: [OwnedRecord] = []
                    let topic = section.topicPartition.topic
                    let result = section.read(max: Self.batchCountMax) { record in
                        if wants(topic, record) { records.append(OwnedRecord(record)) }
                    }
                    mayHaveMore = mayHaveMore || result.mayHaveMore
                    for record in records { take(topic, record) }
                }
            }
        }
        for section in self.sections { section.close() }
    }
}

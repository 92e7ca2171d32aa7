import CommandSupport
import KafkaLog

/// Follows the partitions of a topic, from a moment on or from their ends. Blocks: on a thread of its own.
struct OutcomeFollower {
    private let kafka: KafkaOptions
    private let topic: String
    private let partitions: [Int32]

    /// Between two looks at partitions that had nothing new.
    static let idlePause = Duration.milliseconds(50)
    /// Records taken from a partition before the next has its turn.
    private static let recordCountMax = 1_000

    init(_ kafka: KafkaOptions, topic: String, partitions: [Int32]) {
        self.kafka = kafka
        self.topic = topic
        self.partitions = partitions
    }

    /// - Parameters:
    ///   - sinceMillis: records from this moment on; `nil`: those that come from now on.
    ///   - follows: `false`: ends where the logs end now.
    ///   - isOver: asked again and again.
    ///   - whenIdle: called when nothing new was there.
    func run(
        sinceMillis: Int64?, follows: Bool, isOver: () -> Bool, whenIdle: () throws -> Void,
        _ body: (OwnedRecord) throws -> Void
    ) throws {
        let brokers = try self.kafka.cluster.brokers()
        do {
            let reader = try self.reader()
            var sections: [LogSection] = []
            defer { for section in sections { section.close() } }
            let topicPartitions = self.partitions.map { TopicPartition(topic: self.topic, partition: $0) }
            let positions = try reader.positions(of: topicPartitions, within: self.kafka.limit)
            for (partition, place) in zip(topicPartitions, positions) {
                guard !isOver() else { return }
                let start =
                    try sinceMillis.map { try self.start(partition, since: $0, isOver: isOver) } ?? place.endOffset
                guard follows || start < place.endOffset else { continue }
                sections.append(
                    try reader.open(partition, from: .offset(start), upTo: follows ? .max : place.endOffset))
            }
            try self.read(&sections, isOver: isOver, whenIdle: whenIdle, body)
        } catch let error as KafkaError {
            throw CommandFailure("\(self.topic) of \(brokers) cannot be followed: \(error)")
        }
    }

    private func reader() throws -> KafkaLogReader {
        try KafkaLogReader(try self.kafka.settings(for: .consumer), log: { _ in })
    }

    /// The first offset of the window in which the moment lies: a little too early, which the filter sees to.
    private func start(_ partition: TopicPartition, since sinceMillis: Int64, isOver: () -> Bool) throws -> Int64 {
        var isReached = false
        let (_, reach) = try TailReader(self.kafka).pick(
            partition, recordCountMax: .max, isEnough: { isReached }, isOver: isOver
        ) { record -> Bool? in
            if record.timestampMillis < sinceMillis { isReached = true }
            return nil
        }
        return reach.fromOffset
    }

    private func read(
        _ sections: inout [LogSection], isOver: () -> Bool, whenIdle: () throws -> Void,
        _ body: (OwnedRecord) throws -> Void
    ) throws {
        while !sections.isEmpty, !isOver() {
            var records: [OwnedRecord] = []
            var finished: [Int] = []
            for (index, section) in sections.enumerated() {
                let result = section.read(max: Self.recordCountMax) { records.append(OwnedRecord($0)) }
                if case .failed(_, let error)? = result.failure, !error.isRetriable { throw error }
                if case .offsetOutOfRange(let position, let text)? = result.failure {
                    throw KafkaError(code: .autoOffsetReset, text: text, subject: .position(position))
                }
                if result.isFinished { finished.append(index) }
            }
            // What came together is shown in the order in which it was written.
            for record in records.sorted(by: { $0.timestampMillis < $1.timestampMillis }) { try body(record) }
            for index in finished.reversed() { sections.remove(at: index).close() }
            guard records.isEmpty else { continue }
            try whenIdle()
            Sleeping.sleep(Self.idlePause)
        }
    }
}

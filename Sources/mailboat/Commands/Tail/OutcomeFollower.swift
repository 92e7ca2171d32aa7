import CommandSupport
import KafkaLog

/// Follows the partitions of a topic, from a moment on or from their ends. Records already in the log are read in the
/// order of time. Blocks: use a thread of its own.
struct OutcomeFollower {
    private let kafka: KafkaOptions
    private let topic: String
    private let partitions: [Int32]

    /// Pause between two looks at partitions that had nothing new.
    static let idlePause = Duration.milliseconds(50)
    /// How long a partition that cannot be read delays the others.
    private static let patience = Duration.seconds(2)
    /// Most records taken from a partition before the next partition is read.
    private static let recordCountMax = 1_000

    init(_ kafka: KafkaOptions, topic: String, partitions: [Int32]) {
        self.kafka = kafka
        self.topic = topic
        self.partitions = partitions
    }

    /// Follows the partitions until `isOver` says so.
    /// - Parameters:
    ///   - sinceMillis: records from this moment on; `nil`: only new ones.
    ///   - follows: `false`: stop at the current ends of the logs.
    ///   - isOver: asked repeatedly.
    ///   - whenRead: called once, when everything that was in the log has been read.
    ///   - whenIdle: called when there was nothing new.
    func run(
        sinceMillis: Int64?, follows: Bool, isOver: () -> Bool, whenRead: () -> Void, whenIdle: () throws -> Void,
        _ body: (OwnedRecord) throws -> Void
    ) throws {
        let brokers = try self.kafka.cluster.brokers()
        do {
            let reader = try self.reader()
            let topicPartitions = self.partitions.map { TopicPartition(topic: self.topic, partition: $0) }
            let positions = try reader.positions(of: topicPartitions, within: self.kafka.limit)
            if let sinceMillis {
                var backlog: [LogSection] = []
                defer { for section in backlog { section.close() } }
                for (partition, bounds) in zip(topicPartitions, positions) {
                    guard !isOver() else { return }
                    let start = try self.start(partition, since: sinceMillis, isOver: isOver)
                    guard start < bounds.endOffset else { continue }
                    backlog.append(try reader.open(partition, from: .offset(start), upTo: bounds.endOffset))
                }
                try self.readInOrder(backlog, isOver: isOver, whenIdle: whenIdle, body)
            }
            whenRead()
            guard follows else { return }
            var sections: [LogSection] = []
            defer { for section in sections { section.close() } }
            for (partition, bounds) in zip(topicPartitions, positions) {
                sections.append(try reader.open(partition, from: .offset(bounds.endOffset), upTo: .max))
            }
            try self.read(sections, isOver: isOver, whenIdle: whenIdle, body)
        } catch let error as KafkaError {
            throw CommandFailure("\(self.topic) of \(brokers) cannot be followed: \(error)")
        }
    }

    private func reader() throws -> KafkaLogReader {
        try KafkaLogReader(try self.kafka.settings(for: .consumer), log: { _ in })
    }

    /// The first offset of the window that contains the moment. It is a little too early; the filter drops the surplus.
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

    /// A section of a partition, and its next records.
    private struct Stream {
        let section: LogSection
        var waiting: ArraySlice<OwnedRecord> = []
        var isFinished = false

        /// Whether no record is ready and more may arrive.
        var isDry: Bool { self.waiting.isEmpty && !self.isFinished }

        mutating func fill() throws {
            var records: [OwnedRecord] = []
            self.isFinished = try OutcomeFollower.take(from: self.section, into: &records)
            self.waiting = records[...]
        }
    }

    /// Reads everything in the order of time. The log's order holds within a partition, whatever the records' times.
    private func readInOrder(
        _ sections: [LogSection], isOver: () -> Bool, whenIdle: () throws -> Void,
        _ body: (OwnedRecord) throws -> Void
    ) throws {
        var streams = sections.map { Stream(section: $0) }
        var patienceEnds = ContinuousClock.now + Self.patience
        while !isOver() {
            for index in streams.indices where streams[index].isDry { try streams[index].fill() }
            streams.removeAll { $0.isFinished && $0.waiting.isEmpty }
            guard !streams.isEmpty else { return }
            // Records that have not arrived yet may be older than those that have.
            if streams.contains(where: \.isDry), ContinuousClock.now < patienceEnds || streams.allSatisfy(\.isDry) {
                try whenIdle()
                Sleeping.sleep(Self.idlePause)
                continue
            }
            // A partition that gives nothing delays the others only once.
            let isWhole = !streams.contains(where: \.isDry)
            repeat {
                let heads = streams.indices.compactMap { index in
                    streams[index].waiting.first.map { (index: index, millis: $0.timestampMillis) }
                }
                guard let next = heads.min(by: { $0.millis < $1.millis }),
                    let record = streams[next.index].waiting.popFirst()
                else { break }
                try body(record)
            } while !streams.contains(where: \.isDry) && streams.contains(where: { !$0.waiting.isEmpty })
            if isWhole { patienceEnds = ContinuousClock.now + Self.patience }
        }
    }

    /// Reads records as they arrive.
    private func read(
        _ sections: [LogSection], isOver: () -> Bool, whenIdle: () throws -> Void,
        _ body: (OwnedRecord) throws -> Void
    ) throws {
        while !isOver() {
            var records: [OwnedRecord] = []
            for section in sections { _ = try Self.take(from: section, into: &records) }
            // Records that arrived together are shown in the order in which they were written.
            for record in records.sorted(by: { $0.timestampMillis < $1.timestampMillis }) { try body(record) }
            guard records.isEmpty else { continue }
            try whenIdle()
            Sleeping.sleep(Self.idlePause)
        }
    }

    /// Takes records from a section.
    /// - Returns: whether the section is finished.
    private static func take(from section: LogSection, into records: inout [OwnedRecord]) throws -> Bool {
        let result = section.read(max: Self.recordCountMax) { records.append(OwnedRecord($0)) }
        if case .failed(_, let error)? = result.failure, !error.isRetriable { throw error }
        if case .offsetOutOfRange(let position, let text)? = result.failure {
            throw KafkaError(code: .autoOffsetReset, text: text, subject: .position(position))
        }
        return result.isFinished
    }
}

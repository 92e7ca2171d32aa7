import CommandSupport
import KafkaLog

/// Follows the partitions of a topic, from a moment on or from their ends. Records already in the log are read in the
/// order of time. Blocks: use a thread of its own.
struct OutcomeFollower {
    private let kafka: KafkaOptions
    private let topic: String
    private let partitions: [Int32]
    /// Further partitions, which are read once a record of `partitions` calls for them.
    private let otherPartitions: [Int32]

    /// Largest difference expected between the clocks of two workers, in milliseconds. The other partitions are read
    /// from this long before the record that called for them.
    private static let clockDifferenceMaxMillis: Int64 = 60_000
    /// Pause between two looks at partitions that had nothing new.
    static let idlePause = Duration.milliseconds(50)
    /// How long a partition that cannot be read delays the others.
    private static let patience = Duration.seconds(2)
    /// Time limit for asking where the logs of the other partitions end.
    private static let otherLogsLimit = Duration.seconds(10)
    /// Maximum number of records that are taken from a partition before the next partition is read.
    private static let recordCountMax = 1_000

    init(_ kafka: KafkaOptions, topic: String, partitions: [Int32], otherPartitions: [Int32] = []) {
        self.kafka = kafka
        self.topic = topic
        self.partitions = partitions
        self.otherPartitions = otherPartitions
    }

    /// Follows the partitions until `isOver` says so.
    /// - Parameters:
    ///   - sinceMillis: records from this moment on; `nil`: only new ones.
    ///   - follows: `false`: stop at the current ends of the logs.
    ///   - isOver: asked repeatedly.
    ///   - callsForOthers: whether a record of `partitions` calls for the other partitions. Asked until it says so,
    ///     also about some records from before `sinceMillis`.
    ///   - whenRead: called once, when everything that was in the log has been read.
    ///   - whenIdle: called when there was nothing new.
    func run(
        sinceMillis: Int64?, follows: Bool, isOver: () -> Bool, callsForOthers: (OwnedRecord) -> Bool = { _ in false },
        whenRead: () -> Void, whenIdle: () throws -> Void, _ body: (OwnedRecord) throws -> Void
    ) throws {
        let brokers = try self.kafka.cluster.brokers()
        do {
            let reader = try self.reader()
            let own = try reader.positions(of: self.topicPartitions(self.partitions), within: self.kafka.limit)
                .map { (partition: $0.topicPartition, end: $0.endOffset) }
            let others = self.otherLogs(reader)
            var areOthersRead = others.isEmpty
            if let sinceMillis {
                var backlog: [LogSection] = []
                defer { for section in backlog { section.close() } }
                func openBacklog(_ logs: [(partition: TopicPartition, end: Int64)]) throws {
                    for log in logs where !isOver() {
                        let start = try self.start(log.partition, since: sinceMillis, isOver: isOver) { record in
                            if !areOthersRead { areOthersRead = callsForOthers(record) }
                        }
                        guard start < log.end else { continue }
                        backlog.append(try reader.open(log.partition, from: .offset(start), upTo: log.end))
                    }
                }
                try openBacklog(own)
                if areOthersRead { try openBacklog(others) }
                guard !isOver() else { return }
                try self.readInOrder(backlog, isOver: isOver, whenIdle: whenIdle, body)
            }
            whenRead()
            guard follows else { return }
            var sections: [LogSection] = []
            defer { for section in sections { section.close() } }
            for log in areOthersRead ? own + others : own {
                sections.append(try reader.open(log.partition, from: .offset(log.end)))
            }
            while !isOver() {
                let records = try self.read(sections, isOver: isOver, whenIdle: whenIdle)
                for record in records {
                    try body(record)
                    guard !areOthersRead, callsForOthers(record) else { continue }
                    areOthersRead = true
                    let since = record.timestampMillis - Self.clockDifferenceMaxMillis
                    for log in others where !isOver() {
                        let start = try self.start(log.partition, since: since, isOver: isOver)
                        sections.append(try reader.open(log.partition, from: .offset(max(start, log.end))))
                    }
                }
            }
        } catch let error as KafkaError {
            throw CommandFailure("\(self.topic) of \(brokers) cannot be followed: \(error)")
        }
    }

    private func topicPartitions(_ numbers: [Int32]) -> [TopicPartition] {
        numbers.map { TopicPartition(topic: self.topic, partition: $0) }
    }

    /// The other partitions and the ends of their logs. A partition without an answer is left out, because `partitions`
    /// can be read without it.
    private func otherLogs(_ reader: KafkaLogReader) -> [(partition: TopicPartition, end: Int64)] {
        let partitions = self.topicPartitions(self.otherPartitions)
        guard !partitions.isEmpty, let logs = try? reader.logsOfEach(partitions, within: Self.otherLogsLimit) else {
            return []
        }
        return partitions.compactMap { partition in logs[partition].map { (partition, $0.end) } }
    }

    private func reader() throws -> KafkaLogReader {
        try KafkaLogReader(try self.kafka.settings(for: .consumer), log: { _ in })
    }

    /// The first offset of the window that contains the moment. It may be a little too early, and the filter drops what
    /// is too old.
    /// - Parameter look: called with each record from that offset on.
    private func start(
        _ partition: TopicPartition, since sinceMillis: Int64, isOver: () -> Bool,
        look: (OwnedRecord) -> Void = { _ in }
    ) throws -> Int64 {
        var isReached = false
        let (_, reach) = try TailReader(self.kafka).pick(
            partition, recordCountMax: .max, isEnough: { isReached }, isOver: isOver
        ) { record -> Bool? in
            if record.timestampMillis < sinceMillis { isReached = true }
            look(record)
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

    /// Reads everything in the order of time. Records of one partition keep the log's order, even if their times say
    /// otherwise.
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
            // Records that have not arrived yet may be older than records that have arrived.
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

    /// Waits for records, and returns those that have arrived. Records that arrived together are in the order in which
    /// they were written.
    private func read(
        _ sections: [LogSection], isOver: () -> Bool, whenIdle: () throws -> Void
    ) throws -> [OwnedRecord] {
        while !isOver() {
            var records: [OwnedRecord] = []
            for section in sections { _ = try Self.take(from: section, into: &records) }
            guard records.isEmpty else { return records.sorted(by: { $0.timestampMillis < $1.timestampMillis }) }
            try whenIdle()
            Sleeping.sleep(Self.idlePause)
        }
        return []
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

import KafkaLog
import Synchronization

/// Follows topics from their beginning, without a group, and hands on each record as it arrives.
///
/// Reading costs more than looking at what was read. Partitions that nobody wants are therefore not read for a while.
/// The follower then asks only for the ends of their logs, and counts the records. When it reads again, it begins where
/// the counting ended.
final class TopicFollower: Sendable {
    /// Takes the records of the topics.
    protocol Reader: Sendable {
        /// Which partitions must be read. The follower asks repeatedly.
        /// - Returns: a test for the partitions to read, while more records arrive than can be read; `nil`: all.
        func partitionsToRead() -> (@Sendable (TopicPartition) -> Bool)?
        /// Reports that this many records of a partition were not read.
        func passOver(_ count: Int, in partition: TopicPartition)
        /// Whether a record is worth a copy.
        func wants(_ record: borrowing KafkaRecord, of topic: String) -> Bool
        /// Takes a record that was wanted.
        func take(_ record: OwnedRecord, of topic: String)
    }

    /// Maximum number of records that are taken at once.
    private static let batchCountMax = 500
    /// How often the ends of unread partitions are asked for. More often than once a second, because each second of the
    /// clock has its own count.
    private static let askSpacing = Duration.milliseconds(500)
    /// How long to wait for an answer about the ends of the logs. Without an answer, the next answer counts the records
    /// of both questions.
    private static let answerDurationMax = Duration.seconds(1)

    private struct State {
        /// The partitions that are not read.
        var unread: [TopicPartition] = []
        /// The ends of the logs of unread partitions, as far as they were not handled yet.
        var ends: [TopicPartition: Int64] = [:]
        /// Whether to ask again which partitions must be read.
        var mustChoose = false
    }

    private struct Followed {
        let topicPartition: TopicPartition
        /// The section that is read; `nil`: the partition is not read.
        var section: LogSection?
        var pace = Pace.prompt
        var progress = FollowedPartition()
    }

    /// How fetches are made.
    private enum Pace {
        /// Published records are read at once: an event is in the timeline after 10 ms.
        case prompt
        /// Fetches wait until there is much to read. In a flood, fetches would be most of the cost once a few
        /// partitions are read.
        case thrifty
    }

    private static let thriftySettings = KafkaSettings([
        .init("fetch.wait.max.ms", "100"), .init("fetch.min.bytes", "1048576"),
    ])

    private let promptReader: KafkaLogReader
    /// Reader for the thrifty pace, created when it is first needed.
    private let thriftyReader = Mutex<KafkaLogReader?>(nil)
    private let makeThriftyReader: @Sendable () throws(KafkaError) -> KafkaLogReader
    private let sections: [LogSection]
    private let wakes: AsyncStream<Void>
    private let waking: AsyncStream<Void>.Continuation
    private let state = Mutex(State())

    init(
        _ topics: [String], partitionCount: Int, settings: KafkaSettings, log: @escaping KafkaLogHandler
    ) throws(KafkaError) {
        let reader = try KafkaLogReader(settings, log: log)
        var sections: [LogSection] = []
        for topic in topics {
            for partition in 0..<Int32(partitionCount) {
                sections.append(
                    try reader.open(TopicPartition(topic: topic, partition: partition), from: .beginning))
            }
        }
        self.promptReader = reader
        self.makeThriftyReader = { () throws(KafkaError) in
            try KafkaLogReader(settings.appending(Self.thriftySettings), log: log)
        }
        self.sections = sections
        (self.wakes, self.waking) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Asks for another choice of partitions, before the next read. Callable from any thread.
    func choose() {
        self.state.withLock { $0.mustChoose = true }
        self.waking.yield()
    }

    /// Reads until the task is cancelled. Topics take turns in the given order, so an event is usually known before its
    /// outcome is read.
    func run(for reader: some Reader) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.read(for: reader) }
            group.addTask { await self.askEnds() }
        }
    }

    private func read(for reader: some Reader) async {
        var all = self.sections.map { Followed(topicPartition: $0.topicPartition, section: $0) }
        for one in all { self.follow(one.section) }
        self.waking.yield()
        for await _ in self.wakes {
            var mayHaveMore = true
            while mayHaveMore, !Task.isCancelled {
                self.heedChoice(&all, for: reader)
                mayHaveMore = false
                for index in all.indices { mayHaveMore = self.readBatch(&all[index], for: reader) || mayHaveMore }
            }
        }
        for one in all { one.section?.close() }
    }

    private func follow(_ section: LogSection?) { section?.onReadable { [waking] in waking.yield() } }

    /// Reads one batch.
    /// - Returns: whether more records may be available already.
    private func readBatch(_ one: inout Followed, for reader: some Reader) -> Bool {
        guard let section = one.section else { return false }
        var records: [OwnedRecord] = []
        var firstOffset: Int64?
        let topic = one.topicPartition.topic
        let result = section.read(max: Self.batchCountMax) { record in
            firstOffset = firstOffset ?? record.offset
            if reader.wants(record, of: topic) { records.append(OwnedRecord(record)) }
        }
        let missed = one.progress.read(from: firstOffset, to: result.nextOffset)
        if missed > 0 { reader.passOver(missed, in: one.topicPartition) }
        for record in records { reader.take(record, of: topic) }
        if case .offsetOutOfRange? = result.failure {
            // Kafka has deleted the next records, because more arrived than it keeps.
            section.close()
            one.progress.logWasCut()
            self.open(&one, from: .beginning)
        }
        return result.mayHaveMore
    }

    private func open(_ one: inout Followed, from start: LogStart) {
        // If opening fails, the next choice tries again.
        one.section = try? self.reader(one.pace).open(one.topicPartition, from: start)
        self.follow(one.section)
    }

    private func reader(_ pace: Pace) throws -> KafkaLogReader {
        guard pace == .thrifty else { return self.promptReader }
        return try self.thriftyReader.withLock { reader in
            let made = try reader ?? self.makeThriftyReader()
            reader = made
            return made
        }
    }

    // MARK: Which partitions are read

    /// Opens partitions that are wanted again, and closes those that are no longer wanted. librdkafka's pause would
    /// lose records (`LogSection`).
    private func heedChoice(_ all: inout [Followed], for reader: some Reader) {
        let ends = self.state.withLock { state -> [TopicPartition: Int64]? in
            guard state.mustChoose else { return nil }
            defer { (state.mustChoose, state.ends) = (false, [:]) }
            return state.ends
        }
        guard let ends else { return }
        // Ask only after the ends were taken. A partition that has become wanted ignores its newest end, and is read
        // from where counting stopped before. So every record is read that arrives after somebody wanted the partition.
        let isWanted = reader.partitionsToRead()
        let pace = isWanted == nil ? Pace.prompt : .thrifty
        for index in all.indices {
            let partition = all[index].topicPartition
            let isWanted = isWanted?(partition) ?? true
            let nextOffset = all[index].progress.nextOffset
            if let section = all[index].section {
                // Until a position is known, the partition cannot be closed, because nothing says where to continue.
                guard !isWanted || all[index].pace != pace, nextOffset != nil else { continue }
                section.close()
                all[index].section = nil
            }
            if isWanted {
                guard all[index].section == nil else { continue }
                all[index].pace = pace
                self.open(&all[index], from: nextOffset.map { .offset($0) } ?? .beginning)
            } else if let end = ends[partition] {
                let count = all[index].progress.pass(to: end)
                if count > 0 { reader.passOver(count, in: partition) }
            }
        }
        let unread = all.filter { $0.section == nil }.map(\.topicPartition)
        self.state.withLock { $0.unread = unread }
    }

    /// Asks for the ends of unread partitions until the task is cancelled.
    private func askEnds() async {
        while !Task.isCancelled {
            // If the sleep is cancelled, the loop ends.
            try? await Task.sleep(for: Self.askSpacing)
            let unread = self.state.withLock { $0.unread }
            guard !unread.isEmpty, !Task.isCancelled else { continue }
            let positions = await NamedThread.run("page-ends") { [promptReader] in
                // If no answer comes in time, the next answer covers the time since the last one.
                (try? promptReader.positions(of: unread, within: Self.answerDurationMax)) ?? []
            }
            self.state.withLock { state in
                for position in positions { state.ends[position.topicPartition] = position.endOffset }
            }
            self.choose()
        }
    }
}

import KafkaLog
import Synchronization

/// Follows topics from their beginning, without a group, and hands on each record as it comes.
///
/// Reading costs more than looking at what was read, so partitions that nobody wants are left alone for a while: only where their logs end is
/// asked, and what came is counted. Reading goes on where the counting has come to.
final class TopicFollower: Sendable {
    /// Who follows.
    protocol Reader: Sendable {
        /// Asked again and again.
        /// - Returns: which partitions are to be read, while more comes than there is to be read; `nil`: all.
        func partitionsToRead() -> (@Sendable (TopicPartition) -> Bool)?
        /// A number of records of a partition were not read.
        func passOver(_ count: Int, in partition: TopicPartition)
        /// Whether a record is worth a copy.
        func wants(_ record: borrowing KafkaRecord, of topic: String) -> Bool
        /// It was wanted.
        func take(_ record: OwnedRecord, of topic: String)
    }

    /// Records taken at once.
    private static let batchCountMax = 500
    /// How often the ends are asked of partitions that are not read. More often than once a second: each second of the clock shall have its count.
    private static let askSpacing = Duration.milliseconds(500)
    /// How long one answer is waited for. Until the next, nothing is passed over.
    private static let answerDurationMax = Duration.seconds(1)

    private struct State {
        /// Those that are not read.
        var unread: [TopicPartition] = []
        /// Where their logs end, as far as it was not heeded yet.
        var ends: [TopicPartition: Int64] = [:]
        /// Which partitions are to be read has to be asked.
        var mustChoose = false
    }

    private struct Followed {
        let topicPartition: TopicPartition
        /// `nil`: it is not read.
        var section: LogSection?
        var pace = Pace.prompt
        var progress = FollowedPartition()
    }

    /// How fetches are made.
    private enum Pace {
        /// What was published is read at once: an event stands in the timeline after 10 ms.
        case prompt
        /// Fetches wait until there is much. In a flood most of the cost would be that of the fetches, once a few partitions are read.
        case thrifty
    }

    private static let thriftySettings = KafkaSettings([
        .init("fetch.wait.max.ms", "100"), .init("fetch.min.bytes", "1048576"),
    ])

    private let promptReader: KafkaLogReader
    /// Made when it is first needed.
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

    /// Which partitions are to be read may have changed. Any thread.
    func choose() {
        self.state.withLock { $0.mustChoose = true }
        self.waking.yield()
    }

    /// Reads until the task is cancelled. Topics take turns in the order given, so that what the first says is mostly known before what the
    /// second says of it.
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

    /// - Returns: whether more may be there already.
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
            // More came than Kafka keeps, since it was last asked or read.
            section.close()
            one.progress.logWasCut()
            self.open(&one, from: .beginning)
        }
        return result.mayHaveMore
    }

    private func open(_ one: inout Followed, from start: LogStart) {
        // Where it fails it is tried again with the next choice.
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

    /// Opens what is wanted again, and closes what is no longer wanted. librdkafka's pause would lose records (`LogSection`).
    private func heedChoice(_ all: inout [Followed], for reader: some Reader) {
        let ends = self.state.withLock { state -> [TopicPartition: Int64]? in
            guard state.mustChoose else { return nil }
            defer { (state.mustChoose, state.ends) = (false, [:]) }
            return state.ends
        }
        guard let ends else { return }
        // After the ends: who is wanted by now may have been published to before an end was asked, and is read from the end before that.
        let isWanted = reader.partitionsToRead()
        let pace = isWanted == nil ? Pace.prompt : .thrifty
        for index in all.indices {
            let partition = all[index].topicPartition
            let isWanted = isWanted?(partition) ?? true
            let nextOffset = all[index].progress.nextOffset
            if let section = all[index].section {
                // As long as nothing is known of it, nobody could say where to go on.
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

    /// Until the task is cancelled.
    private func askEnds() async {
        while !Task.isCancelled {
            // Cancelled: the loop ends.
            try? await Task.sleep(for: Self.askSpacing)
            let unread = self.state.withLock { $0.unread }
            guard !unread.isEmpty, !Task.isCancelled else { continue }
            let positions = await NamedThread.run("page-ends") { [promptReader] in
                // Not answered in time: the next answer counts for both.
                (try? promptReader.positions(of: unread, within: Self.answerDurationMax)) ?? []
            }
            self.state.withLock { state in
                for position in positions { state.ends[position.topicPartition] = position.endOffset }
            }
            self.choose()
        }
    }
}

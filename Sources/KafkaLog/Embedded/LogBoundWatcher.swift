import CRDKafka
import Synchronization

/// Checks once a second how full the partitions of an embedded cluster are. Two requests ask for the first and next
/// offsets of all partitions. The mock cannot report bytes, so a small read of each topic that has grown estimates the
/// size of its records.
final class LogBoundWatcher: Sendable {
    private let client: ClientHandle
    private let reader: KafkaLogReader
    private let onNotice: @Sendable (EmbeddedKafka.Notice) -> Void
    private let state: Mutex<State>
    /// Makes checks run one after the other. It is locked during the whole check, including its requests.
    private let checking = Mutex(())

    private struct Watched {
        var fill: EmbeddedKafka.PartitionFill
        var isNearlyFullSaid = false
        var truncationSaid: Int64 = 0
    }

    private struct State {
        var watched: [Watched] = []
        /// The average size of a record by topic, from the last sample.
        var recordByteCounts: [String: Sample] = [:]
        var isStopped = false
    }

    private struct Sample {
        var averageByteCount: Int
        /// The number of records in the topic when the sample was taken.
        var recordCount: Int64
    }

    private static let interval: Duration = .seconds(1)
    private static let requestDurationMax: Duration = .seconds(2)
    private static let warningPercent = 80
    private static let sampledRecordCount: Int64 = 64
    /// Estimated bytes of a record beyond its key, value and headers, including its share of the header of a small
    /// batch.
    private static let recordOverheadByteCount = 24

    init(
        settings: KafkaSettings, topics: [EmbeddedKafka.Topic],
        onNotice: @escaping @Sendable (EmbeddedKafka.Notice) -> Void
    ) throws(KafkaError) {
        // These clients do not log. A test may take the cluster down on purpose, and librdkafka's errors would then
        // hide all other lines.
        self.client = try ClientConfiguration.withoutGroup(settings).makeClient(log: { _ in })
        self.reader = try KafkaLogReader(settings, log: { _ in })
        self.onNotice = onNotice
        self.state = Mutex(State())
        for topic in topics { self.add(topic) }
    }

    func add(_ topic: EmbeddedKafka.Topic) {
        self.state.withLock { state in
            for partition in 0..<topic.partitionCount {
                let topicPartition = TopicPartition(topic: topic.name, partition: Int32(partition))
                state.watched.append(
                    Watched(
                        fill: .init(topicPartition: topicPartition, lowOffset: 0, endOffset: 0, estimatedByteCount: 0)))
            }
        }
    }

    var fill: [EmbeddedKafka.PartitionFill] { self.state.withLock { $0.watched.map(\.fill) } }

    func stop() { self.state.withLock { $0.isStopped = true } }

    func start() {
        NamedThread.start("kafka-watch") { [weak self] in
            while self?.isRunning == true {
                self?.check()
                Sleeping.sleep(Self.interval)
            }
        }
    }

    private var isRunning: Bool { self.state.withLock { !$0.isStopped } }

    /// Checks every partition once, and returns how full each is. If the cluster does not answer, because it is down or
    /// stopped, the result is that of the last check.
    @discardableResult
    func check() -> [EmbeddedKafka.PartitionFill] {
        let notices: [EmbeddedKafka.Notice] = self.checking.withLock { _ in
            let partitions = self.fill.map(\.topicPartition)
            guard self.isRunning, !partitions.isEmpty,
                let ends = try? LogBounds.query(client: self.client, partitions, until: .now + Self.requestDurationMax)
            else { return [] }
            self.sampleTopics(partitions, ends)
            return self.state.withLock { state in Self.update(&state, ends) }
        }
        for notice in notices { self.onNotice(notice) }
        return self.fill
    }

    /// Reads a few of the newest records of each topic that has grown by a quarter since its last sample.
    private func sampleTopics(_ partitions: [TopicPartition], _ ends: (low: [Int64], end: [Int64])) {
        var fullest: [String: (index: Int, total: Int64)] = [:]
        for (index, partition) in partitions.enumerated() where ends.end[index] > ends.low[index] {
            let held = ends.end[index] - ends.low[index]
            guard let known = fullest[partition.topic] else {
                fullest[partition.topic] = (index, held)
                continue
            }
            let isFuller = held > ends.end[known.index] - ends.low[known.index]
            fullest[partition.topic] = (isFuller ? index : known.index, known.total + held)
        }
        for (topic, found) in fullest {
            let known = self.state.withLock { $0.recordByteCounts[topic] }
            if let known, found.total < known.recordCount + known.recordCount / 4 { continue }
            let (low, end) = (ends.low[found.index], ends.end[found.index])
            let start = max(low, end - Self.sampledRecordCount)
            guard
                let records = try? self.reader.readAll(
                    partitions[found.index], from: .offset(start), upTo: end, within: Self.requestDurationMax),
                !records.isEmpty
            else { continue }
            let byteCount = records.reduce(0) { $0 + $1.storedByteCount + Self.recordOverheadByteCount }
            self.state.withLock {
                $0.recordByteCounts[topic] = Sample(
                    averageByteCount: byteCount / records.count, recordCount: found.total)
            }
        }
    }

    private static func update(_ state: inout State, _ ends: (low: [Int64], end: [Int64])) -> [EmbeddedKafka.Notice] {
        var notices: [EmbeddedKafka.Notice] = []
        // A topic that was added during the check is at the end of the list. The next check includes it.
        for index in ends.low.indices {
            var watched = state.watched[index]
            watched.fill.lowOffset = ends.low[index]
            watched.fill.endOffset = ends.end[index]
            let recordCount = Int(ends.end[index] - ends.low[index])
            let averageByteCount = state.recordByteCounts[watched.fill.topicPartition.topic]?.averageByteCount ?? 0
            watched.fill.estimatedByteCount = min(recordCount * averageByteCount, EmbeddedKafka.partitionByteCountMax)
            if watched.fill.lowOffset > 0 {
                if watched.truncationSaid == 0 || watched.fill.lowOffset >= watched.truncationSaid * 2 {
                    watched.truncationSaid = watched.fill.lowOffset
                    notices.append(.truncated(watched.fill))
                }
            } else if !watched.isNearlyFullSaid {
                // Only the mock knows the number of batches. There are never more batches than records, so records are
                // counted.
                let isNearlyFull =
                    watched.fill.estimatedByteCount * 100 >= EmbeddedKafka.partitionByteCountMax * Self.warningPercent
                    || recordCount * 100 >= EmbeddedKafka.partitionBatchCountMax * Self.warningPercent
                if isNearlyFull {
                    watched.isNearlyFullSaid = true
                    notices.append(.nearlyFull(watched.fill))
                }
            }
            state.watched[index] = watched
        }
        return notices
    }
}

extension OwnedRecord {
    fileprivate var storedByteCount: Int {
        (self.key?.count ?? 0) + (self.value?.count ?? 0)
            + self.headers.reduce(0) { $0 + $1.name.utf8.count + ($1.value?.count ?? 0) }
    }
}

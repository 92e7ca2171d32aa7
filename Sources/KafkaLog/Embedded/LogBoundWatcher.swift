import CRDKafka
import Synchronization

/// Checks once a second how full the partitions of an embedded cluster are. It makes two requests for all watermarks,
/// and one small read per topic that has grown, to learn the size of its records. The mock itself cannot be asked for
/// bytes.
final class LogBoundWatcher: Sendable {
    private let client: ClientHandle
    private let reader: KafkaLogReader
    private let onNotice: @Sendable (EmbeddedKafka.Notice) -> Void
    private let state: Mutex<State>
    /// Serialises whole checks; locked while they talk to the cluster.
    private let checking = Mutex(())

    private struct Watched {
        var fill: EmbeddedKafka.PartitionFill
        var isNearlyFullSaid = false
        var truncationSaid: Int64 = 0
    }

    private struct State {
        var watched: [Watched] = []
        /// Sampled size of a record, by topic.
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
    /// Bytes of a record in a batch beyond its key, value and headers. Includes its share of the batch's header when
    /// batches are small.
    private static let recordOverheadByteCount = 24

    init(
        settings: KafkaSettings, topics: [EmbeddedKafka.Topic],
        onNotice: @escaping @Sendable (EmbeddedKafka.Notice) -> Void
    ) throws(KafkaError) {
        // The cluster may be taken down on purpose; librdkafka's complaints about that would hide everything else.
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

    /// Checks every partition once. While the cluster does not answer (taken down, stopped), nothing is learnt or
    /// reported.
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
        // A topic added meanwhile is at the end of the list and is checked next time.
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
                // Batches cannot be counted from outside, but there are never more of them than records.
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

import APNSProtocol
import PushEngine
import PushModel
import ShardLoop

/// A Kafka in memory that does what a test says. It stores records at once, and the test decides when it reports them.
final class ScriptedLog: ShardLog {
    struct LogID: Hashable {
        var topic: EngineRecord.Topic
        var partition: Int32
    }

    var leaseEndsMillis = Int64.max
    /// The records of `events` by partition.
    var events: [Int32: [(key: String, value: String)]] = [:]
    /// Number of records that were read from each partition.
    private(set) var positions: [Int32: Int] = [:]
    /// Partitions that are being read.
    private(set) var reading: Set<Int32> = []
    /// The failure of the next read of a partition.
    var readFailures: [Int32: LogFailure] = [:]
    private(set) var logs: [LogID: [KeptRecord]] = [:]
    /// Records that were handed over and are not reported yet, in order.
    private(set) var unanswered: [(record: KeptRecord, offset: Int64)] = []
    private var answered: [(record: KeptRecord, offset: Int64?, refusal: ProduceError?)] = []
    /// Says why Kafka refuses a record, or `nil` if Kafka accepts it. Called when the test makes Kafka report.
    var refuses: (KeptRecord) -> ProduceError? = { _ in nil }
    /// Maximum number of records of a topic in one batch. Records that are reported together are one batch.
    var batchCountMax: [EngineRecord.Topic: Int] = [:]
    /// Whether Kafka refuses the whole batch of a refused record.
    var refusesWholeBatch = false
    /// The time that Kafka reports for a record. 0 means the record's own time.
    var deliveredTimeMillis: Int64 = 0
    /// Offsets of the events that have no key.
    var keyless: Set<Int> = []
    /// Records in the order in which they were handed over.
    private(set) var sent: [KeptRecord] = []
    /// Records that Kafka accepted, in the order of its answers.
    private(set) var taken: [KeptRecord] = []
    private(set) var commits: [CommitPosition] = []
    private(set) var sections: [(partition: Int32, offsets: Range<Int64>)] = []
    /// Number of further records for which there is room. `nil` means that there is always room.
    var room: Int?
    /// Topics whose records the Kafka library refuses at once.
    var refusedTopics: Set<EngineRecord.Topic> = []
    /// The failure with which the library refuses records of `refusedTopics`.
    var refusal = ProduceFailure("refused", .other)
    /// The failure that Kafka reports for a record that it has not stored.
    var failure = ProduceFailure("given up", .other)

    func state(_ partition: Int32 = 0) -> [KeptRecord] { self.logs[LogID(topic: .state, partition: partition)] ?? [] }

    // MARK: What the test does

    /// Makes Kafka report the first `count` records. `nil` means all of them. With `isFailure` they are reported as
    /// given up, and removed from their logs.
    func answer(_ count: Int? = nil, isFailure: Bool = false) {
        let answered = self.unanswered.prefix(count ?? .max)
        self.unanswered.removeFirst(answered.count)
        let counts = Dictionary(grouping: answered, by: \.record.topic).mapValues(\.count)
        // `refuses` is called once for each record, because a test may refuse only the first time.
        let judged = answered.map { (record: $0.record, offset: $0.offset, refusal: self.refuses($0.record)) }
        let refused = Dictionary(
            judged.compactMap { one in one.refusal.map { (one.record.topic, $0) } },
            uniquingKeysWith: { first, _ in first })
        for (record, offset, own) in judged {
            var refusal = self.refusesWholeBatch ? refused[record.topic] : own
            if let max = self.batchCountMax[record.topic], counts[record.topic]! > max { refusal = .size }
            if refusal == nil, !isFailure { self.taken.append(record) }
            self.answered.append((record, isFailure || refusal != nil ? nil : offset, refusal))
        }
    }

    /// Deletes a log and makes it anew, empty.
    func makeAnew(_ topic: EngineRecord.Topic, partition: Int32) {
        self.logs[LogID(topic: topic, partition: partition)] = []
    }

    func append(state record: KeptRecord) {
        self.logs[LogID(topic: .state, partition: record.partition), default: []].append(record)
    }

    // MARK: ShardLog

    func takeReadable(_ body: (_ partition: Int32, _ topic: UInt16) -> Void) {
        for partition in self.reading.sorted() { body(partition, 0) }
    }

    func read(
        partition: Int32, topic: UInt16, max: Int, into batch: inout InputBatch, whenFull: (inout InputBatch) -> Void
    ) -> QueueRead {
        guard topic == 0 else { return QueueRead(recordCount: 0, mayHaveMore: false) }
        if let failure = self.readFailures.removeValue(forKey: partition) {
            return QueueRead(recordCount: 0, mayHaveMore: false, failure: failure)
        }
        let (records, first) = (self.events[partition] ?? [], self.positions[partition] ?? 0)
        let end = min(records.count, first + max)
        for offset in first..<Swift.max(first, end) {
            let input = InputRecord(
                topic: 0, partition: partition, offset: Int64(offset), timestampMillis: 1_760_000_000_000,
                hasKey: !self.keyless.contains(offset), hasValue: true, origin: nil)
            let (key, value, none) = (
                input.hasKey ? Array(records[offset].key.utf8) : [], Array(records[offset].value.utf8), [UInt8]()
            )
            if batch.append(input, key: key.span, value: value.span, traceparent: none.span) { continue }
            whenFull(&batch)
            _ = batch.append(input, key: key.span, value: value.span, traceparent: none.span)
        }
        self.positions[partition] = Swift.max(first, end)
        return QueueRead(recordCount: end - first, mayHaveMore: end < records.count)
    }

    func beginReading(partition: Int32) { self.reading.insert(partition) }
    func endReading(partition: Int32) { self.reading.remove(partition) }

    func openState(partition: Int32, offsets: Range<Int64>) throws(LogFailure) -> any StateSection {
        self.sections.append((partition, offsets))
        return ScriptedSection(records: Array(self.state(partition).prefix(Int(offsets.upperBound))), offsets: offsets)
    }

    func produce(_ batch: borrowing RecordBatch, indexes: Span<Int32>) -> ProducedRun {
        var run = ProducedRun(doneCount: 0)
        for index in indexes.indices {
            let one = self.produce(KeptRecord(batch.records[Int(indexes[index])], of: batch))
            run.isFull = one.isFull
            if one.isFull { break }
            run.failures += one.failures.map { (index, $0.failure) }
            run.doneCount += 1
        }
        return run
    }

    func produce(_ record: KeptRecord) -> ProducedRun {
        guard self.room != 0 else { return ProducedRun(doneCount: 0, isFull: true) }
        self.room? -= 1
        guard !self.refusedTopics.contains(record.topic), !self.hasEnded else {
            return ProducedRun(doneCount: 1, failures: [(0, self.refusal)])
        }
        let logID = LogID(topic: record.topic, partition: record.partition)
        self.logs[logID, default: []].append(record)
        self.sent.append(record)
        self.unanswered.append((record, Int64(self.logs[logID]!.count - 1)))
        return ProducedRun(doneCount: 1)
    }

    func takeDeliveries(max: Int, withKeys: Bool, into batch: inout DeliveryBatch) {
        if self.hasEnded { batch.clientFailure = Self.fatal }
        while batch.count < max, !self.answered.isEmpty {
            var (record, offset, refusal) = self.answered.removeFirst()
            if let offset {
                let key = record.key ?? []
                batch.append(
                    record.acknowledgement, topic: record.topic, partition: record.partition, offset: offset,
                    key: key.span)
            } else {
                if self.deliveredTimeMillis > 0, record.timestampMillis == 0 {
                    record.timestampMillis = self.deliveredTimeMillis
                }
                batch.append(record, refusal.map { ProduceFailure("refused", $0) } ?? self.failure)
            }
        }
    }

    // MARK: The client that writes

    /// Whether the producing client has ended, so that each record handed over fails.
    private(set) var hasEnded = false
    /// Number of producing clients that were made after the first.
    private(set) var renewedCount = 0
    /// The failure of the next attempt to make a producing client.
    var renewalFailure: LogFailure?

    /// Ends the producing client by a fatal error. Returns those of its records that were on their way. No log has
    /// them, unless the test appends them later.
    func end() {
        self.hasEnded = true
        self.failure = ProduceFailure("given back", .other)
        self.refusal = Self.fatal
        self.answer(isFailure: true)
        for (logID, records) in self.logs {
            let taken = Set(self.taken.map(\.acknowledgement))
            self.logs[logID] = records.filter { taken.contains($0.acknowledgement) }
        }
    }
    static let fatal = ProduceFailure("the client has ended", .other, isFatal: true)

    func endProducer() {}
    func renewProducer() throws(LogFailure) {
        if let failure = self.renewalFailure { throw failure }
        self.renewedCount += 1
        self.hasEnded = false
    }

    func commit(_ positions: [CommitPosition]) { self.commits += positions }
}

/// A section of a `state` log in memory.
final class ScriptedSection: StateSection {
    private let records: [KeptRecord]
    private var next: Int
    private let end: Int

    init(records: [KeptRecord], offsets: Range<Int64>) {
        self.records = records
        self.next = Int(offsets.lowerBound)
        self.end = Int(offsets.upperBound)
    }

    func takeReadable() -> Bool { true }

    func read(max: Int, _ body: StateRecordBody) -> SectionRead {
        let first = self.next
        while self.next < min(self.end, self.records.count), self.next - first < max {
            let record = self.records[self.next]
            let (key, value) = (record.key ?? [], record.value ?? [])
            let header = StateHeader(isTombstone: record.value == nil) { header in
                let name = Array(header.text.utf8)
                return record.headers.first { $0.name == name }.flatMap {
                    Int64(String(decoding: $0.value, as: UTF8.self))
                }
            }
            body(key.span, value.span, record.value == nil, header, Int64(self.next))
            self.next += 1
        }
        return SectionRead(recordCount: self.next - first, mayHaveMore: false, isFinished: self.next >= self.end)
    }

    func close() {}
}

/// An APNs that takes as many requests as its `credit` allows.
final class ScriptedPushSide: PushSide {
    var credit = Int.max
    /// Answers for the next turn.
    var answers: [PushAnswer] = []
    private(set) var requests: [PushRequest] = []
    private(set) var waitsForCredit = false
    private(set) var flushCount = 0

    func submit(route: UInt16, max: Int, fill: (inout PushRequest) -> Bool) -> Int {
        var count = 0
        var request = PushRequest()
        while count < min(max, self.credit), fill(&request) {
            self.requests.append(request)
            count += 1
        }
        self.credit -= count
        return count
    }

    func takeAnswers(into answers: inout [PushAnswer]) {
        answers = self.answers
        self.answers = []
    }

    func wantsCredit(route: UInt16) { self.waitsForCredit = true }
    func flush() { self.flushCount += 1 }
}

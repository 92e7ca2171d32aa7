import KafkaLog
import PushEngine
import PushModel

/// The way of a shard's records to Kafka: takes the engine's batches in order, keeps what there is no room for,
/// produces again what failed. Confined to the shard's loop.
struct Outbox: ~Copyable {
    /// What a record is beside its key.
    struct RetryContent {
        var value: [UInt8]?
        var headers = KafkaHeaders()
        var timestampMillis: Int64
    }

    let producer: KafkaProducer
    /// By `EngineRecord.Topic.rawValue`.
    private let topics: [KafkaTopic]
    private var batch = RecordBatch()
    private var order = ProduceOrder()
    /// The next of `order` to be produced.
    private var next = 0
    private var pace: OutboxPace
    /// The last record of a batch, and when the batch was handed over, steady: how long Kafka takes is seen by it.
    private var probe: (acknowledgement: UInt64, handedOverMillis: Int64)?
    private var handedOverMillis: Int64 = 0
    /// The one librdkafka took last.
    private var lastQueued: UInt64?
    private var headers = KafkaHeaders()
    private(set) var retries = RetryQueue<RetryContent>()
    private var underWay = UnderWayCount()
    /// The producer's queue is full: back-pressure.
    private(set) var isBlocked = false
    private(set) var counters = KafkaCounters()
    /// What the last failure was, until something is delivered to the same topic: a right may be missing on one alone.
    private(set) var failure: KafkaError?
    private var failedTopic: EngineRecord.Topic?

    init(producer: KafkaProducer, topics names: WorkerConfiguration.Topics, pace: OutboxPace) throws(KafkaError) {
        self.producer = producer
        self.pace = pace
        self.topics = [
            try producer.topic(names.state), try producer.topic(names.outcomes), try producer.topic(names.deadLetters),
            // A replay is told by the highest position forwarded: one that came to lie behind a later one would be taken for it.
            try producer.topic(names.routed, timesOut: false),
        ]
    }

    /// When `advance` or `take` has something to do, steady; `nil`: nothing waits for a time.
    var dueMillis: Int64? {
        guard !self.isBlocked else { return nil }
        guard let retryMillis = self.retries.dueMillis else { return self.pace.dueMillis }
        return min(retryMillis, self.pace.dueMillis ?? retryMillis)
    }

    /// Records are left that there is room for: the next turn's.
    var hasRest: Bool { !self.isBlocked && !self.batch.isEmpty }

    /// Nothing of the engine's is kept back here.
    var isEmpty: Bool { self.batch.isEmpty && self.retries.isEmpty }

    /// Takes over what the engine wants written and hands as much to librdkafka as it has room for. Records gather for a
    /// moment first, unless somebody waits for one of them.
    mutating func take(from engine: inout ShardEngine, nowMillis: Int64, isUrgent: Bool) {
        let isUrgent = isUrgent || engine.batch.isUrgent
        self.produce(max: isUrgent ? .max : Self.recordsPerTurnMax, nowMillis: nowMillis)
        let count = engine.batch.records.count
        guard self.batch.isEmpty, self.pace.handsOver(count: count, isUrgent: isUrgent, nowMillis: nowMillis) else {
            return
        }
        self.handedOverMillis = nowMillis
        swap(&self.batch, &engine.batch)
        self.order.arrange(self.batch.records)
        self.next = 0
        self.produce(max: isUrgent ? .max : Self.recordsPerTurnMax, nowMillis: nowMillis)
    }

    /// Records handed to librdkafka in one go, half a millisecond's work, unless somebody waits for one of them.
    static let recordsPerTurnMax = 1_024

    /// Tries again what is due.
    mutating func advance(nowMillis: Int64) {
        guard !self.isBlocked, let dueMillis = self.retries.dueMillis, dueMillis <= nowMillis else { return }
        let underWay = self.underWay
        let due = self.retries.takeDue(nowMillis: nowMillis) { underWay.isAny($0, partition: $1) }
        for (index, entry) in due.enumerated() {
            // One before it has failed again.
            guard !self.retries.holds(entry.topic, partition: entry.partition) else {
                self.retries.wait(entry)
                continue
            }
            switch self.produce(entry) {
            case .queued:
                self.counters.recordsProduced += 1
                self.underWay.left(entry.topic, partition: entry.partition)
            case .queueFull:
                self.block()
                self.retries.putBack(due[index...], nowMillis: nowMillis)
                return
            case .failed(let error): self.noteFailure(entry, error, nowMillis: nowMillis)
            }
        }
    }

    /// Tells the engine what Kafka acknowledged. Returns how many deliveries there were.
    mutating func drain(into engine: inout ShardEngine, max: Int, now: EngineTime) -> Int {
        let topics = self.topics
        var retries = RetryQueue<RetryContent>()
        swap(&retries, &self.retries)
        var underWay = UnderWayCount()
        swap(&underWay, &self.underWay)
        var (pace, probe) = (self.pace, self.probe)
        var (failure, failedTopic) = (self.failure, self.failedTopic)
        var failedCount: UInt64 = 0
        let count = self.producer.drainDeliveries(max: max, ahead: { engine.fetchAhead(acknowledgements: $0) }) {
            delivery in
            let topic = Self.topic(of: delivery, topics)
            underWay.returned(topic, partition: delivery.partition)
            if let sent = probe, sent.acknowledgement == delivery.opaque {
                pace.acknowledged(afterMillis: now.steadyMillis - sent.handedOverMillis)
                probe = nil
            }
            if delivery.isSuccess {
                if failedTopic == topic { (failure, failedTopic) = (nil, nil) }
                engine.acknowledged(delivery.opaque, offset: delivery.offset, now: now)
                guard !retries.isEmpty else { return retries.succeeded() }
                guard topic == .state else { return }
                let superseded = retries.takeSuperseded(
                    partition: delivery.partition, key: delivery.key, acknowledgement: delivery.opaque)
                for older in superseded { engine.acknowledged(older, offset: delivery.offset, now: now) }
            } else {
                failedCount += 1
                (failure, failedTopic) = (delivery.error, topic)
                if topic == .state, !engine.isAwaited(delivery.opaque) {
                    // Of a partition that has left: somebody else writes there.
                    return engine.acknowledged(delivery.opaque, offset: -1, now: now)
                }
                retries.failed(Self.entry(of: delivery, topic), nowMillis: now.steadyMillis)
            }
        }
        swap(&retries, &self.retries)
        swap(&underWay, &self.underWay)
        (self.pace, self.probe) = (pace, probe)
        (self.failure, self.failedTopic) = (failure, failedTopic)
        self.counters.deliveriesFailed += failedCount
        self.counters.retriesWaiting = self.retries.count
        if count > 0 { self.isBlocked = false }
        return count
    }

    /// The partition belongs to somebody else, and the engine has forgotten it: what is still here of its `state` is not
    /// written, and the engine waits for no acknowledgement of it.
    mutating func forgetState(partition: Int32, in engine: inout ShardEngine, now: EngineTime) {
        var forgotten = self.retries.forgetState(partition: partition)
        Self.forgetState(partition: partition, in: &engine.batch.records, &forgotten)
        if !self.batch.isEmpty {
            // Those that librdkafka has already got must not go out again.
            let left = self.order.indexes[self.next...].sorted()
            self.batch.records = left.map { self.batch.records[Int($0)] }
            Self.forgetState(partition: partition, in: &self.batch.records, &forgotten)
            self.order.arrange(self.batch.records)
            self.next = 0
            if self.batch.isEmpty { self.batch.removeAll() }
        }
        for acknowledgement in forgotten { engine.acknowledged(acknowledgement, offset: -1, now: now) }
    }

    private static func forgetState(
        partition: Int32, in records: inout [EngineRecord], _ forgotten: inout [UInt64]
    ) {
        records.removeAll { record in
            guard record.topic == .state, record.partition == partition else { return false }
            forgotten.append(record.acknowledgement)
            return true
        }
    }

    // MARK: Producing

    private mutating func produce(max: Int, nowMillis: Int64) {
        guard !self.isBlocked, !self.batch.isEmpty else { return }
        let end = min(self.order.indexes.count, max == .max ? .max : self.next + max)
        while self.next < end {
            let plainCount = self.plainCount(end: end)
            if plainCount > 0 {
                self.producePlain(count: plainCount, nowMillis: nowMillis)
            } else {
                self.produceNext(nowMillis: nowMillis)
            }
            guard !self.isBlocked else { return }
        }
        guard end == self.order.indexes.count else { return }
        self.batch.removeAll()
        if self.probe == nil { self.probe = self.lastQueued.map { ($0, self.handedOverMillis) } }
        self.lastQueued = nil
    }

    /// How many of the next records, up to `limit`, go out together.
    private func plainCount(end limit: Int) -> Int {
        // While something waits, each record has to be looked at on its own.
        guard self.retries.isEmpty else { return 0 }
        let first = self.batch.records[Int(self.order.indexes[self.next])].topic
        var end = self.next
        while end < limit {
            let record = self.batch.records[Int(self.order.indexes[end])]
            guard record.topic == first, record.headers.isEmpty, record.timestampMillis == 0 else { break }
            end += 1
        }
        return end - self.next
    }

    private mutating func producePlain(count: Int, nowMillis: Int64) {
        let first = self.next
        let topic = self.topics[Int(self.batch.records[Int(self.order.indexes[first])].topic.rawValue)]
        let result = self.producer.produce(topic, count: count, bytes: self.batch.bytes.span) { index in
            let record = self.batch.records[Int(self.order.indexes[first + index])]
            return PlainRecord(
                partition: record.partition, key: record.hasKey ? record.key : nil,
                value: record.isTombstone ? nil : record.value, opaque: record.acknowledgement)
        }
        self.next += result.doneCount
        self.counters.recordsProduced += UInt64(result.doneCount - result.failures.count)
        self.lastQueued =
            result.failures.isEmpty && result.doneCount > 0
            ? self.batch.records[Int(self.order.indexes[self.next - 1])].acknowledgement : nil
        for index in first..<self.next {
            let record = self.batch.records[Int(self.order.indexes[index])]
            guard record.topic.isOrdered else { break }
            self.underWay.left(record.topic, partition: record.partition)
        }
        for failure in result.failures {
            let record = self.batch.records[Int(self.order.indexes[first + failure.index])]
            self.underWay.returned(record.topic, partition: record.partition)
            self.headers.removeAll()
            self.noteFailure(self.entry(of: record), failure.error, nowMillis: nowMillis)
        }
        if result.doneCount < count { self.block() }
    }

    private mutating func produceNext(nowMillis: Int64) {
        let record = self.batch.records[Int(self.order.indexes[self.next])]
        Self.gather(record, of: self.batch, into: &self.headers)
        if self.retries.holds(record.topic, partition: record.partition) {
            self.retries.wait(self.entry(of: record))
            self.next += 1
            return
        }
        switch self.produce(record) {
        case .queued:
            self.lastQueued = record.acknowledgement
            self.counters.recordsProduced += 1
            self.underWay.left(record.topic, partition: record.partition)
        case .queueFull: return self.block()
        case .failed(let error): self.noteFailure(self.entry(of: record), error, nowMillis: nowMillis)
        }
        self.next += 1
    }

    private mutating func block() {
        self.isBlocked = true
        self.counters.queueFull += 1
    }

    private mutating func noteFailure(_ entry: RetryQueue<RetryContent>.Entry, _ error: KafkaError, nowMillis: Int64) {
        (self.failure, self.failedTopic) = (error, entry.topic)
        self.counters.deliveriesFailed += 1
        self.retries.failed(entry, nowMillis: nowMillis)
        self.counters.retriesWaiting = self.retries.count
    }

    private static func gather(_ record: EngineRecord, of batch: RecordBatch, into headers: inout KafkaHeaders) {
        headers.removeAll()
        guard !record.headers.isEmpty else { return }
        let bytes = batch.bytes.span
        for header in batch.headers[record.headers] {
            headers.append(name: bytes.extracting(header.name), value: bytes.extracting(header.value))
        }
    }

    private func produce(_ record: EngineRecord) -> ProduceResult {
        let bytes = self.batch.bytes.span
        return Self.produce(
            self.producer, self.topics[Int(record.topic.rawValue)], partition: record.partition,
            key: bytes.extracting(record.key),
            hasKey: record.hasKey, value: bytes.extracting(record.value), hasValue: !record.isTombstone,
            headers: self.headers,
            timestampMillis: record.timestampMillis, opaque: record.acknowledgement)
    }

    private func produce(_ entry: RetryQueue<RetryContent>.Entry) -> ProduceResult {
        let (key, value) = (entry.key ?? [], entry.content.value ?? [])
        return Self.produce(
            self.producer, self.topics[Int(entry.topic.rawValue)], partition: entry.partition, key: key.span,
            hasKey: entry.key != nil,
            value: value.span, hasValue: entry.content.value != nil, headers: entry.content.headers,
            timestampMillis: entry.content.timestampMillis, opaque: entry.acknowledgement)
    }

    private static func produce(
        _ producer: KafkaProducer, _ topic: KafkaTopic, partition: Int32, key: Span<UInt8>, hasKey: Bool,
        value: Span<UInt8>, hasValue: Bool,
        headers: KafkaHeaders, timestampMillis: Int64, opaque: UInt64
    ) -> ProduceResult {
        producer.produce(
            topic, partition: partition, key: hasKey ? key : nil, value: hasValue ? value : nil,
            headers: headers.isEmpty ? nil : headers,
            timestampMillis: timestampMillis, opaque: opaque)
    }

    // MARK: Records to be kept

    private func entry(of record: EngineRecord) -> RetryQueue<RetryContent>.Entry {
        RetryQueue<RetryContent>.Entry(
            topic: record.topic, partition: record.partition,
            key: record.hasKey ? Array(self.batch.bytes[record.key]) : nil, acknowledgement: record.acknowledgement,
            content: RetryContent(
                value: record.isTombstone ? nil : Array(self.batch.bytes[record.value]), headers: self.headers,
                timestampMillis: record.timestampMillis))
    }

    private static func topic(of delivery: borrowing KafkaDelivery, _ topics: [KafkaTopic]) -> EngineRecord.Topic {
        if delivery.isOf(topics[Int(EngineRecord.Topic.outcomes.rawValue)]) { return .outcomes }
        if delivery.isOf(topics[Int(EngineRecord.Topic.state.rawValue)]) { return .state }
        return delivery.isOf(topics[Int(EngineRecord.Topic.routed.rawValue)]) ? .routed : .deadLetters
    }

    private static func entry(
        of delivery: borrowing KafkaDelivery, _ topic: EngineRecord.Topic
    ) -> RetryQueue<RetryContent>.Entry {
        var headers = KafkaHeaders()
        delivery.forEachHeader { name, value, _ in headers.append(name: name, value: value) }
        // The partition a partitioner chose stays: choosing again would choose it again.
        return RetryQueue<RetryContent>.Entry(
            topic: topic, partition: delivery.partition, key: delivery.hasKey ? Self.copy(delivery.key) : nil,
            acknowledgement: delivery.opaque,
            content: RetryContent(
                value: delivery.hasValue ? Self.copy(delivery.value) : nil, headers: headers,
                timestampMillis: delivery.timestampMillis))
    }

    private static func copy(_ bytes: Span<UInt8>) -> [UInt8] {
        var copy: [UInt8] = []
        copy.reserveCapacity(bytes.count)
        for index in bytes.indices { copy.append(bytes[index]) }
        return copy
    }
}

import KafkaLog
import PushEngine
import ShardLoop

/// The loop's port to Kafka: the consumer's partition queues, the reader of `state`, the shard's producer and the
/// worker's committer. Confined to the shard's event loop.
final class KafkaShardLog: ShardLog {
    private var producer: KafkaProducer
    private let makeProducer: () throws(KafkaError) -> KafkaProducer
    private let shared: ShardShared
    private var input: KafkaInput
    /// The topics by `EngineRecord.Topic.rawValue`.
    private var topics: [KafkaTopic]
    private var headers = KafkaHeaders()
    private var stateEnds = AcknowledgedStateEnds()
    /// Requests a turn.
    private let waker: ShardWaker

    /// - Parameter makeProducer: makes the shard's producer, now and each time a producer has ended. Its deliveries
    ///   wake `waker`.
    init(
        makeProducer: @escaping () throws(KafkaError) -> KafkaProducer, shared: ShardShared, inputTopics: [String],
        traces: EventTraces?, waker: ShardWaker
    ) throws(KafkaError) {
        self.producer = try makeProducer()
        self.makeProducer = makeProducer
        self.shared = shared
        self.input = KafkaInput(
            inputTopics: inputTopics, traces: traces, metadataStore: shared.committer.metadataStore,
            lookAgain: { topic, partition, suspicion in
                Self.lookAgain(topic, partition, suspicion, shared: shared)
            }, wake: { waker.wake() })
        self.waker = waker
        self.topics = try Self.topics(of: self.producer, shared.configuration)
    }

    private static func topics(
        of producer: KafkaProducer, _ configuration: WorkerConfiguration
    ) throws(KafkaError) -> [KafkaTopic] {
        let names = configuration.topics
        return [
            try producer.topic(names.state), try producer.topic(names.outcomes), try producer.topic(names.deadLetters),
            // Forwarded records have no timeout, because their order must not change. The highest forwarded position
            // shows which records are replays. If a record were written after one with a higher position, it would be
            // taken for a replay.
            try producer.topic(names.routed, timesOut: false),
        ]
    }

    var leaseEndsMillis: Int64 { self.shared.committer.leaseEndsMillis }

    // MARK: Records of the input

    /// Adds the queues of a partition, see `KafkaInput.own`.
    func own(_ number: Int32, _ readers: [PartitionReader]) {
        self.input.own(number, readers)
        self.stateEnds.begin(number)
    }

    private static func lookAgain(
        _ topic: UInt16, _ partition: TopicPartition, _ suspicion: LogSuspicion, shared: ShardShared
    ) {
        let sample = shared.committer.metadataStore.lastSample(topic: topic, partition: partition.partition)
        let look = LogLook(
            logReader: shared.logReader, stateTopic: shared.configuration.topics.state,
            kafka: shared.configuration.kafka, logger: shared.logger)
        Task.detached { [weak suspicion] in
            let fault = "log \(partition)"
            let reason = await look.reasonIfOther(partition, sample) { [weak suspicion] in
                suspicion != nil
            } whenMissing: { error in
                shared.hub.updateGroup {
                    $0.errors[fault] = "nothing is read of \(partition), because its log does not exist: \(error)"
                }
            }
            shared.hub.updateGroup { $0.errors[fault] = nil }
            suspicion?.found(reason)
        }
    }

    func takeReadable(_ body: (_ partition: Int32, _ topic: UInt16) -> Void) { self.input.takeReadable(body) }

    func read(
        partition: Int32, topic: UInt16, max: Int, into batch: inout InputBatch, whenFull: (inout InputBatch) -> Void
    ) -> QueueRead {
        self.input.read(partition: partition, topic: topic, max: max, into: &batch, whenFull: whenFull)
    }

    func beginReading(partition: Int32) { self.input.beginReading(partition: partition) }
    func endReading(partition: Int32) { self.input.endReading(partition: partition) }

    // MARK: State

    func openState(partition: Int32, offsets: Range<Int64>) throws(LogFailure) -> any StateSection {
        let start: LogStart = offsets.lowerBound == 0 ? .beginning : .offset(offsets.lowerBound)
        do throws(KafkaError) {
            let section = try self.shared.logReader.open(
                TopicPartition(topic: self.shared.configuration.topics.state, partition: partition), from: start,
                upTo: offsets.upperBound)
            return KafkaStateSection(section, waker: self.waker)
        } catch {
            throw LogFailure("\(error)", isFinal: true)
        }
    }

    // MARK: Records to be written

    func produce(_ batch: borrowing RecordBatch, indexes: Span<Int32>) -> ProducedRun {
        var done = ProducedRun(doneCount: 0)
        while done.doneCount < indexes.count, !done.isFull, done.failures.isEmpty {
            let first = done.doneCount
            let count = Self.plainCount(batch, indexes.extracting(first..<indexes.count))
            if count > 0 {
                self.producePlain(batch, indexes.extracting(first..<first + count), &done)
            } else {
                self.add(self.produce(batch, batch.records[Int(indexes[first])]), &done)
            }
        }
        return done
    }

    /// Number of records at the start of `indexes` that can be written together. They have one topic, and neither
    /// headers nor a time of their own, because librdkafka's batch call takes neither.
    private static func plainCount(_ batch: borrowing RecordBatch, _ indexes: Span<Int32>) -> Int {
        let topic = batch.records[Int(indexes[0])].topic
        var count = 0
        while count < indexes.count {
            let record = batch.records[Int(indexes[count])]
            guard record.topic == topic, record.headers.isEmpty, record.timestampMillis == 0 else { break }
            count += 1
        }
        return count
    }

    private func producePlain(_ batch: borrowing RecordBatch, _ indexes: Span<Int32>, _ done: inout ProducedRun) {
        let records = batch.records
        let topic = self.topics[Int(records[Int(indexes[0])].topic.rawValue)]
        let result = self.producer.produce(topic, count: indexes.count, bytes: batch.bytes.span) { index in
            let record = records[Int(indexes[index])]
            return PlainRecord(
                partition: record.partition, key: record.hasKey ? record.key : nil,
                value: record.isTombstone ? nil : record.value, opaque: record.acknowledgement)
        }
        for failure in result.failures {
            done.failures.append((done.doneCount + failure.index, ProduceFailure(failure.error)))
        }
        done.doneCount += result.doneCount
        done.isFull = result.doneCount < indexes.count
    }

    private func add(_ result: ProduceResult, _ done: inout ProducedRun) {
        switch result {
        case .queued: done.doneCount += 1
        case .queueFull: done.isFull = true
        case .failed(let error):
            done.failures.append((done.doneCount, ProduceFailure(error)))
            done.doneCount += 1
        }
    }

    private func produce(_ batch: borrowing RecordBatch, _ record: EngineRecord) -> ProduceResult {
        let bytes = batch.bytes.span
        self.headers.removeAll()
        for header in batch.headers[record.headers] {
            self.headers.append(name: bytes.extracting(header.name), value: bytes.extracting(header.value))
        }
        return self.producer.produce(
            self.topics[Int(record.topic.rawValue)], partition: record.partition,
            key: record.hasKey ? bytes.extracting(record.key) : nil,
            value: record.isTombstone ? nil : bytes.extracting(record.value), headers: self.headers,
            timestampMillis: record.timestampMillis, opaque: record.acknowledgement)
    }

    func produce(_ record: KeptRecord) -> ProducedRun {
        self.headers.removeAll()
        for header in record.headers { self.headers.append(name: header.name.span, value: header.value.span) }
        let (key, value) = (record.key ?? [], record.value ?? [])
        let result = self.producer.produce(
            self.topics[Int(record.topic.rawValue)], partition: record.partition,
            key: record.key == nil ? nil : key.span, value: record.value == nil ? nil : value.span,
            headers: self.headers, timestampMillis: record.timestampMillis, opaque: record.acknowledgement)
        var done = ProducedRun(doneCount: 0)
        self.add(result, &done)
        return done
    }

    func takeDeliveries(max: Int, withKeys: Bool, into batch: inout DeliveryBatch) {
        self.producer.drainDeliveries(max: max) { delivery in
            let topic = self.topic(of: delivery)
            if topic == .state, delivery.error == nil {
                self.stateEnds.acknowledged(partition: delivery.partition, offset: delivery.offset)
            }
            if let error = delivery.error {
                batch.append(Self.record(of: delivery, topic), ProduceFailure(error))
            } else if topic == .state, withKeys || batch.hasFailures {
                batch.append(
                    delivery.opaque, topic: topic, partition: delivery.partition, offset: delivery.offset,
                    key: delivery.key)
            } else {
                batch.append(
                    delivery.opaque, topic: topic, partition: delivery.partition, offset: delivery.offset)
            }
        }
        if self.producer.hasEnded, let error = self.producer.fatalError {
            batch.clientFailure = ProduceFailure(error)
        }
        let grown = self.stateEnds.take()
        if !grown.isEmpty {
            self.shared.committer.metadataStore.setStateEnds(grown)
            self.shared.committer.confirm(grown.map(\.partition))
        }
    }

    private func topic(of delivery: borrowing KafkaDelivery) -> EngineRecord.Topic {
        if delivery.isOf(self.topics[Int(EngineRecord.Topic.outcomes.rawValue)]) { return .outcomes }
        if delivery.isOf(self.topics[Int(EngineRecord.Topic.state.rawValue)]) { return .state }
        return delivery.isOf(self.topics[Int(EngineRecord.Topic.routed.rawValue)]) ? .routed : .deadLetters
    }

    /// A copy of the record that was not written. It keeps its partition, because the partitioner would choose the same
    /// one again.
    private static func record(of delivery: borrowing KafkaDelivery, _ topic: EngineRecord.Topic) -> KeptRecord {
        var headers: [(name: [UInt8], value: [UInt8])] = []
        delivery.forEachHeader { name, value, _ in headers.append((Self.copy(name), Self.copy(value))) }
        return KeptRecord(
            topic: topic, partition: delivery.partition, key: delivery.hasKey ? Self.copy(delivery.key) : nil,
            value: delivery.hasValue ? Self.copy(delivery.value) : nil, headers: headers,
            timestampMillis: delivery.timestampMillis, acknowledgement: delivery.opaque)
    }

    private static func copy(_ bytes: Span<UInt8>) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: bytes.count) { copy, count in
            for index in bytes.indices { copy.initializeElement(at: index, to: bytes[index]) }
            count = bytes.count
        }
    }

    func endProducer() { self.producer.purge() }

    func renewProducer() throws(LogFailure) {
        do throws(KafkaError) {
            let producer = try self.makeProducer()
            self.topics = try Self.topics(of: producer, self.shared.configuration)
            self.producer = producer
        } catch {
            throw LogFailure("\(error)", isFinal: false)
        }
    }

    // MARK: Commits

    func commit(_ positions: [CommitPosition]) { self.shared.committer.add(positions) }
}

extension ProduceFailure {
    init(_ error: KafkaError) {
        self.init("\(error)", ProduceError(code: error.code.rawValue), isFatal: error.isFatal)
    }
}

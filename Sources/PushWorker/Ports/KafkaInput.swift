package import KafkaLog
package import PushEngine
import PushModel
package import ShardLoop

/// A shard's input from Kafka: the partition queues of the consumer. Part of the loop's port; confined to the shard's
/// loop.
package struct KafkaInput {
    private let inputTopics: [String]
    /// Requests a turn, from any thread.
    private let wake: @Sendable () -> Void
    /// Traces of events; `nil`: nothing is traced.
    private let traces: EventTraces?
    /// Receives the last record of each read; `nil` where nothing is committed.
    private let metadataStore: CommitMetadataStore?
    /// Queues of the owned partitions, in no order.
    private var queues: [PartitionQueues] = []
    /// Index in `queues` by partition number; -1: not owned.
    private var queueIndexes: [Int] = []

    /// The queues of one partition, by topic index.
    private struct PartitionQueues {
        let number: Int32
        let readers: [PartitionReader]
        let flags: [ReadableFlag]
        /// Suspicions, by topic index. A log is suspected after Kafka has said that the log does not exist.
        var suspicions: [LogSuspicion?]
    }
    /// Checks whether a log is still the same. May be called from any thread. The check ends when the suspicion is
    /// released.
    typealias LookAgain = (_ topic: UInt16, _ partition: TopicPartition, LogSuspicion) -> Void
    private let lookAgain: LookAgain?

    /// - Parameter inputTopics: the input topics; the last is the routed one.
    package init(inputTopics: [String], wake: @escaping @Sendable () -> Void) {
        self.init(inputTopics: inputTopics, traces: nil, metadataStore: nil, lookAgain: nil, wake: wake)
    }

    init(
        inputTopics: [String], traces: EventTraces?, metadataStore: CommitMetadataStore?, lookAgain: LookAgain?,
        wake: @escaping @Sendable () -> Void
    ) {
        self.lookAgain = lookAgain
        self.inputTopics = inputTopics
        self.traces = traces
        self.metadataStore = metadataStore
        self.wake = wake
    }

    /// Adds the queues that the consumer has opened for a partition. The loop gets the partition afterwards.
    package mutating func own(_ number: Int32, _ readers: [PartitionReader]) {
        guard self.queueIndex(of: number) == nil else { return }
        while self.queueIndexes.count <= Int(number) { self.queueIndexes.append(-1) }
        self.queueIndexes[Int(number)] = self.queues.count
        self.queues.append(
            PartitionQueues(
                number: number, readers: readers, flags: readers.map { _ in ReadableFlag() },
                suspicions: readers.map { _ in nil }))
    }

    private func queueIndex(of number: Int32) -> Int? {
        guard number >= 0, Int(number) < self.queueIndexes.count, self.queueIndexes[Int(number)] >= 0 else {
            return nil
        }
        return self.queueIndexes[Int(number)]
    }

    /// Calls `body` for each queue that has become readable, see `ShardLog.takeReadable`.
    package func takeReadable(_ body: (_ partition: Int32, _ topic: UInt16) -> Void) {
        for queueIndex in self.queues.indices {
            for topic in self.queues[queueIndex].flags.indices where self.queues[queueIndex].flags[topic].take() {
                body(self.queues[queueIndex].number, UInt16(topic))
            }
        }
    }

    /// Reads records of one queue, see `ShardLog.read`.
    package mutating func read(
        partition: Int32, topic: UInt16, max: Int, into batch: inout InputBatch, whenFull: (inout InputBatch) -> Void
    ) -> QueueRead {
        guard let queueIndex = self.queueIndex(of: partition), Int(topic) < self.queues[queueIndex].readers.count else {
            return QueueRead(recordCount: 0, mayHaveMore: false)
        }
        if let suspicion = self.queues[queueIndex].suspicions[Int(topic)] {
            if let read = suspicion.read { return read }
            self.queues[queueIndex].suspicions[Int(topic)] = nil
        }
        let isRouted = Int(topic) == self.inputTopics.count - 1
        var last = CommitMetadata.Sample(offset: -1, millis: -1)
        let result = self.queues[queueIndex].readers[Int(topic)].read(max: max) { record in
            last = CommitMetadata.Sample(offset: record.offset, millis: record.timestampMillis)
            self.take(record, topic: topic, isRouted: isRouted, into: &batch, whenFull: whenFull)
        }
        if last.offset >= 0 { self.metadataStore?.addSample(topic: topic, partition: partition, last) }
        if let lookAgain = self.lookAgain, result.failure?.isOfMissingLog == true {
            let suspicion = LogSuspicion { [flag = self.queues[queueIndex].flags[Int(topic)], wake = self.wake] in
                flag.set()
                wake()
            }
            self.queues[queueIndex].suspicions[Int(topic)] = suspicion
            lookAgain(topic, self.queues[queueIndex].readers[Int(topic)].topicPartition, suspicion)
        }
        return QueueRead(
            recordCount: result.recordCount, mayHaveMore: result.mayHaveMore,
            failure: result.failure.map { failure in
                LogFailure(
                    failure.inputHaltReason ?? "\(failure)", isFinal: failure.inputHaltReason != nil)
            })
    }

    private func take(
        _ record: borrowing KafkaRecord, topic: UInt16, isRouted: Bool, into batch: inout InputBatch,
        whenFull: (inout InputBatch) -> Void
    ) {
        var input = InputRecord(
            topic: topic, partition: record.partition, offset: record.offset,
            timestampMillis: Swift.max(0, record.timestampMillis),
            hasKey: record.hasKey, hasValue: record.hasValue, origin: nil)
        if isRouted { RoutedOrigin.read(record, inputTopics: self.inputTopics, into: &input) }
        if let traces = self.traces, input.kind == .event {
            return self.take(record, input, traces: traces, into: &batch, whenFull: whenFull)
        }
        let (key, value) = (record.key, record.value)
        // For a record of an unknown kind, the header with the kind's name is read instead.
        record.withHeader(input.kind == .unknown ? RecordHeader.kind.name : "traceparent") { traceparent, _ in
            if batch.append(input, key: key, value: value, traceparent: traceparent) { return }
            whenFull(&batch)
            _ = batch.append(input, key: key, value: value, traceparent: traceparent)
        }
    }

    /// Takes an event that may be traced.
    private func take(
        _ record: borrowing KafkaRecord, _ input: InputRecord, traces: EventTraces, into batch: inout InputBatch,
        whenFull: (inout InputBatch) -> Void
    ) {
        var input = input
        let carried = record.withHeader("traceparent") { traceparent, _ in
            traces.begin(&input, traceparent: traceparent) {
                record.withHeader("tracestate") { value, isPresent in
                    isPresent ? value.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) } : nil
                }
            } key: {
                record.key.withUnsafeBufferPointer { Array($0) }
            }
        }
        let (key, value) = (record.key, record.value)
        if let carried {
            if batch.append(input, key: key, value: value, traceparent: carried.span) { return }
            whenFull(&batch)
            _ = batch.append(input, key: key, value: value, traceparent: carried.span)
        } else {
            record.withHeader("traceparent") { traceparent, _ in
                if batch.append(input, key: key, value: value, traceparent: traceparent) { return }
                whenFull(&batch)
                _ = batch.append(input, key: key, value: value, traceparent: traceparent)
            }
        }
    }

    /// Begins reading a partition, see `ShardLog.beginReading`.
    package func beginReading(partition: Int32) {
        guard let queueIndex = self.queueIndex(of: partition) else { return }
        for (reader, flag) in zip(self.queues[queueIndex].readers, self.queues[queueIndex].flags) {
            reader.onReadable { [wake = self.wake] in
                flag.set()
                wake()
            }
        }
    }

    /// Ends reading a partition, see `ShardLog.endReading`.
    package mutating func endReading(partition: Int32) {
        guard let queueIndex = self.queueIndex(of: partition) else { return }
        self.queueIndexes[Int(partition)] = -1
        self.queues.remove(at: queueIndex)
        for index in queueIndex..<self.queues.count { self.queueIndexes[Int(self.queues[index].number)] = index }
    }
}

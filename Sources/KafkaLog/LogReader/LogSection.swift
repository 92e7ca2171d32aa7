import CRDKafka
import Synchronization

/// Reads a part of one partition. It works like a `PartitionReader`, but can have an end.
public final class LogSection: Sendable {
    /// The partition that is read.
    public let topicPartition: TopicPartition
    /// The offset after the last record wanted.
    public let endOffset: Int64

    private let client: ClientHandle
    private let openPartitions: OpenPartitions
    private let waker: FetchWaker
    private let state: Mutex<State>

    /// Maximum number of records that are taken from librdkafka at once. The batch call loses no records here:
    /// librdkafka pauses no partition of a reader without a group (see `PartitionReader`).
    private static let batchCountMax = 1_000
    /// If fewer records than this wait in the queue, the section tells librdkafka to check whether it may fetch.
    private static let waitingCountMin = 1_000

    private struct State: ~Copyable {
        /// The open topic and queue; `nil` once closed.
        var source: Source?
        var wakeUp: WakeUp?
        var nextOffset: Int64?
        var isFinished: Bool
        /// Number of records taken since librdkafka was last told to check whether it may fetch.
        var takenCount = 0
    }

    /// The topic and queue that librdkafka has open for the section. Releasing this value stops the fetching.
    ///
    /// `@unchecked Sendable`: the topic and the queue may be used from any thread; the batch is used only under the
    /// section's lock.
    private struct Source: ~Copyable, @unchecked Sendable {
        let topic: OpaquePointer
        let partition: Int32
        let queue: KafkaQueue
        let batch: UnsafeMutableBufferPointer<UnsafeMutablePointer<rd_kafka_message_t>?>

        deinit {
            self.queue.disableWakeUp()
            rd_kafka_consume_stop(self.topic, self.partition)
            rd_kafka_topic_destroy(self.topic)
            self.batch.deallocate()
        }
    }

    /// Creates the section of a partition that was just opened. The section then owns `topic`.
    init(
        topicPartition: TopicPartition, start: LogStart, endOffset: Int64, client: ClientHandle,
        openPartitions: OpenPartitions, waker: FetchWaker, topic: OpaquePointer, queue: consuming KafkaQueue
    ) {
        self.topicPartition = topicPartition
        self.endOffset = endOffset
        self.client = client
        self.openPartitions = openPartitions
        self.waker = waker
        let batch = UnsafeMutableBufferPointer<UnsafeMutablePointer<rd_kafka_message_t>?>.allocate(
            capacity: Self.batchCountMax)
        batch.initialize(repeating: nil)
        let isEmpty = if case .offset(let offset) = start { offset >= endOffset } else { endOffset <= 0 }
        self.state = Mutex(
            State(
                source: Source(topic: topic, partition: topicPartition.partition, queue: queue, batch: batch),
                wakeUp: nil, nextOffset: nil,
                isFinished: isEmpty))
    }

    deinit { self.close() }

    /// Hands at most `max` waiting records to `body`, in order, and never waits. The result says `isFinished` once all
    /// records below `endOffset` were handed over. Offsets without a record, because of compaction or control records,
    /// are skipped. One thread at a time may read.
    public func read(max: Int, _ body: (borrowing KafkaRecord) -> Void) -> ReadResult {
        self.read(max: max, waiting: .zero, body)
    }

    /// Works like `read(max:_:)`, but blocks until `max` records were handed over, the section has ended, or no record
    /// has arrived for `limit`.
    func read(max: Int, waiting limit: Duration, _ body: (borrowing KafkaRecord) -> Void) -> ReadResult {
        self.state.withLock { state in
            var result = ReadResult(
                recordCount: 0, mayHaveMore: false, nextOffset: state.nextOffset, failure: nil,
                isFinished: state.isFinished)
            while result.recordCount < max, !state.isFinished, result.failure == nil {
                guard let queue = state.source?.queue.pointer, let batch = state.source?.batch else { break }
                let wanted = min(max - result.recordCount, batch.count)
                let taken = rd_kafka_consume_batch_queue(queue, limit.wholeMillis, batch.baseAddress, wanted)
                guard taken > 0 else { break }
                for index in 0..<taken {
                    guard let message = batch[index] else { continue }
                    self.consume(message, &state, &result, body)
                    rd_kafka_message_destroy(message)
                }
                result.mayHaveMore = taken == wanted
            }
            result.nextOffset = state.nextOffset
            result.isFinished = state.isFinished
            self.wakeFetching(&state, taken: result.recordCount)
            return result
        }
    }

    /// Makes librdkafka fetch again after a full queue was drained, which librdkafka does not notice (see
    /// `FetchWaker`). A reader often has no other partition whose requests would wake librdkafka.
    private func wakeFetching(_ state: inout State, taken: Int) {
        state.takenCount += taken
        guard state.takenCount >= Self.waitingCountMin, !state.isFinished, let queue = state.source?.queue.pointer,
            rd_kafka_queue_length(queue) < Self.waitingCountMin
        else { return }
        state.takenCount = 0
        self.waker.wake(CollectionOfOne(self.topicPartition))
    }

    private func consume(
        _ message: UnsafeMutablePointer<rd_kafka_message_t>, _ state: inout State, _ result: inout ReadResult,
        _ body: (borrowing KafkaRecord) -> Void
    ) {
        guard !state.isFinished else { return }
        let offset = message.pointee.offset
        switch message.pointee.err {
        case RD_KAFKA_RESP_ERR_NO_ERROR:
            guard offset < self.endOffset else {
                state.isFinished = true
                return
            }
            state.nextOffset = offset + 1
            state.isFinished = offset + 1 >= self.endOffset
            result.recordCount += 1
            body(KafkaRecord(message))
        case RD_KAFKA_RESP_ERR__PARTITION_EOF:
            state.nextOffset = max(state.nextOffset ?? 0, offset)
            state.isFinished = offset >= self.endOffset
        default:
            result.failure = PartitionFailure(
                message.pointee, topicPartition: self.topicPartition, text: rd_kafka_message_errstr(message))
        }
    }

    /// Works like `PartitionReader.onReadable`, but also calls `wakeUp` at once if the section is already finished.
    public func onReadable(_ wakeUp: @escaping @Sendable () -> Void) {
        let isDue = self.state.withLock { state in
            guard state.source != nil else { return false }
            let box = WakeUp(wakeUp)
            let previous = state.wakeUp
            state.wakeUp = box
            state.source?.queue.enableWakeUp(box)
            withExtendedLifetime(previous) {}  // Until here librdkafka could still call it.
            guard let queue = state.source?.queue.pointer else { return false }
            return state.isFinished || rd_kafka_queue_length(queue) > 0
        }
        if isDue { wakeUp() }
    }

    /// Stops fetching. May be called again. Waits until librdkafka's own thread has released the partition: normally
    /// well under a millisecond.
    public func close() {
        let wasOpen = self.state.withLock { state in
            guard state.source != nil else { return false }
            state.source = nil
            state.wakeUp = nil
            return true
        }
        if wasOpen { self.openPartitions.remove(self.topicPartition) }
    }
}

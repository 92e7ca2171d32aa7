import CRDKafka
import Synchronization

/// Why a partition cannot be read. After `offsetOutOfRange` or `noCommittedOffset` the reader delivers nothing more.
public enum PartitionFailure: Sendable, Hashable {
    /// The wanted position is not in the log: retention or truncation cut it, it does not exist yet, or the topic was
    /// replaced.
    case offsetOutOfRange(TopicPartitionOffset, text: String)
    /// The partition was started at its committed offset, and the group never committed one.
    case noCommittedOffset(TopicPartition)
    /// Any other failure of this partition. If the error is retriable (`isRetriable`), librdkafka continues by itself.
    case failed(TopicPartition, KafkaError)
}

/// The result of one `PartitionReader.read`.
public struct ReadResult: Sendable {
    /// Number of records handed to the body.
    public var recordCount: Int
    /// Whether the read stopped early, at `max` or at a failure, so that more records may wait. No wake-up announces
    /// records that already wait: read again when there is room.
    public var mayHaveMore: Bool
    /// The lowest offset that the reader can hand over next; `nil` before its first record.
    public var nextOffset: Int64?
    /// The failure that ended the read; `nil`: none. The records before it were handed over.
    public var failure: PartitionFailure?
    /// Whether a `LogSection` was read to its end. Always `false` for a `PartitionReader`.
    public var isFinished: Bool
}

/// Reads the records of one assigned partition. One thread at a time may read; in a worker, that is the shard's loop.
///
/// To slow a partition down, do not read it. librdkafka stops fetching a partition whose queue holds
/// `queued.max.messages.kbytes`, discards nothing, and continues with other partitions. There is deliberately no pause,
/// resume or seek: librdkafka 2.0.2 loses records if one of these runs during a read.
///
/// Records are taken with `rd_kafka_consume_callback`, because the batch call of 2.0.2 can lose records. During every
/// rebalance, another thread of librdkafka pauses the kept partitions and rewinds each to its position. A batch call
/// that runs at that time discards the records that it has already taken (`rd_kafka_purge_outdated_messages`,
/// rdkafka_queue.c). The position is already past these records, so they are never fetched again.
///
/// `rd_kafka_consume_callback` takes a run of records off the queue under one lock. For each record it checks whether a
/// rewind has made the record outdated. If not, it moves the position past the record and hands the record over
/// (`rd_kafka_consume_cb`, rdkafka.c). So the position is never past a record that was not handed over, and outdated
/// records are fetched again. A rewind between the check and the move can repeat one record. Repeats are dropped here:
/// a reader hands over ascending offsets.
///
/// The consumer closes the reader when the partition is given up. A closed reader can still be read, and returns
/// nothing.
public final class PartitionReader: Sendable {
    /// The partition that is read.
    public let topicPartition: TopicPartition
    /// Index of the topic in the consumer's topics: 0 is the driver topic, then the riding topics follow.
    public let topicIndex: Int

    private let topic: KafkaTopic
    private let state: Mutex<State>

    /// Maximum number of records that are taken off librdkafka's queue at once. While they are handed over, they no
    /// longer count as queued. So a partition can hold this many records above its limit of fetched bytes.
    static let runCountMax = 256

    private struct State: ~Copyable {
        /// The partition's queue; `nil` once closed.
        var queue: KafkaQueue?
        var wakeUp: WakeUp?
        var nextOffset: Int64?
    }

    init(topic: KafkaTopic, partition: Int32, topicIndex: Int, queue: consuming KafkaQueue) {
        self.topic = topic
        self.topicPartition = TopicPartition(topic: topic.name, partition: partition)
        self.topicIndex = topicIndex
        self.state = Mutex(State(queue: queue, wakeUp: nil, nextOffset: nil))
    }

    deinit { self.close() }

    /// Hands at most `max` waiting records to `body`, in order, and never waits.
    ///
    /// - Parameter body: gets each record for the time of the call. It must not call this reader.
    /// - Returns: what was read. If `mayHaveMore`, call again as soon as there is room: a wake-up happens only when
    ///   records arrive in an *empty* queue.
    public func read(max: Int, _ body: (borrowing KafkaRecord) -> Void) -> ReadResult {
        self.state.withLock { state in
            guard state.queue != nil, max > 0 else {
                return ReadResult(
                    recordCount: 0, mayHaveMore: false, nextOffset: state.nextOffset, failure: nil, isFinished: false)
            }
            return withoutActuallyEscaping(body) { body in
                var run = Run(body: body, topic: self.topic, max: max, nextOffset: state.nextOffset ?? .min)
                withUnsafeMutablePointer(to: &run) { run in
                    while !run.pointee.isOver {
                        let servedCount = rd_kafka_consume_callback(
                            self.topic.pointer, self.topicPartition.partition, 0,
                            { Run.take($0!, $1!.assumingMemoryBound(to: Run.self)) }, run)
                        // If fewer records than a whole run were served, the queue is empty.
                        if servedCount < Self.runCountMax { break }
                    }
                }
                state.nextOffset = run.nextOffset == .min ? nil : run.nextOffset
                return ReadResult(
                    recordCount: run.recordCount, mayHaveMore: run.isOver, nextOffset: state.nextOffset,
                    failure: run.failure, isFinished: false)
            }
        }
    }

    /// The state of one call of `read`, for librdkafka's callback.
    private struct Run: ~Copyable {
        let body: (borrowing KafkaRecord) -> Void
        let topic: KafkaTopic
        let max: Int
        /// The next offset to hand over; `Int64.min` before the first record.
        var nextOffset: Int64
        var recordCount = 0
        /// Whether this read takes no more records: `max` was reached, or there was a failure.
        var isOver = false
        var failure: PartitionFailure?

        /// Calls the closure where it is stored. A copy of the closure would be retained and released for every record.
        private borrowing func hand(_ record: borrowing KafkaRecord) { self.body(record) }

        /// Takes one message from librdkafka, which destroys the message afterwards.
        static func take(_ message: UnsafeMutablePointer<rd_kafka_message_t>, _ run: UnsafeMutablePointer<Run>) {
            if message.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR {
                let offset = message.pointee.offset
                guard offset >= run.pointee.nextOffset else { return }
                run.pointee.nextOffset = offset + 1
                run.pointee.recordCount += 1
                run.pointee.hand(KafkaRecord(message))
                guard run.pointee.recordCount >= run.pointee.max else { return }
            } else {
                let partition = TopicPartition(topic: run.pointee.topic.name, partition: message.pointee.partition)
                run.pointee.failure = PartitionFailure(
                    message.pointee, topicPartition: partition, text: rd_kafka_message_errstr(message))
            }
            // librdkafka puts the records that it has not handed over back at the head of the queue.
            run.pointee.isOver = true
            run.pointee.topic.yield()
        }
    }

    /// Calls `wakeUp` each time that records arrive in the empty queue, and at once if some are waiting already.
    /// Replaces an earlier closure.
    ///
    /// librdkafka calls the closure on a thread that holds a lock. So the closure must not read; it may only schedule
    /// work (`EventLoop.execute`, an eventfd).
    public func onReadable(_ wakeUp: @escaping @Sendable () -> Void) {
        let isDue = self.state.withLock { state in
            guard state.queue != nil else { return false }
            let box = WakeUp(wakeUp)
            let previous = state.wakeUp
            state.wakeUp = box
            state.queue?.enableWakeUp(box)
            withExtendedLifetime(previous) {}  // Until here librdkafka could still call it.
            guard let queue = state.queue?.pointer else { return false }
            return rd_kafka_queue_length(queue) > 0
        }
        if isDue { wakeUp() }
    }

    /// Number of records and errors that wait in the queue, for metrics.
    public var waitingCount: Int {
        self.state.withLock { state in
            guard let queue = state.queue?.pointer else { return 0 }
            return rd_kafka_queue_length(queue)
        }
    }

    /// Ends reading and wake-ups, and waits until a running read is over. May be called again. Only the consumer needs
    /// to call this.
    func close() {
        self.state.withLock { state in
            state.queue?.disableWakeUp()
            state.queue = nil
            state.wakeUp = nil
        }
    }
}

extension PartitionFailure {
    init(_ message: rd_kafka_message_t, topicPartition: TopicPartition, text: UnsafePointer<CChar>?) {
        let text = text.map { String(cString: $0) }
        if message.err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET || message.err == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE {
            // A negative number is one of librdkafka's logical offsets. It means that the group had no committed
            // offset.
            self =
                message.offset < 0
                ? .noCommittedOffset(topicPartition)
                : .offsetOutOfRange(
                    TopicPartitionOffset(
                        topic: topicPartition.topic, partition: topicPartition.partition, offset: message.offset),
                    text: text ?? "the offset is outside the log")
        } else {
            self = .failed(
                topicPartition,
                KafkaError(message.err, subject: .partition(topicPartition), text: text).needing(.read))
        }
    }
}

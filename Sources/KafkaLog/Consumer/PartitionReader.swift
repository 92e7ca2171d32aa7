import CRDKafka
import Synchronization

/// Why a partition can no longer be read. After the first two cases the reader delivers nothing more.
public enum PartitionFailure: Sendable, Hashable {
    /// The wanted position is not in the log: retention or truncation cut it, it does not exist yet, or the topic was
    /// replaced.
    case offsetOutOfRange(TopicPartitionOffset, text: String)
    /// The partition was started at its committed offset, and the group never committed one.
    case noCommittedOffset(TopicPartition)
    /// Any other failure of this partition; `isRetriable` says whether librdkafka continues by itself.
    case failed(TopicPartition, KafkaError)
}

/// The result of one `PartitionReader.read`.
public struct ReadResult: Sendable {
    /// Number of records handed to the body.
    public var recordCount: Int
    /// Whether the limit was reached and more may be waiting. No wake-up announces records that wait already: read
    /// again when there is room.
    public var mayHaveMore: Bool
    /// The next offset this reader will hand over; `nil` before its first record.
    public var nextOffset: Int64?
    /// What went wrong, if something did. At most one failure per read; the records before it were handed over.
    public var failure: PartitionFailure?
    /// Whether a `LogSection` was read to its end. Never true for an assigned partition.
    public var isFinished: Bool
}

/// The records of one assigned partition, read by one loop or thread at a time: its shard's.
///
/// Not reading *is* the back-pressure. librdkafka stops fetching a partition whose queue holds
/// `queued.max.messages.kbytes`, discards nothing, and the other partitions go on. There is deliberately no pause,
/// resume or seek: librdkafka 2.0.2 loses records when one of them meets reading.
///
/// Records are taken by `rd_kafka_consume_callback`, not by the batch call. During every rebalance librdkafka pauses
/// and rewinds the kept partitions itself, from another thread. In 2.0.2 a batch call that is under way then discards
/// what it has already taken (`rd_kafka_purge_outdated_messages`, rdkafka_queue.c). The position to rewind to counts
/// these records as read, so they would be skipped. The callback call takes a run off the queue under one lock. Then,
/// for each record, it checks whether a rewind has made it outdated, moves the position past it and hands it over
/// (`rd_kafka_consume_cb`, rdkafka.c). So the position never counts a record that is not handed over, and outdated
/// records are fetched again. Only the record in hand can appear twice, when the rewind falls between the check and the
/// move. Repeats are dropped here: the offsets that one reader hands over only grow.
///
/// The consumer closes the reader when the partition leaves. Reading on is harmless then and finds nothing.
public final class PartitionReader: Sendable {
    /// The partition that is read.
    public let topicPartition: TopicPartition
    /// Index of the topic in the consumer's topics: 0 is the driver, then the riding topics in order.
    public let topicIndex: Int

    private let topic: KafkaTopic
    private let state: Mutex<State>

    /// Maximum number of records that are taken off librdkafka's queue at once. While they are handed over, the queue
    /// counts as emptier by that number, so they add to the byte bound of a partition.
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
    /// - Parameter body: borrows each record; must not call back into this reader.
    /// - Returns: what was read. While `mayHaveMore`, call again as soon as there is room: a wake-up happens only when
    ///   an *empty* queue fills.
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
                        // Fewer records than a whole run mean that the queue was empty.
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

    /// One `read` under way, as librdkafka's callback sees it.
    private struct Run: ~Copyable {
        let body: (borrowing KafkaRecord) -> Void
        let topic: KafkaTopic
        let max: Int
        /// The next offset to hand over; `Int64.min` before the first record.
        var nextOffset: Int64
        var recordCount = 0
        /// Whether this run is over: its other records are not wanted.
        var isOver = false
        var failure: PartitionFailure?

        /// Calls the closure where it is stored. If it were first copied out of the run, it would be retained for every
        /// record.
        private borrowing func hand(_ record: borrowing KafkaRecord) { self.body(record) }

        /// librdkafka destroys the message afterwards.
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
            // The rest of the run goes back to the head of the queue.
            run.pointee.isOver = true
            run.pointee.topic.yield()
        }
    }

    /// Calls `wakeUp` each time that records arrive in the empty queue, and at once if some are waiting already.
    /// Replaces an earlier closure.
    ///
    /// It is called on a librdkafka thread that holds a lock: it must only schedule (`EventLoop.execute`, an eventfd),
    /// not read.
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

    /// Number of records (and notices) that wait in the queue, for metrics.
    public var waitingCount: Int {
        self.state.withLock { state in
            guard let queue = state.queue?.pointer else { return 0 }
            return rd_kafka_queue_length(queue)
        }
    }

    /// Ends reading and wake-ups; waits for a read that is under way. Idempotent. Only the consumer needs to call this.
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
            // A negative number is one of librdkafka's logical offsets: the reader had no position to begin with.
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

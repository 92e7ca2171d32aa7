import CRDKafka
import Synchronization

/// Writes records in order per partition, as an idempotent producer with `acks=all`. All methods may be called from any
/// thread. Use one producer per shard, so that each shard's loop gets the deliveries of its own records.
public final class KafkaProducer: Sendable {
    private let client: ClientHandle
    private let deliveries: KafkaQueue
    private let wakeUp: WakeUp
    private let onError: @Sendable (KafkaError) -> Void
    private let outstanding = Atomic<Int>(0)
    private let ended = Atomic<Bool>(false)

    /// Checks the settings and makes the client. Contacts nobody yet.
    ///
    /// - Parameters:
    ///   - onDeliveries: called when a delivery or an error arrives in the empty queue. Then call `drainDeliveries`
    ///     until it returns 0. The closure itself may only schedule that, because a librdkafka thread that holds a lock
    ///     runs it.
    ///   - onError: gets errors of the producer as a whole, called by `drainDeliveries`. If an error is fatal
    ///     (`isFatal`), make another producer.
    public init(
        _ configuration: ProducerConfiguration, onDeliveries: @escaping @Sendable () -> Void,
        onError: @escaping @Sendable (KafkaError) -> Void
    ) throws(KafkaError) {
        let client = try Self.client(for: configuration.settings)
        rd_kafka_conf_set_events(client.pointer, RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR)
        self.client = try client.makeClient(
            log: configuration.log, brokerThreadNiceness: configuration.brokerThreadNiceness)
        self.deliveries = KafkaQueue(rd_kafka_queue_get_main(self.client.pointer))
        self.wakeUp = WakeUp(onDeliveries)
        self.onError = onError
        self.deliveries.enableWakeUp(self.wakeUp)
    }

    /// Makes the configuration of a client, with all properties of a producer.
    static func client(for settings: KafkaSettings) throws(KafkaError) -> ClientConfiguration {
        var client = ClientConfiguration(role: .producer)
        try client.apply(ProducerConfiguration.defaults)
        try client.apply(settings)
        try client.set("enable.idempotence", "true")
        try client.set("acks", "all")
        return client
    }

    deinit { self.deliveries.disableWakeUp() }

    /// Makes the handle for a topic name (1–249 bytes). Contacts nobody.
    /// - Parameter timesOut: `true`: a record is given up after `message.timeout.ms`, and later records are still
    ///   delivered. `false`: a record is tried as long as the producer exists, so that no later record is written
    ///   without the earlier one.
    public func topic(_ name: String, timesOut: Bool = true) throws(KafkaError) -> KafkaTopic {
        try KafkaTopic(name, client: self.client, timesOut: timesOut)
    }

    /// Queues one record, copying it. Never waits.
    ///
    /// - Parameters:
    ///   - partition: the number of a partition; -1: the partitioner chooses it. By default it hashes the key with
    ///     murmur2 as Java's clients do, and chooses at random without a key.
    ///   - key: `nil` is a null key.
    ///   - value: `nil` is a tombstone.
    ///   - timestampMillis: milliseconds since 1970; 0: now.
    ///   - opaque: a number that is returned with the delivery.
    public func produce(
        _ topic: KafkaTopic, partition: Int32 = -1, key: Span<UInt8>?, value: Span<UInt8>?,
        headers: KafkaHeaders? = nil,
        timestampMillis: Int64 = 0, opaque: UInt64
    ) -> ProduceResult {
        let prepared = headers.flatMap { $0.isEmpty ? nil : $0.makeRDKafkaHeaders() }
        let failure = Self.withBytes(of: key) { key, keyByteCount in
            Self.withBytes(of: value) { value, valueByteCount in
                self.outstanding.add(1, ordering: .relaxed)
                return mailboat_rd_kafka_produce(
                    self.client.pointer, topic.pointer, partition, key, keyByteCount, value, valueByteCount, prepared,
                    timestampMillis, opaque)
            }
        }
        return self.result(of: failure, prepared, topic: topic.name, partition: partition)
    }

    /// Maximum number of records that one call of librdkafka gets.
    private static let produceBatchCountMax = 256

    /// Queues `count` plain records of one topic in order, copying them. Never waits. One call costs much less than
    /// `count` single calls: the topic is locked once, and a run of records for one partition needs one look-up of the
    /// partition.
    ///
    /// - Parameters:
    ///   - bytes: the bytes of the records' keys and values.
    ///   - record: returns the record at an index in `0..<count`. It is called for ascending indexes, until the queue
    ///     is full. The record's ranges must be within `bytes`.
    public func produce(
        _ topic: KafkaTopic, count: Int, bytes: Span<UInt8>, record: (Int) -> PlainRecord
    ) -> BatchResult {
        var result = BatchResult(doneCount: 0, failures: [])
        bytes.withUnsafeBytes { bytes in
            withUnsafeTemporaryAllocation(of: rd_kafka_message_t.self, capacity: min(count, Self.produceBatchCountMax))
            {
                messages in
                while result.doneCount < count {
                    let first = result.doneCount
                    let batchCount = min(count - first, messages.count)
                    for index in 0..<batchCount {
                        (messages.baseAddress! + index).initialize(to: Self.message(record(first + index), bytes))
                    }
                    guard
                        self.produce(topic, UnsafeMutableBufferPointer(rebasing: messages[..<batchCount]), &result)
                    else { return }
                }
            }
        }
        return result
    }

    /// Queues messages in order and adds what became of them to `result`; `false` when the queue is full.
    private func produce(
        _ topic: KafkaTopic, _ messages: UnsafeMutableBufferPointer<rd_kafka_message_t>, _ result: inout BatchResult
    ) -> Bool {
        // The messages are counted before they are queued, because another thread may drain their deliveries at once.
        self.outstanding.add(messages.count, ordering: .relaxed)
        let queuedCount = Int(
            rd_kafka_produce_batch(
                topic.pointer, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY | RD_KAFKA_MSG_F_PARTITION,
                messages.baseAddress, Int32(messages.count)))
        guard queuedCount < messages.count else {
            result.doneCount += messages.count
            return true
        }
        self.outstanding.subtract(messages.count - queuedCount, ordering: .relaxed)
        for message in messages {
            switch message.err {
            case RD_KAFKA_RESP_ERR_NO_ERROR: break
            // librdkafka stops at the first message for which there is no room, so that no later message overtakes it.
            case RD_KAFKA_RESP_ERR__QUEUE_FULL: return false
            case RD_KAFKA_RESP_ERR__FATAL:
                result.failures.append((result.doneCount, self.fatalError ?? KafkaError(message.err)))
            default:
                let partition = TopicPartition(topic: topic.name, partition: message.partition)
                result.failures.append(
                    (result.doneCount, KafkaError(message.err, subject: .partition(partition)).needing(.write)))
            }
            result.doneCount += 1
        }
        return true
    }

    private static func message(_ record: PlainRecord, _ bytes: UnsafeRawBufferPointer) -> rd_kafka_message_t {
        var message = rd_kafka_message_t()
        message.partition = record.partition
        message._private = UnsafeMutableRawPointer(bitPattern: UInt(record.opaque))
        if let key = record.key {
            let key = self.slice(bytes, key)
            message.key = UnsafeMutableRawPointer(mutating: key.baseAddress)
            message.key_len = key.count
        }
        if let value = record.value {
            let value = self.slice(bytes, value)
            message.payload = UnsafeMutableRawPointer(mutating: value.baseAddress)
            message.len = value.count
        }
        return message
    }

    /// A slice of `bytes` that has an address even if it is empty. librdkafka distinguishes null from empty by the
    /// address, and reads nothing from an empty slice.
    private static func slice(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> UnsafeRawBufferPointer {
        guard !range.isEmpty else { return UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: 1), count: 0) }
        return UnsafeRawBufferPointer(rebasing: bytes[range])
    }

    private func result(
        of failure: rd_kafka_resp_err_t, _ headers: OpaquePointer?, topic: String?, partition: Int32
    ) -> ProduceResult {
        guard failure != RD_KAFKA_RESP_ERR_NO_ERROR else { return .queued }
        self.outstanding.subtract(1, ordering: .relaxed)
        if let headers { rd_kafka_headers_destroy(headers) }
        guard failure != RD_KAFKA_RESP_ERR__QUEUE_FULL else { return .queueFull }
        if failure == RD_KAFKA_RESP_ERR__FATAL { return .failed(self.fatalError ?? KafkaError(failure)) }
        return .failed(
            KafkaError(
                failure, subject: topic.map { .partition(TopicPartition(topic: $0, partition: partition)) } ?? .client
            ).needing(.write))
    }

    /// Hands waiting deliveries to `body`, in order per partition, and never waits. librdkafka reports deliveries in
    /// runs; this method stops after the run in which `max` is reached. `ahead` gets the opaque numbers of up to 32
    /// deliveries just before `body` gets these deliveries, so that the caller can prefetch.
    /// - Returns: number of deliveries handed over. 0: none waits, and the next one causes a call of `onDeliveries`.
    @discardableResult
    public func drainDeliveries(
        max: Int = 1_000, ahead: (Span<UInt64>) -> Void = { _ in }, _ body: (borrowing KafkaDelivery) -> Void
    ) -> Int {
        var count = 0
        while count < max {
            guard let event = rd_kafka_queue_poll(self.deliveries.pointer, 0) else { break }
            count += self.consume(event, ahead: ahead, body)
        }
        return count
    }

    /// Maximum number of deliveries whose opaque numbers `ahead` gets at a time.
    private static let aheadCountMax = 32

    /// Number of messages whose delivery has not been drained yet.
    public var outstandingCount: Int { self.outstanding.load(ordering: .relaxed) }

    /// Drains deliveries until no message is outstanding. Blocks, at most `limit`. A loop that must not block watches
    /// `outstandingCount` instead.
    /// - Returns: number of messages that are still outstanding.
    @discardableResult
    public func flush(within limit: Duration, _ body: (borrowing KafkaDelivery) -> Void) -> Int {
        let deadline = ContinuousClock.now + limit
        // `rd_kafka_flush` makes messages leave without lingering, but with a time limit it would wait for deliveries
        // that are only drained here. So it is called without waiting, again after each delivery event or 20 ms.
        let moment = Duration.milliseconds(20)
        while self.outstandingCount > 0 {
            let left = deadline - .now
            guard left > .zero else { break }
            rd_kafka_flush(self.client.pointer, 0)
            guard let event = rd_kafka_queue_poll(self.deliveries.pointer, min(left, moment).wholeMillis) else {
                continue
            }
            _ = self.consume(event, body)
        }
        return self.outstandingCount
    }

    /// Gives up all messages that are not delivered. Each returns as a failed delivery (`_PURGE_QUEUE` or
    /// `_PURGE_INFLIGHT`). Blocks for a moment.
    public func purge() {
        rd_kafka_purge(self.client.pointer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT)
    }

    /// Whether `drainDeliveries` or `flush` has met a fatal error. Every call of `produce` fails from then on. Cheap to
    /// call.
    public var hasEnded: Bool { self.ended.load(ordering: .relaxed) }

    /// The producer's fatal error, with which every call of `produce` fails; `nil`: none.
    public var fatalError: KafkaError? {
        let reasonCapacity = 512
        var reason = [CChar](repeating: 0, count: reasonCapacity)
        let cause = rd_kafka_fatal_error(self.client.pointer, &reason, reasonCapacity)
        guard cause != RD_KAFKA_RESP_ERR_NO_ERROR else { return nil }
        return KafkaError(
            code: .init(rawValue: cause.rawValue),
            text: reason.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }, isRetriable: false,
            isFatal: true)
    }

    private func consume(
        _ event: OpaquePointer, ahead: (Span<UInt64>) -> Void = { _ in }, _ body: (borrowing KafkaDelivery) -> Void
    ) -> Int {
        defer { rd_kafka_event_destroy(event) }
        switch rd_kafka_event_type(event) {
        case RD_KAFKA_EVENT_DR:
            let count = rd_kafka_event_message_count(event)
            withUnsafeTemporaryAllocation(of: UnsafePointer<rd_kafka_message_t>?.self, capacity: Self.aheadCountMax) {
                messages in
                withUnsafeTemporaryAllocation(of: UInt64.self, capacity: Self.aheadCountMax) { opaques in
                    while true {
                        let some = rd_kafka_event_message_array(event, messages.baseAddress, messages.count)
                        guard some > 0 else { return }
                        for index in 0..<some { opaques[index] = KafkaDelivery(messages[index]!).opaque }
                        ahead(Span(_unsafeElements: UnsafeBufferPointer(rebasing: opaques[..<some])))
                        for index in 0..<some { body(KafkaDelivery(messages[index]!)) }
                    }
                }
            }
            self.outstanding.subtract(count, ordering: .relaxed)
            return count
        case RD_KAFKA_EVENT_ERROR:
            let error = KafkaError(event: event, client: self.client)
            if error.isFatal { self.ended.store(true, ordering: .relaxed) }
            self.onError(error)
            return 0
        default:
            return 0
        }
    }

    /// Calls `body` with the address of the span's bytes, or with another address for an empty span that has none.
    /// librdkafka distinguishes null from empty by the address alone.
    private static func withBytes<Result>(of span: Span<UInt8>?, _ body: (UnsafeRawPointer?, Int) -> Result) -> Result {
        guard let span else { return body(nil, 0) }
        return span.withUnsafeBytes { bytes in
            withUnsafePointer(to: 0 as UInt8) { nothing in
                body(bytes.baseAddress ?? UnsafeRawPointer(nothing), bytes.count)
            }
        }
    }
}

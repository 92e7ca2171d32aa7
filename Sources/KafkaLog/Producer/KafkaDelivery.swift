import CRDKafka

/// The result of one produced message, with the message itself. It is valid only while the closure that receives it
/// runs.
public struct KafkaDelivery: ~Copyable {
    /// The number that `produce` got for the message.
    public let opaque: UInt64
    /// The message's partition; -1 if the message failed before a partition was chosen.
    public let partition: Int32
    /// The message's offset in the log; meaningful when `isSuccess`.
    public let offset: Int64
    let message: UnsafePointer<rd_kafka_message_t>

    init(_ message: UnsafePointer<rd_kafka_message_t>) {
        self.message = message
        self.opaque = UInt64(UInt(bitPattern: message.pointee._private))
        self.partition = message.pointee.partition
        self.offset = message.pointee.offset
    }

    /// Whether Kafka has acknowledged the message.
    public var isSuccess: Bool { self.message.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR }

    /// Whether the message was produced to this topic. `topic` must be a handle of the same producer.
    public func isOf(_ topic: KafkaTopic) -> Bool { self.message.pointee.rkt == topic.pointer }

    /// The name of the topic that the message was for.
    public var topic: String { self.message.pointee.rkt.map { String(cString: rd_kafka_topic_name($0)) } ?? "" }

    /// Why the message was not delivered; `nil` for a success.
    public var error: KafkaError? {
        guard !self.isSuccess else { return nil }
        // `rd_kafka_message_errstr` is not used, because it returns the payload of a produced message as the text.
        return KafkaError(
            self.message.pointee.err, subject: .partition(TopicPartition(topic: self.topic, partition: self.partition))
        ).needing(.write)
    }

    /// The message's time as produced, milliseconds since 1970.
    public var timestampMillis: Int64 {
        // librdkafka returns the time only for messages without error, so the error is removed during the call. No
        // other thread uses the message until its event is destroyed.
        let message = UnsafeMutablePointer(mutating: self.message)
        let failure = message.pointee.err
        message.pointee.err = RD_KAFKA_RESP_ERR_NO_ERROR
        defer { message.pointee.err = failure }
        return rd_kafka_message_timestamp(message, nil)
    }
    /// Whether the message has a key. `false` for a null key.
    public var hasKey: Bool { self.message.pointee.key != nil }
    /// Whether the message has a value. `false` for a null value.
    public var hasValue: Bool { self.message.pointee.payload != nil }

    /// The message's key; empty for a null key. Valid as long as the delivery.
    public var key: Span<UInt8> {
        @_lifetime(borrow self) get {
            let bytes = UnsafeBufferPointer(
                start: self.message.pointee.key?.assumingMemoryBound(to: UInt8.self),
                count: self.hasKey ? self.message.pointee.key_len : 0)
            return _overrideLifetime(Span(_unsafeElements: bytes), borrowing: self)
        }
    }

    /// The message's value; empty for a null value. Valid as long as the delivery.
    public var value: Span<UInt8> {
        @_lifetime(borrow self) get {
            let bytes = UnsafeBufferPointer(
                start: self.message.pointee.payload?.assumingMemoryBound(to: UInt8.self),
                count: self.hasValue ? self.message.pointee.len : 0)
            return _overrideLifetime(Span(_unsafeElements: bytes), borrowing: self)
        }
    }

    /// Calls `body` for every header in order. `hasValue` is false for a null value.
    public func forEachHeader(_ body: (_ name: Span<UInt8>, _ value: Span<UInt8>, _ hasValue: Bool) -> Void) {
        MessageHeaders.forEach(in: self.message, body)
    }
}

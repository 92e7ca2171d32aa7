import CRDKafka
import Glibc

/// One record, valid only while the closure that receives it runs. Its bytes are in librdkafka's fetch buffer: copy
/// those that you keep.
public struct KafkaRecord: ~Copyable {
    /// The number of the record's partition, from 0.
    public let partition: Int32
    /// The record's offset in the partition's log.
    public let offset: Int64
    /// The record's time in milliseconds since 1970; -1: none. The topic's setting decides whether it is the producer's
    /// time or the broker's.
    public let timestampMillis: Int64
    /// Whether the record has a key. `false` for a null key, `true` for an empty one.
    public let hasKey: Bool
    /// Whether the record has a value. `false` for a null value (a tombstone in a compacted topic).
    public let hasValue: Bool
    @usableFromInline let keyBytes: UnsafeBufferPointer<UInt8>
    @usableFromInline let valueBytes: UnsafeBufferPointer<UInt8>
    let message: UnsafeMutablePointer<rd_kafka_message_t>

    init(_ message: UnsafeMutablePointer<rd_kafka_message_t>) {
        self.message = message
        self.partition = message.pointee.partition
        self.offset = message.pointee.offset
        self.timestampMillis = rd_kafka_message_timestamp(message, nil)
        self.hasKey = message.pointee.key != nil
        self.hasValue = message.pointee.payload != nil
        self.keyBytes = UnsafeBufferPointer(
            start: message.pointee.key?.assumingMemoryBound(to: UInt8.self),
            count: message.pointee.key == nil ? 0 : message.pointee.key_len)
        self.valueBytes = UnsafeBufferPointer(
            start: message.pointee.payload?.assumingMemoryBound(to: UInt8.self),
            count: message.pointee.payload == nil ? 0 : message.pointee.len)
    }

    /// The key's bytes; empty for a null key.
    @inlinable public var key: Span<UInt8> {
        @_lifetime(borrow self) get { _overrideLifetime(Span(_unsafeElements: self.keyBytes), borrowing: self) }
    }

    /// The value's bytes; empty for a null value.
    @inlinable public var value: Span<UInt8> {
        @_lifetime(borrow self) get { _overrideLifetime(Span(_unsafeElements: self.valueBytes), borrowing: self) }
    }

    /// The name of the record's topic. Each call makes a new `String`, which is too costly for every record.
    public var topic: String { self.message.pointee.rkt.map { String(cString: rd_kafka_topic_name($0)) } ?? "" }

    /// Calls `body` with the value of the last header of that name, and whether there is one. A header with a null
    /// value counts as present and empty. The first call for a record makes librdkafka parse the record's headers. A
    /// record without headers costs nothing.
    public func withHeader<Result>(_ name: StaticString, _ body: (_ value: Span<UInt8>, _ isPresent: Bool) -> Result)
        -> Result
    {
        var headers: OpaquePointer?
        var value: UnsafeRawPointer?
        var byteCount = 0
        guard mailboat_rd_kafka_may_have_headers(self.message) != 0,
            rd_kafka_message_headers(self.message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR, let headers,
            rd_kafka_header_get_last(
                headers, UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self), &value, &byteCount)
                == RD_KAFKA_RESP_ERR_NO_ERROR
        else { return body(Span(), false) }
        let bytes = UnsafeBufferPointer(
            start: value?.assumingMemoryBound(to: UInt8.self), count: value == nil ? 0 : byteCount)
        return body(Span(_unsafeElements: bytes), true)
    }

    /// Calls `body` for every header in order. `hasValue` is false for a null value.
    public func forEachHeader(_ body: (_ name: Span<UInt8>, _ value: Span<UInt8>, _ hasValue: Bool) -> Void) {
        guard mailboat_rd_kafka_may_have_headers(self.message) != 0 else { return }
        MessageHeaders.forEach(in: self.message, body)
    }
}

/// Reads the headers that librdkafka keeps with a message.
enum MessageHeaders {
    static func forEach(
        in message: UnsafePointer<rd_kafka_message_t>,
        _ body: (_ name: Span<UInt8>, _ value: Span<UInt8>, _ hasValue: Bool) -> Void
    ) {
        var headers: OpaquePointer?
        guard rd_kafka_message_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR, let headers else { return }
        var index = 0
        var name: UnsafePointer<CChar>?
        var value: UnsafeRawPointer?
        var byteCount = 0
        while rd_kafka_header_get_all(headers, index, &name, &value, &byteCount) == RD_KAFKA_RESP_ERR_NO_ERROR,
            let named = name
        {
            let nameBytes = UnsafeRawBufferPointer(start: named, count: strlen(named)).assumingMemoryBound(
                to: UInt8.self)
            let valueBytes = UnsafeBufferPointer(
                start: value?.assumingMemoryBound(to: UInt8.self), count: value == nil ? 0 : byteCount)
            body(Span(_unsafeElements: nameBytes), Span(_unsafeElements: valueBytes), value != nil)
            index += 1
        }
    }
}

/// A topic a producer writes to. Made once with `KafkaProducer.topic`, used for every record.
public final class KafkaTopic: Sendable {
    public let name: String
    init(name: String) { self.name = name }
}

/// Writes records: idempotent, `acks=all`, in order per partition. All methods may be called from any thread; use one producer per shard
/// so that deliveries come back to the loop that asked.
public final class KafkaProducer: Sendable {
    /// - Parameters:
    ///   - onDeliveries: called when deliveries (or errors) start waiting, on a librdkafka thread that holds a lock: only schedule a
    ///     `drainDeliveries`. Called for the first of a run only; drain until it returns 0.
    ///   - onError: errors of the producer as a whole, called inside `drainDeliveries`. `isFatal`: make another producer.
    public init(
        _ configuration: ProducerConfiguration, onDeliveries: @escaping @Sendable () -> Void, onError: @escaping @Sendable (KafkaError) -> Void
    ) throws(KafkaError) { fatalError("not yet") }

    /// The handle for a topic name (1–249 bytes). Contacts nobody.
    public func topic(_ name: String) throws(KafkaError) -> KafkaTopic { fatalError("not yet") }

    /// Queues one record, copying it. Never waits.
    ///
    /// - Parameters:
    ///   - partition: explicit, or -1: murmur2 of the key as Java's clients do, random without a key.
    ///   - key: `nil` is a null key.
    ///   - value: `nil` is a tombstone.
    ///   - timestampMillis: milliseconds since 1970; 0: now.
    ///   - opaque: comes back with the delivery.
    public func produce(
        _ topic: KafkaTopic, partition: Int32 = -1, key: Span<UInt8>?, value: Span<UInt8>?, headers: borrowing KafkaHeaders? = nil,
        timestampMillis: Int64 = 0, opaque: UInt64
    ) -> ProduceResult { fatalError("not yet") }

    /// Queues the whole message of a failed delivery again: same topic, partition, key, value, headers, time and opaque number.
    public func produceAgain(_ delivery: borrowing KafkaDelivery) -> ProduceResult { fatalError("not yet") }

    /// Hands waiting deliveries to `body`, in order per partition, and never waits. Stops after the batch in which `max` is reached.
    /// - Returns: how many were handed over; 0: nothing waits, the next one wakes up.
    @discardableResult
    public func drainDeliveries(max: Int = 1_000, _ body: (borrowing KafkaDelivery) -> Void) -> Int { fatalError("not yet") }

    /// Messages produced whose delivery was not drained yet.
    public var outstandingCount: Int { fatalError("not yet") }

    /// Drains until nothing is outstanding. Blocks, at most `limit`. A loop that must not block watches `outstandingCount` instead.
    /// - Returns: how many are still outstanding.
    public func flush(within limit: Duration, _ body: (borrowing KafkaDelivery) -> Void) -> Int { fatalError("not yet") }

    /// Gives up on everything undelivered: each outstanding message comes back as a failed delivery (`purged`). Blocks up to about a second.
    public func purge() { fatalError("not yet") }
}

/// The result of one `produce`.
public enum ProduceResult: Sendable, Hashable {
    /// The record was queued. A delivery with the same opaque number will follow in any case.
    case queued
    /// The bounded queue has no room, so the record was not queued. Drain deliveries and try again.
    case queueFull
    /// The record was not queued, and trying again does not help: it is too large, its partition is unknown, or the
    /// producer has a fatal error.
    case failed(KafkaError)
}

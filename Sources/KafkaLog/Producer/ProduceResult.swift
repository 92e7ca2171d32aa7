/// The result of one `produce`.
public enum ProduceResult: Sendable, Hashable {
    /// The record was queued. A delivery with the same opaque number will follow in any case.
    case queued
    /// The bounded queue has no room; nothing was taken. Drain deliveries and try again: this is back-pressure, not an
    /// error.
    case queueFull
    /// Nothing was taken, and trying again does not help (too large, unknown partition, fatal state).
    case failed(KafkaError)
}

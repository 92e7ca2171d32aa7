/// What became of one `produce`.
public enum ProduceResult: Sendable, Hashable {
    /// A delivery with the same opaque number will follow, whatever happens.
    case queued
    /// The bounded queue has no room; nothing was taken. Drain deliveries and try again: back-pressure, not an error.
    case queueFull
    /// Nothing was taken and trying again does not help (too large, unknown partition, fatal state).
    case failed(KafkaError)
}

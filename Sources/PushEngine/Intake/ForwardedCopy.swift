import PushModel

/// What all forwarded copies of one event have in common, and copies of other events do not have. A first position
/// alone is not enough: in two clusters it may name different events.
struct ForwardedCopy: Hashable {
    private let origin: SourcePosition
    private let timestampMillis: Int64
    private let contentHash: Int

    init(origin: SourcePosition, timestampMillis: Int64, key: Span<UInt8>, value: Span<UInt8>) {
        self.origin = origin
        self.timestampMillis = timestampMillis
        var hasher = Hasher()
        hasher.combine(key.count)
        for index in key.indices { hasher.combine(key[index]) }
        for index in value.indices { hasher.combine(value[index]) }
        self.contentHash = hasher.finalize()
    }
}

/// Names one push attempt of one shard until it is answered.
public struct PushID: Hashable, Sendable {
    /// Decided by the engine; others only compare it and give it back.
    public var rawValue: UInt64
    @inlinable public init(rawValue: UInt64) { self.rawValue = rawValue }
}

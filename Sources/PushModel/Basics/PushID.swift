/// Identifies one push attempt of one shard until it is answered.
public struct PushID: Hashable, Sendable {
    /// The number that the engine has chosen. Other code only compares it and gives it back.
    public var rawValue: UInt64
    @inlinable public init(rawValue: UInt64) { self.rawValue = rawValue }
}

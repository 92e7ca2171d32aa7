public import PushModel

/// One request as it leaves the engine. The transport keeps a slab of these, one per stream, and hands one over to be filled: its arrays
/// keep their capacity, so a steady push allocates nothing.
public struct PushRequest: Sendable {
    /// Names this attempt; the answer gives it back.
    public var id = PushID(rawValue: 0)
    /// Index into `EngineConfiguration.apps`; the transport holds the `apns-topic` value for it.
    public var app: UInt16 = 0
    /// `apns-priority`.
    public var priority: PushPriority = .low
    /// `apns-expiration`, seconds since 1970.
    public var expirationSeconds: Int64 = 0
    /// `apns-id`: the UUID's two halves, big-endian order.
    public var apnsID: (UInt64, UInt64) = (0, 0)
    /// Lower-case hex of the token, ASCII: what follows `/3/device/` in the path.
    public var tokenHex: [UInt8] = []
    /// The payload.
    public var body: [UInt8] = []

    /// An empty request, to be filled by `ShardEngine.nextPush`.
    @inlinable public init() {}
}

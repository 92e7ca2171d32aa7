public import PushModel

/// Names one push attempt of one shard until it is answered.
public struct PushID: Hashable, Sendable {
    public var rawValue: UInt64
    @inlinable public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// One request as it leaves the engine. The transport keeps a slab of these, one per stream, and hands one over to be filled: its arrays
/// keep their capacity, so a steady push allocates nothing.
public struct PushRequest: Sendable {
    public var id = PushID(rawValue: 0)
    /// Index into `EngineConfiguration.apps`; the transport holds the `apns-topic` value for it.
    public var app: UInt16 = 0
    public var priority: PushPriority = .low
    /// `apns-expiration`, seconds since 1970.
    public var expirationSeconds: Int64 = 0
    /// `apns-id`: the UUID's two halves, big-endian order.
    public var apnsID: (UInt64, UInt64) = (0, 0)
    /// Lower-case hex of the token, ASCII: what follows `/3/device/` in the path.
    public var tokenHex: [UInt8] = []
    /// The payload.
    public var body: [UInt8] = []

    @inlinable public init() {}
}

/// What became of one push attempt, as the transport reports it.
public struct PushAnswer: Sendable, Equatable {
    public enum Result: Sendable, Equatable {
        /// A status came. `reason` is empty when there was none; `timestampMillis` comes with 410.
        case response(status: UInt16, reason: String, timestampMillis: Int64?, retryAfterSeconds: Int64?)
        /// 200, the common case.
        case accepted
        /// REFUSED_STREAM, above GOAWAY's last stream, or never written: APNs did not process it.
        case notProcessed
        /// Connection lost, reset or timed out after the request left: nobody knows.
        case unknown(detail: String)
    }
    public var id: PushID
    public var result: Result
    /// From the request's headers leaving to this answer, in microseconds.
    public var apnsMicros: Int64

    public init(id: PushID, result: Result, apnsMicros: Int64) {
        self.id = id
        self.result = result
        self.apnsMicros = apnsMicros
    }
}

public import PushModel

/// What a request asks of APNs: a push to one phone, one to a channel, or something about channels themselves (Apple: "Sending channel
/// management requests to APNs").
public enum RequestKind: UInt8, Sendable, CaseIterable {
    /// `POST /3/device/<token>`.
    case device
    /// `POST /4/broadcasts/apps/<bundle id>`.
    case broadcast
    /// `POST /1/apps/<bundle id>/channels`.
    case createChannel
    /// `GET /1/apps/<bundle id>/channels`.
    case readChannel
    /// `DELETE /1/apps/<bundle id>/channels`.
    case deleteChannel
    /// `GET /1/apps/<bundle id>/all-channels`.
    case listChannels
}

/// One request as it leaves the engine. The transport keeps a slab of these, one per stream, and hands one over to be filled: its arrays
/// keep their capacity, so a steady push allocates nothing.
public struct PushRequest: Sendable {
    /// Names this attempt; the answer gives it back.
    public var id = PushID(rawValue: 0)
    /// What is asked for; the fields it has no use for are ignored.
    public var kind = RequestKind.device
    /// Index into `EngineConfiguration.apps`; the transport holds the `apns-topic` value for it.
    public var app: UInt16 = 0
    /// `apns-priority`.
    public var priority: PushPriority = .low
    /// `apns-expiration`, seconds since 1970.
    public var expirationSeconds: Int64 = 0
    /// `apns-id`: the UUID's two halves, big-endian order.
    public var apnsID: (UInt64, UInt64) = (0, 0)
    /// Whom it is for. A phone's token in lower-case hex, ASCII: what follows `/3/device/` in the path. A channel's id in base64, as APNs gave
    /// it: `apns-channel-id`. Empty where a channel is made, or all are listed.
    public var target: [UInt8] = []
    /// The payload.
    public var body: [UInt8] = []

    /// An empty request, to be filled by `ShardEngine.nextPush`.
    @inlinable public init() {}
}

public import PushModel

/// The kind of a request: a push to one phone, a push to a channel, or a request about channels themselves (Apple:
/// "Sending channel management requests to APNs").
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

/// One request as it leaves the engine. The transport has a single request, which is filled again for each push. The
/// request's arrays keep their capacity, so sending allocates no memory once they have grown.
public struct PushRequest: Sendable {
    /// The id of this attempt, which its answer repeats.
    public var id = PushID(rawValue: 0)
    /// The kind of request. Fields that a kind does not use are ignored.
    public var kind = RequestKind.device
    /// Index into `EngineConfiguration.apps`. The transport has the `apns-topic` value for it.
    public var app: UInt16 = 0
    /// `apns-priority`.
    public var priority: PushPriority = .low
    /// `apns-expiration`, seconds since 1970.
    public var expirationSeconds: Int64 = 0
    /// `apns-id`: the UUID's two halves, big-endian order.
    public var apnsID: (UInt64, UInt64) = (0, 0)
    /// The target of the request. For a phone it is the token in lower-case hex, which follows `/3/device/` in the
    /// path. For a channel it is the id in base64, for `apns-channel-id`. It is empty when a channel is made or all
    /// channels are listed.
    public var target: [UInt8] = []
    /// The JSON body.
    public var body: [UInt8] = []

    /// Creates an empty request. `ShardEngine.nextPush` or `ChannelClient` fills it.
    @inlinable public init() {}
}

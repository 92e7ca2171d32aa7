public import DeviceModel

/// What the simulator knows behind one token. A copy.
public struct SimulatedDevice: Sendable {
    /// Lower-case hex.
    public var token: String
    /// Whether the token is good, and since when it is as it is.
    public var standing: TokenStanding
    /// `apns-topic` it belongs to; empty before its first push.
    public var topic: String
    /// The activity on the phone. A rotated token and its successor have the same.
    public var device: Device
    /// Requests to this token that were answered 200.
    public var accepted: Int
    /// Requests to this token that were refused.
    public var refused: Int
    /// Id of the broadcast channel the phone listens to, base64; `nil`: to none.
    public var channel: String?
    /// `false`: the phone is away, and APNs cannot reach it.
    public var isOnline: Bool
}

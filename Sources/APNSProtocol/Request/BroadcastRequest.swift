import PushModel

/// A request to `/4/broadcasts` (Apple: "Sending broadcast push notification requests to APNs"): what it has that `DeviceRequest` has not.
/// Method, scheme, authorization, push type, priority and expiration are as there; there is no `apns-topic`.
public enum BroadcastRequest {
    /// What precedes the bundle id in `:path`. The bundle id has no suffix here.
    public static let pathPrefix: StaticString = "/4/broadcasts/apps/"

    /// Carries a channel's id, as APNs gave it.
    public static let channelIDName: StaticString = "apns-channel-id"
    /// Carries a UUID, which the answer repeats.
    public static let requestIDName: StaticString = "apns-request-id"

    /// The value of `:path` for an app.
    public static func pathValue(bundleID: String) -> [UInt8] {
        var value: [UInt8] = []
        value.append(utf8: Self.pathPrefix)
        value += bundleID.utf8
        return value
    }
}

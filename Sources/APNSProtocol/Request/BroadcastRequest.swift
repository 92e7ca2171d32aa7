import PushModel

/// A request to `/4/broadcasts` (Apple: "Sending broadcast push notification requests to APNs"), as far as it differs
/// from `DeviceRequest`. Method, scheme, authorization, push type, priority and expiration are as there, but there is
/// no `apns-topic`.
public enum BroadcastRequest {
    /// The part of `:path` before the bundle id. The bundle id has no suffix here.
    public static let pathPrefix: StaticString = "/4/broadcasts/apps/"

    /// The field with a channel's id, as APNs gave it.
    public static let channelIDName: StaticString = "apns-channel-id"
    /// The field with a UUID, which the answer repeats.
    public static let requestIDName: StaticString = "apns-request-id"

    /// The value of `:path` for an app.
    public static func pathValue(bundleID: String) -> [UInt8] {
        var value: [UInt8] = []
        value.append(utf8: Self.pathPrefix)
        value += bundleID.utf8
        return value
    }
}

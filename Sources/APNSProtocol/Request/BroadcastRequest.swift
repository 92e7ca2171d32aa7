import PushModel

/// The parts of a request to `/4/broadcasts` that differ from `DeviceRequest` (Apple: "Sending broadcast push
/// notification requests to APNs"). Method, scheme, authorization, push type, priority and expiration are as in
/// `DeviceRequest`. There is no `apns-topic`.
public enum BroadcastRequest {
    /// The part of `:path` before the bundle id. Unlike in `apns-topic`, the bundle id has no suffix here.
    public static let pathPrefix: StaticString = "/4/broadcasts/apps/"

    /// The field with a channel's id, spelled as APNs gave it.
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

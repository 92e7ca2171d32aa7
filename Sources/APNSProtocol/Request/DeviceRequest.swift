public import PushModel

/// A request to `/3/device` (Apple: "Sending notification requests to APNs"): names and fixed values of its headers.
/// Names are in lower case, as HTTP/2 requires.
public enum DeviceRequest {
    /// The only method that APNs takes on this path.
    public static let method: StaticString = "POST"
    /// The value of `:scheme`.
    public static let scheme: StaticString = "https"
    /// The part of `:path` before the token.
    public static let pathPrefix: StaticString = "/3/device/"

    /// The field with the word `bearer` and the provider token (`ProviderTokenClaims`).
    public static let authorizationName: StaticString = "authorization"
    /// The field with the push type. It must match the payload, or the push may be dropped.
    public static let pushTypeName: StaticString = "apns-push-type"
    /// The push type of Live Activities.
    public static let pushTypeValue: StaticString = "liveactivity"
    /// The field with `topicValue`; required.
    public static let topicName: StaticString = "apns-topic"
    /// The part of `apns-topic` after the bundle id.
    public static let topicSuffix: StaticString = ".push-type.liveactivity"
    /// The field with `priorityValue`. APNs assumes 10 without it.
    public static let priorityName: StaticString = "apns-priority"
    /// The field with the expiration, in seconds since 1970. APNs stores a push for up to 30 days without it.
    public static let expirationName: StaticString = "apns-expiration"
    /// The field with a UUID, which the answer repeats.
    public static let idName: StaticString = "apns-id"

    /// The value of `apns-priority`.
    public static func priorityValue(_ priority: PushPriority) -> StaticString {
        switch priority {
        case .lowest: "1"
        case .low: "5"
        case .high: "10"
        }
    }

    /// The value of `apns-topic` for an app.
    public static func topicValue(bundleID: String) -> [UInt8] {
        var value = Array(bundleID.utf8)
        value.append(utf8: Self.topicSuffix)
        return value
    }
}

/// Apple's hosts and ports (Apple: "Sending notification requests to APNs").
public enum APNSHost {
    /// The host for apps from the App Store and TestFlight.
    public static let production = "api.push.apple.com"
    /// The host for apps that Xcode installed. Apple also calls this environment the sandbox.
    public static let development = "api.sandbox.push.apple.com"
    /// The port for pushes at both hosts.
    public static let port = 443

    /// The host for making, listing and deleting channels in production (Apple: "Sending channel management requests to
    /// APNs").
    public static let productionManage = "api-manage-broadcast.push.apple.com"
    /// The only port of `productionManage`.
    public static let productionManagePort = 2_196
    /// The host for making, listing and deleting channels in development.
    public static let developmentManage = "api-manage-broadcast.sandbox.push.apple.com"
    /// The only port of `developmentManage`.
    public static let developmentManagePort = 2_195
}

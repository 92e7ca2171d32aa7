public import PushModel

/// A request to `/3/device` (Apple: "Sending notification requests to APNs"): names and fixed values of its headers. Names are lower
/// case, as HTTP/2 has them.
public enum DeviceRequest {
    /// The only method APNs takes here.
    public static let method: StaticString = "POST"
    /// `:scheme`.
    public static let scheme: StaticString = "https"
    /// What precedes the token in `:path`.
    public static let pathPrefix: StaticString = "/3/device/"

    /// Carries `bearer` and the provider token (`ProviderTokenClaims`).
    public static let authorizationName: StaticString = "authorization"
    /// Must match the payload, or the push may be dropped.
    public static let pushTypeName: StaticString = "apns-push-type"
    /// The push type of Live Activities.
    public static let pushTypeValue: StaticString = "liveactivity"
    /// Carries `topicValue`; required.
    public static let topicName: StaticString = "apns-topic"
    /// What follows the bundle id in `apns-topic`.
    public static let topicSuffix: StaticString = ".push-type.liveactivity"
    /// Carries `priorityValue`; APNs takes 10 when it is missing.
    public static let priorityName: StaticString = "apns-priority"
    /// Carries seconds since 1970; APNs stores a push up to 30 days when it is missing.
    public static let expirationName: StaticString = "apns-expiration"
    /// Carries a UUID, which the answer repeats.
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
    /// For apps from the App Store and TestFlight.
    public static let production = "api.push.apple.com"
    /// For apps that Xcode installed; Apple calls it sandbox too.
    public static let development = "api.sandbox.push.apple.com"
    /// The ordinary port.
    public static let port = 443

    /// Where channels of the production environment are made, listed and deleted (Apple: "Sending channel management requests to APNs").
    public static let productionManage = "api-manage-broadcast.push.apple.com"
    /// Its only port.
    public static let productionManagePort = 2_196
    /// Where channels of the development environment are made, listed and deleted.
    public static let developmentManage = "api-manage-broadcast.sandbox.push.apple.com"
    /// Its only port.
    public static let developmentManagePort = 2_195
}

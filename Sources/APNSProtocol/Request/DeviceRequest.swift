public import PushModel

/// A request to `/3/device` (Apple: "Sending notification requests to APNs"): names and fixed values of its headers, and the writers
/// of those that vary. Names are lower case, as HTTP/2 has them.
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
    /// Its meaning for Live Activities is not documented; Mailboat sends none.
    public static let collapseIDName: StaticString = "apns-collapse-id"
    /// Carries a UUID, which the answer repeats.
    public static let idName: StaticString = "apns-id"
    /// Of the response: for looking a push up in Apple's console.
    public static let uniqueIDName: StaticString = "apns-unique-id"
    /// Of the response. Apple does not document it; honoured when it comes.
    public static let retryAfterName: StaticString = "retry-after"

    /// Apple's limit for `apns-collapse-id`.
    public static let collapseIDByteCountMax = 64

    /// The value of `apns-priority`.
    public static func priorityValue(_ priority: PushPriority) -> StaticString {
        switch priority {
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

    /// Appends `:path`. `tokenHex` is the device token in lower-case hexadecimal, as ASCII.
    public static func appendPath(tokenHex: Span<UInt8>, to path: inout [UInt8]) {
        path.append(utf8: Self.pathPrefix)
        path.append(copying: tokenHex)
    }

    /// Appends the value of `apns-expiration`: seconds since 1970; 0 asks for one attempt and no storing.
    public static func appendExpiration(_ seconds: Int64, to value: inout [UInt8]) {
        DecimalDigits.append(seconds, to: &value)
    }

    /// Appends the value of `apns-id`: a UUID in lower-case canonical form, from its two halves in big-endian order.
    public static func appendID(_ id: (UInt64, UInt64), to value: inout [UInt8]) {
        for shift in stride(from: 60, through: 0, by: -4) {
            value.append(Hex.digit(UInt8(truncatingIfNeeded: id.0 >> UInt64(shift)) & 15))
            if shift == 32 || shift == 16 { value.append(UInt8(ascii: "-")) }
        }
        value.append(UInt8(ascii: "-"))
        for shift in stride(from: 60, through: 0, by: -4) {
            value.append(Hex.digit(UInt8(truncatingIfNeeded: id.1 >> UInt64(shift)) & 15))
            if shift == 48 { value.append(UInt8(ascii: "-")) }
        }
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
    /// For networks that block ordinary HTTPS.
    public static let alternativePort = 2_197
}

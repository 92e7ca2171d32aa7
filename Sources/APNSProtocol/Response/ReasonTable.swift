/// Apple's statuses and reasons, each with its verdict (Apple: "Handling notification responses from APNs", and
/// "Handling error responses" for channels and broadcasts).
public enum ReasonTable {
    /// - Parameters:
    ///   - status: the value of `:status`.
    ///   - reason: `reason` of the body; empty without one.
    ///   - timestampMillis: `timestamp` of the body, with 410.
    public static func verdict(status: UInt16, reason: String, timestampMillis: Int64?) -> Verdict {
        if (200...299).contains(status) { return .accepted }
        switch reason {
        case "BadDeviceToken", "DeviceTokenNotForTopic", "BadChannelId", "ChannelNotRegistered":
            return .tokenDead(invalidSinceMillis: nil, suspicious: true)
        case "ExpiredToken", "Unregistered":
            return .tokenDead(invalidSinceMillis: timestampMillis, suspicious: false)
        case "TopicDisallowed":
            return .topicRefused(anotherConnectionMayDo: true)
        case "BadTopic", "Forbidden", "FeatureNotEnabled", "TopicMismatch":
            return .topicRefused(anotherConnectionMayDo: false)
        case "IdleTimeout", "UnrelatedKeyIdInToken", "Shutdown":
            return .connectionUnusable
        case "ExpiredProviderToken":
            return .providerTokenExpired
        case "TooManyProviderTokenUpdates":
            return .providerTokenTooManyUpdates
        case "TooManyRequests":
            return .tokenThrottled
        // The second spelling was seen live; Apple documents the first.
        case "BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken":
            return .credentialRefused
        case "BadCertificate", "BadCertificateEnvironment", "InvalidProviderToken", "MissingProviderToken":
            return .credentialRefused
        case "BadExpirationDate":
            return .expirationRefused
        case "BadCollapseId", "BadMessageId", "BadPriority", "DuplicateHeaders", "InvalidPushType",
            "MissingDeviceToken", "MissingTopic", "PayloadEmpty", "PayloadTooLarge", "BadPath", "MethodNotAllowed",
            "BadRequestParams", "BadRequestPayload", "CannotCreateChannelConfig", "MissingChannelId", "MissingPushType":
            return .messageRefused
        // Apple's pages about channels spell `ServiceUnavailable` with a space.
        case "InternalServerError", "ServiceUnavailable", "Service Unavailable":
            return .serverBusy
        default:
            return Self.verdict(unknownReasonWithStatus: status, timestampMillis: timestampMillis)
        }
    }

    /// Whether `reason` is in the table. An unknown reason is judged by its status, and deserves a warning.
    public static func isKnown(_ reason: String) -> Bool { Self.knownReasons.contains(reason) }

    /// Every reason in the table: Apple's spellings, and two other spellings.
    public static let knownReasons: Set<String> = [
        "BadCollapseId", "BadDeviceToken", "BadExpirationDate", "BadMessageId", "BadPriority", "BadTopic",
        "DeviceTokenNotForTopic",
        "DuplicateHeaders", "IdleTimeout", "InvalidPushType", "MissingDeviceToken", "MissingTopic", "PayloadEmpty",
        "TopicDisallowed",
        "BadCertificate", "BadCertificateEnvironment", "ExpiredProviderToken", "Forbidden", "InvalidProviderToken",
        "MissingProviderToken", "UnrelatedKeyIdInToken", "BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken",
        "BadPath",
        "MethodNotAllowed", "ExpiredToken", "Unregistered", "PayloadTooLarge", "TooManyProviderTokenUpdates",
        "TooManyRequests",
        "InternalServerError", "ServiceUnavailable", "Service Unavailable", "Shutdown",
        "BadChannelId", "BadRequestParams", "BadRequestPayload", "CannotCreateChannelConfig", "ChannelNotRegistered",
        "FeatureNotEnabled", "MissingChannelId", "MissingPushType", "TopicMismatch",
    ]

    private static func verdict(unknownReasonWithStatus status: UInt16, timestampMillis: Int64?) -> Verdict {
        switch status {
        case 401, 403, 407: .credentialRefused
        case 410: .tokenDead(invalidSinceMillis: timestampMillis, suspicious: false)
        case 421: .connectionUnusable  // Misdirected Request (RFC 9110 §15.5.20): another connection may do.
        case 408, 425, 429: status == 429 ? .tokenThrottled : .serverBusy
        case 400...499: .messageRefused
        // A 5xx, or a status that a proxy may have invented. Nothing is wrong with the push.
        default: .serverBusy
        }
    }
}

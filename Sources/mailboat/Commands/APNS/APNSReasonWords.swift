import APNSProtocol

/// Explains Apple's reasons to a person. `ReasonTable` holds what a worker does about them.
enum APNSReasonWords {
    /// What APNs finds wrong with the request, as a clause. For an unknown reason: the meaning of the HTTP status.
    static func meaning(status: UInt16, reason: String) -> String {
        if (200...299).contains(status) { return "APNs took it; what the phone does with it is not reported" }
        return Self.meanings[reason] ?? Self.meaning(ofStatus: status)
    }

    static let meanings: [String: String] = [
        "BadCertificate":
            "the certificate is not good: Mailboat uses provider tokens, so something between here and APNs changes requests",
        "BadCertificateEnvironment": "the certificate is for the other environment",
        "BadChannelId": "this is no channel's id",
        "BadCollapseId": "apns-collapse-id is longer than 64 bytes",
        "BadDeviceToken": "the token is not valid here: cut, made up, or of the other environment",
        "BadEnvironmentKeyIdInToken": "the key is not for this environment: Apple's newer keys are for one of the two",
        "BadEnvironmentKeyInToken": "the key is not for this environment: Apple's newer keys are for one of the two",
        "BadExpirationDate": "apns-expiration is no time, or the channel keeps nothing",
        "BadMessageId": "apns-id is no UUID",
        "BadPath": "the path is not one that APNs knows",
        "BadPriority": "apns-priority is none that APNs knows: 1, 5 or 10",
        "BadRequestParams": "a header about channels is wrong",
        "BadRequestPayload": "the body about channels is wrong",
        "BadTopic": "apns-topic is not valid: expected the bundle id and .push-type.liveactivity",
        "CannotCreateChannelConfig": "the app has as many channels as Apple allows",
        "ChannelNotRegistered": "there is no such channel",
        "DeviceTokenNotForTopic": "the token belongs to another app",
        "DuplicateHeaders": "a header was sent twice",
        "ExpiredProviderToken": "the provider token is older than an hour to APNs: this machine's clock is wrong",
        "ExpiredToken": "the token is dead: the activity has ended or the app was removed",
        "FeatureNotEnabled": "broadcasts are not switched on for the app's id",
        "Forbidden": "APNs does not allow this to the key",
        "IdleTimeout": "the connection was idle for too long",
        "InternalServerError": "APNs failed; a later attempt may succeed",
        "InvalidProviderToken":
            "the provider token is not valid: key id, team id and key file do not belong together, or the key was revoked",
        "InvalidPushType": "apns-push-type does not fit the topic",
        "MethodNotAllowed": "the method is not POST",
        "MissingChannelId": "the channel's id is missing",
        "MissingDeviceToken": "the path names no token",
        "MissingProviderToken": "the request carried no provider token",
        "MissingPushType": "apns-push-type is missing",
        "MissingTopic": "apns-topic is missing",
        "PayloadEmpty": "the payload is empty",
        "PayloadTooLarge": "the payload is larger than 4,096 bytes",
        "Service Unavailable": "APNs cannot serve now; a later attempt may succeed",
        "ServiceUnavailable": "APNs cannot serve now; a later attempt may succeed",
        "Shutdown": "the server is shutting down; another connection may work",
        "TooManyProviderTokenUpdates":
            "the provider token was renewed too often: at least 20 minutes must pass between two. Is the key used elsewhere, too?",
        "TooManyRequests": "too many pushes to this token in a row",
        "TopicDisallowed":
            "the key may not push to this topic: the bundle id is wrong, the key is another team's, or it is for certain apps only",
        "TopicMismatch": "the key does not cover this app",
        "Unregistered": "the token is dead: the app was given another, or was removed",
        "UnrelatedKeyIdInToken": "the key belongs to another team or set of apps than the connection's first",
    ]

    private static func meaning(ofStatus status: UInt16) -> String {
        switch status {
        case 400: "APNs finds the request wrong"
        case 401, 403: "APNs does not accept the credentials"
        case 404: "there is nothing at this path: is this APNs?"
        case 410: "the token is dead"
        case 429: "too many requests"
        case 500...599: "APNs cannot serve now; a later attempt may succeed"
        default: "an answer that Apple does not document: is this APNs?"
        }
    }

    /// What to do about the reason; `nil`: nothing beyond the meaning.
    static func remedy(status: UInt16, reason: String) -> String? {
        switch ReasonTable.verdict(status: status, reason: reason, timestampMillis: nil) {
        case .credentialRefused:
            reason.hasPrefix("BadEnvironment")
                ? "use a key that is for this environment (apns.key-file)"
                : "check apns.key-id, apns.team-id and apns.key-file against Apple's developer portal"
        case .topicRefused: "check the bundle id below apps, and for which apps the key is"
        case .providerTokenExpired: "set this machine's clock, and keep it with NTP"
        case .providerTokenTooManyUpdates: "wait 20 minutes; no two programs may sign with one key"
        case .tokenDead: "use the token that the app has now; check apns.environments and environment in 'register'"
        case .serverBusy, .tokenThrottled, .connectionUnusable: "try again in a few minutes"
        case .accepted, .messageRefused, .expirationRefused: nil
        }
    }
}

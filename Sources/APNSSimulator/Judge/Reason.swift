/// Why APNs refuses a request, with Apple's spelling ("Handling notification responses from APNs", and "Handling error
/// responses from APNs" for broadcasts and channels).
///
/// It deliberately shares nothing with the worker's `ReasonTable`, because tests check that table against this one.
public enum Reason: String, Sendable, CaseIterable, Codable {
    case badCollapseID = "BadCollapseId"
    case badDeviceToken = "BadDeviceToken"
    case badExpirationDate = "BadExpirationDate"
    case badMessageID = "BadMessageId"
    case badPriority = "BadPriority"
    case badTopic = "BadTopic"
    case deviceTokenNotForTopic = "DeviceTokenNotForTopic"
    case duplicateHeaders = "DuplicateHeaders"
    case idleTimeout = "IdleTimeout"
    case invalidPushType = "InvalidPushType"
    case missingDeviceToken = "MissingDeviceToken"
    case missingTopic = "MissingTopic"
    case payloadEmpty = "PayloadEmpty"
    case topicDisallowed = "TopicDisallowed"
    case badCertificate = "BadCertificate"
    case badCertificateEnvironment = "BadCertificateEnvironment"
    case expiredProviderToken = "ExpiredProviderToken"
    case forbidden = "Forbidden"
    case invalidProviderToken = "InvalidProviderToken"
    case missingProviderToken = "MissingProviderToken"
    case unrelatedKeyIDInToken = "UnrelatedKeyIdInToken"
    case badEnvironmentKeyIDInToken = "BadEnvironmentKeyIdInToken"
    case badPath = "BadPath"
    case methodNotAllowed = "MethodNotAllowed"
    case expiredToken = "ExpiredToken"
    case unregistered = "Unregistered"
    case payloadTooLarge = "PayloadTooLarge"
    case tooManyProviderTokenUpdates = "TooManyProviderTokenUpdates"
    case tooManyRequests = "TooManyRequests"
    case internalServerError = "InternalServerError"
    case serviceUnavailable = "ServiceUnavailable"
    case shutdown = "Shutdown"

    // Reasons for channels and broadcasts only.
    case badChannelID = "BadChannelId"
    case badRequestParams = "BadRequestParams"
    case badRequestPayload = "BadRequestPayload"
    case cannotCreateChannelConfig = "CannotCreateChannelConfig"
    case channelNotRegistered = "ChannelNotRegistered"
    case featureNotEnabled = "FeatureNotEnabled"
    case missingChannelID = "MissingChannelId"
    case missingPushType = "MissingPushType"
    case topicMismatch = "TopicMismatch"
    /// The spelling in Apple's table for channels.
    case serviceUnavailableInTwoWords = "Service Unavailable"

    /// The HTTP status of the reason.
    public var status: Int {
        switch self {
        case .badCollapseID, .badDeviceToken, .badExpirationDate, .badMessageID, .badPriority, .badTopic,
            .deviceTokenNotForTopic,
            .duplicateHeaders, .idleTimeout, .invalidPushType, .missingDeviceToken, .missingTopic, .payloadEmpty,
            .topicDisallowed,
            .badChannelID, .badRequestParams, .badRequestPayload, .cannotCreateChannelConfig, .channelNotRegistered,
            .featureNotEnabled, .missingChannelID, .missingPushType:
            return 400
        case .badCertificate, .badCertificateEnvironment, .expiredProviderToken, .forbidden, .invalidProviderToken,
            .missingProviderToken, .unrelatedKeyIDInToken, .badEnvironmentKeyIDInToken, .topicMismatch:
            return 403
        case .badPath: return 404
        case .methodNotAllowed: return 405
        case .expiredToken, .unregistered: return 410
        case .payloadTooLarge: return 413
        case .tooManyProviderTokenUpdates, .tooManyRequests: return 429
        case .internalServerError: return 500
        case .serviceUnavailable, .serviceUnavailableInTwoWords, .shutdown: return 503
        }
    }

    /// Whether the provider built the request wrongly: nothing about the device or the service explains it.
    var isProvidersFault: Bool {
        switch self {
        case .badCollapseID, .badExpirationDate, .badMessageID, .badPriority, .badTopic, .duplicateHeaders,
            .invalidPushType,
            .missingDeviceToken, .missingTopic, .payloadEmpty, .invalidProviderToken, .missingProviderToken, .badPath,
            .methodNotAllowed, .payloadTooLarge, .tooManyProviderTokenUpdates, .expiredProviderToken,
            .unrelatedKeyIDInToken, .badChannelID, .badRequestParams, .badRequestPayload, .missingChannelID,
            .missingPushType:
            return true
        case .badDeviceToken, .deviceTokenNotForTopic, .idleTimeout, .topicDisallowed, .badCertificate,
            .badCertificateEnvironment,
            .forbidden, .badEnvironmentKeyIDInToken, .expiredToken, .unregistered, .tooManyRequests,
            .internalServerError,
            .serviceUnavailable, .serviceUnavailableInTwoWords, .shutdown, .cannotCreateChannelConfig,
            .channelNotRegistered, .featureNotEnabled, .topicMismatch:
            return false
        }
    }
}

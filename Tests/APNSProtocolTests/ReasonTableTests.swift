import APNSProtocol
import Testing

/// Tests of Apple's tables of statuses and reasons, for pushes and for channels, line by line. Answers that are not in
/// the tables are tested, too.
@Suite struct ReasonTableTests {
    static let token = Verdict.tokenDead(invalidSinceMillis: nil, suspicious: true)

    /// Every reason whose verdict depends on status and reason alone.
    private static let rows: [(status: UInt16, reason: String, verdict: Verdict)] = [
        (400, "BadCollapseId", Verdict.messageRefused), (400, "BadDeviceToken", Self.token),
        (400, "BadExpirationDate", .expirationRefused),
        (400, "BadMessageId", .messageRefused), (400, "BadPriority", .messageRefused),
        (400, "BadTopic", .topicRefused(anotherConnectionMayDo: false)),
        (400, "DeviceTokenNotForTopic", Self.token), (400, "DuplicateHeaders", .messageRefused),
        (400, "IdleTimeout", .connectionUnusable),
        (400, "InvalidPushType", .messageRefused), (400, "MissingDeviceToken", .messageRefused),
        (400, "MissingTopic", .messageRefused),
        (400, "PayloadEmpty", .messageRefused),
        (400, "TopicDisallowed", .topicRefused(anotherConnectionMayDo: true)),
        (403, "BadCertificate", .credentialRefused),
        (403, "BadCertificateEnvironment", .credentialRefused),
        (403, "ExpiredProviderToken", .providerTokenExpired),
        (403, "Forbidden", .topicRefused(anotherConnectionMayDo: false)),
        (403, "InvalidProviderToken", .credentialRefused),
        (403, "MissingProviderToken", .credentialRefused), (403, "UnrelatedKeyIdInToken", .connectionUnusable),
        (403, "BadEnvironmentKeyIdInToken", .credentialRefused),
        (403, "BadEnvironmentKeyInToken", .credentialRefused),
        (404, "BadPath", .messageRefused), (405, "MethodNotAllowed", .messageRefused),
        (413, "PayloadTooLarge", .messageRefused),
        (429, "TooManyProviderTokenUpdates", .providerTokenTooManyUpdates),
        (429, "TooManyRequests", .tokenThrottled),
        (500, "InternalServerError", .serverBusy), (503, "ServiceUnavailable", .serverBusy),
        (503, "Service Unavailable", .serverBusy),
        (503, "Shutdown", .connectionUnusable),
        // Reasons of broadcasts and of requests about channels.
        (400, "BadChannelId", Self.token), (400, "BadRequestParams", .messageRefused),
        (400, "BadRequestPayload", .messageRefused), (400, "CannotCreateChannelConfig", .messageRefused),
        (400, "ChannelNotRegistered", Self.token), (400, "MissingChannelId", .messageRefused),
        (400, "MissingPushType", .messageRefused),
        (400, "TopicMismatch", .topicRefused(anotherConnectionMayDo: false)),
        (403, "FeatureNotEnabled", .topicRefused(anotherConnectionMayDo: false)),
    ]
    /// Reasons whose answer has a `timestamp`, which says since when the token has been dead.
    private static let goneReasons = ["ExpiredToken", "Unregistered"]

    @Test(arguments: Self.rows)
    func everyReason(status: UInt16, reason: String, verdict: Verdict) {
        #expect(ReasonTable.verdict(status: status, reason: reason, timestampMillis: nil) == verdict)
    }

    @Test(arguments: Self.goneReasons)
    func goneTokensTellSinceWhen(reason: String) {
        #expect(
            ReasonTable.verdict(status: 410, reason: reason, timestampMillis: 1_700_000_000_000)
                == .tokenDead(invalidSinceMillis: 1_700_000_000_000, suspicious: false))
        #expect(
            ReasonTable.verdict(status: 410, reason: reason, timestampMillis: nil)
                == .tokenDead(invalidSinceMillis: nil, suspicious: false))
    }

    /// Every known reason has a row, and every row has a known reason.
    @Test func everyKnownReasonIsTestedHere() {
        #expect(ReasonTable.knownReasons == Set(Self.rows.map(\.reason) + Self.goneReasons))
    }

    @Test(
        arguments: [
            (200, .accepted), (201, .accepted), (400, .messageRefused), (404, .messageRefused), (405, .messageRefused),
            (413, .messageRefused),
            (418, .messageRefused), (401, .credentialRefused), (403, .credentialRefused), (407, .credentialRefused),
            (410, .tokenDead(invalidSinceMillis: 5, suspicious: false)), (429, .tokenThrottled), (408, .serverBusy),
            (425, .serverBusy),
            (421, .connectionUnusable), (500, .serverBusy), (502, .serverBusy), (503, .serverBusy), (599, .serverBusy),
            (0, .serverBusy),
            (302, .serverBusy), (.max, .serverBusy),
        ] as [(UInt16, Verdict)])
    func unknownReasonsGoByTheirStatus(status: UInt16, verdict: Verdict) {
        for reason in ["", "SomethingNew"] {
            #expect(ReasonTable.verdict(status: status, reason: reason, timestampMillis: 5) == verdict)
            #expect(!ReasonTable.isKnown(reason))
        }
    }
}

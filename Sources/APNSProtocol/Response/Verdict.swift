/// What one answer of APNs means for the push, its token, the provider token and the connection that it arrived on.
/// An answered push is sent again only if its verdict allows that. A push without an answer has no verdict. Only
/// `ReasonTable` makes verdicts.
public enum Verdict: Equatable, Sendable {
    /// APNs accepted the push. This says nothing about the device.
    case accepted
    /// The device token can take no more pushes. `invalidSinceMillis` (since 1970, with 410 only) is when APNs found
    /// the token dead. A token that was registered later is alive. `suspicious`: a wrong environment or topic of ours
    /// would give every token this answer. Such a token may be dropped only while the share of these answers stays
    /// small.
    case tokenDead(invalidSinceMillis: Int64?, suspicious: Bool)
    /// A broadcast had an expiration, on a channel that stores nothing. For a push to a phone the verdict means the
    /// same as `messageRefused`.
    case expirationRefused
    /// This request can never succeed. Other requests can.
    case messageRefused
    /// Our credentials, topic or environment are wrong. Stop this route and alert an operator; the push itself may be
    /// sent again.
    case credentialRefused
    /// The app's topic is refused, not the key. Stop this app on this route and alert an operator; the push itself may
    /// be sent again. `anotherConnectionMayDo`: the first push ties a connection to the topics that its key has then. A
    /// newer connection may therefore accept the topic.
    case topicRefused(anotherConnectionMayDo: Bool)
    /// The provider token is too old: make a new one, close this connection, send again.
    case providerTokenExpired
    /// The provider token was renewed too often: keep the previous token, send again later.
    case providerTokenTooManyUpdates
    /// This device token got too many pushes in a row. Send this push later. Pushes to other tokens are not affected.
    case tokenThrottled
    /// APNs cannot serve now. Send the push later, with back-off for the whole route.
    case serverBusy
    /// This connection can no longer be used. Send the push again on a new one.
    case connectionUnusable
}
